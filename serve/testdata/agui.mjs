// Drives a server with the client of AG-UI from npm, unchanged. It prints one
// line of JSON for each scenario; the test in Go looks at them.
import { createRequire } from "node:module";
const [modules, url, token] = process.argv.slice(2);
const { HttpAgent, buildResumeArray } = createRequire(modules + "/node_modules/")("@ag-ui/client");

console.error = () => {}; // the client also prints the errors that it throws

const headers = { Authorization: "Bearer " + token };

// run runs an agent and gathers what its subscribers see.
async function run(agent, parameters) {
  const seen = { types: [], events: [], error: "", pending: [] };
  try {
    const { newMessages } = await agent.runAgent(parameters, {
      onEvent: ({ event }) => { seen.types.push(event.type); seen.events.push(event); },
    });
    seen.newMessages = newMessages;
  } catch (e) {
    seen.error = String(e.message ?? e);
    seen.status = e.status ?? 0;
  }
  seen.messages = agent.messages;
  seen.pending = agent.pendingInterrupts;
  seen.state = agent.state;
  return seen;
}

function agent(threadId, text) {
  const a = new HttpAgent({ url, headers, threadId });
  if (text) a.addMessage({ id: threadId + "-" + a.messages.length, role: "user", content: text });
  return a;
}

function resume(a, decide) {
  const responses = {};
  for (const i of a.pendingInterrupts) responses[i.id] = decide(i);
  return { resume: buildResumeArray(a.pendingInterrupts, responses) };
}

const scenarios = {
  async text() { return [await run(agent("thread-text", "slowly, in several pieces"))]; },
  async thinking() { return [await run(agent("thread-thinking", "think"))]; },
  async approve() {
    const a = agent("thread-approve", "tool 1");
    const first = await run(a);
    const without = await run(a); // the client itself refuses
    const second = await run(a, resume(a, () => ({ status: "resolved", payload: { approved: true } })));
    a.addMessage({ id: "next", role: "user", content: "thank you" });
    return [first, without, second, await run(a)];
  },
  async deny() {
    const a = agent("thread-deny", "tool 2");
    const first = await run(a);
    return [first, await run(a, resume(a, () => ({ status: "resolved", payload: { approved: false, message: "not today" } })))];
  },
  async cancel() {
    const a = agent("thread-cancel", "tool 3");
    const first = await run(a);
    return [first, await run(a, resume(a, () => ({ status: "cancelled" })))];
  },
  async edit() {
    const a = agent("thread-edit", "tool 4");
    const first = await run(a);
    return [first, await run(a, resume(a, () => ({ status: "resolved", payload: { approved: true, input: { command: "make safe" } } })))];
  },
  async parallel() {
    const a = agent("thread-parallel", "both");
    const runs = [await run(a)];
    while (a.pendingInterrupts.length > 0 && runs.length < 5) { // the CLI asks about one call after the other
      runs.push(await run(a, resume(a, (i) => ({ status: "resolved", payload: { approved: !i.message.includes("rm") } }))));
    }
    return runs;
  },
  async question() {
    const a = agent("thread-question", "ask");
    const first = await run(a);
    return [first, await run(a, resume(a, () => ({ status: "resolved", payload: { answers: [{ question: 0, choose: ["Blue"] }] } })))];
  },
  async undecided() {
    const a = agent("thread-undecided", "tool 5");
    const first = await run(a);
    const empty = await run(a, resume(a, () => ({ status: "resolved", payload: {} })));
    return [first, empty, await run(a, resume(a, () => ({ status: "resolved", payload: { approved: true } })))];
  },
  async stale() {
    const a = agent("thread-stale", "tool 6");
    const first = await run(a);
    const no = resume(a, () => ({ status: "resolved", payload: { approved: false } }));
    await run(a, no);
    const b = agent("thread-stale");
    return [first, await run(b, resume({ pendingInterrupts: first.pending }, () => ({ status: "resolved", payload: { approved: true } })))];
  },
  async again() {
    const one = agent("thread-again", "slowly, and once");
    const first = await run(one);
    const two = agent("thread-again", "slowly, and once"); // the same message, as after a lost connection
    two.addMessage({ id: "lost-0", role: "assistant", content: "half of" });
    return [first, await run(two)];
  },
  async subagent() {
    const a = agent("thread-subagent", "delegate");
    const runs = [await run(a)];
    while (a.pendingInterrupts.length > 0 && runs.length < 6) {
      runs.push(await run(a, resume(a, () => ({ status: "resolved", payload: { approved: true } }))));
    }
    a.addMessage({ id: "after", role: "user", content: "thank you" });
    runs.push(await run(a));
    return runs;
  },
  async fails() { return [await run(agent("thread-fails", "fail"))]; },
  async empty() { return [await run(agent("thread-empty"))]; },
  async preset() {
    const a = new HttpAgent({ url: url.replace(/shop$/, "nothing"), headers, threadId: "thread-preset" });
    a.addMessage({ id: "1", role: "user", content: "hi" });
    return [await run(a)];
  },
  async nobody() {
    const a = new HttpAgent({ url, threadId: "thread-nobody" });
    a.addMessage({ id: "1", role: "user", content: "hi" });
    return [await run(a)];
  },
  async image() {
    const a = new HttpAgent({ url, headers, threadId: "thread-image" });
    a.addMessage({ id: "1", role: "user", content: [
      { type: "text", text: "look" }, { type: "image", source: { type: "data", value: "iVBORw0KGgo=", mimeType: "image/png" } },
    ] });
    return [await run(a)];
  },
};

for (const [name, scenario] of Object.entries(scenarios)) {
  console.log(JSON.stringify({ name, runs: await scenario() }));
}
