// Checks events.js with recorded streams: node events.mjs FOLDER, which holds events.mjs
// and streams.json.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const dir = process.argv[2];
const { names, begin, read, reduce, shown } = await import(pathToFileURL(dir + "/events.mjs"));
const streams = JSON.parse(readFileSync(dir + "/streams.json", "utf8"));

const frozen = value => { if (value && typeof value === "object" && !Object.isFrozen(value)) { Object.freeze(value); Object.values(value).forEach(frozen); } return value; };
const step = (state, event) => frozen(reduce(frozen(state), frozen(event)));
const open = state => state.blocks.filter(b => b.done === undefined).map(b => [b.key, b.kind, b.text]);

let cuts = 0;
for (const [name, received] of Object.entries(streams)) {
  const events = received.map(read);
  assert.deepEqual(events.filter(e => !names.includes(e.type)), [], `${name}: every event has a listener`);
  const states = [begin()];
  for (const e of events) states.push(step(states.at(-1), e));
  const end = states.at(-1);
  assert.equal(end.lost, "", name);
  assert.deepEqual(open(end), [], `${name}: nothing is open at the end`);
  assert.equal(end.last, Math.max(...events.map(e => e.seq ?? 0)), name);
  assert.ok(states.some(s => open(s).length > 0), `${name}: something was written`);
  assert.deepEqual(shown(end, end.last).blocks, [], name);

  // What was written is what the transcript has, whole, before the screen shows it.
  const said = new Map();
  for (const e of events) if (e.type === "message" && e.message.type === "assistant") for (const part of e.message.message.content) {
    const id = e.message.message.id, n = said.get(id) ?? 0;
    said.set(id, n + 1);
    const block = end.blocks.find(b => b.key === id + " " + n);
    if (block && part.type === "text") assert.equal(block.text, part.text, name);
    if (block) assert.equal(block.done, e.seq, `${name}: a block is complete with its line`);
  }
  assert.ok(end.blocks.some(b => b.text.length > 10), name);

  // Cut after each event. The server then sends the open blocks as a whole, and what
  // comes after. A new reader and one that kept its state see the same text.
  for (let i = 0; i <= events.length; i++) {
    const partial = { type: "partial", blocks: states[i].blocks.filter(b => b.done === undefined).map(({ message, block, kind, text }) => ({ message, block, kind, text })) };
    for (let state of [begin(states[i].last), states[i]]) {
      if (partial.blocks.length) state = step(state, partial);
      assert.deepEqual(open(state), open(states[i]), `${name}: cut after ${i}`);
      for (let j = i; j < events.length; j++) {
        state = step(state, events[j]);
        if (events[j].type === "partial" || partial.blocks.length || !open(states[j + 1]).length) assert.deepEqual(open(state), open(states[j + 1]), `${name}: cut after ${i}, at ${j}`);
      }
      assert.equal(state.last, end.last);
      assert.equal(state.lost, "", `${name}: cut after ${i}`);
      cuts++;
    }
    if (i > 0 && events[i - 1].seq) assert.equal(reduce(states[i], events[i - 1]), states[i], `${name}: an event that came before changes nothing`);
    // A piece that is missing does not go unnoticed.
    if (i > 0 && events[i - 1].type === "delta" && events[i]?.type === "delta" && events[i].delta.message === events[i - 1].delta.message && events[i].delta.block === events[i - 1].delta.block) {
      assert.notEqual(reduce(states[i - 1], events[i]).lost, "", `${name}: ${i} without the piece before it`);
    }
  }
}

// What recordings seldom have.
const delta = (message, block, offset, text) => ({ type: "delta", delta: { message, block, kind: "text", offset, text } });
const line = (seq, id, texts, more) => ({ type: "message", seq, message: { type: "assistant", message: { id, content: texts.map(text => ({ type: "text", text })) }, ...more } });
const run = (...events) => events.reduce(step, begin());
const texts = state => state.blocks.map(b => b.text + (b.done === undefined ? "…" : "@" + b.done));

assert.deepEqual(texts(run(delta("a", 0, 0, "😀"), delta("a", 0, 2, "b"))), ["😀b…"], "offsets count as JavaScript does");
assert.deepEqual(texts(run(delta("a", 0, 0, "one"), delta("a", 1, 0, "two"), line(1, "a", ["one!"]))), ["one!@1", "two…"], "a line completes its own blocks");
assert.deepEqual(texts(run(delta("a", 0, 0, "one"), line(1, "a", ["one"]), delta("a", 1, 0, "two"), line(2, "a", ["two"]))), ["one@1", "two@2"], "lines count on");
assert.deepEqual(texts(run(delta("a", 0, 0, "one"), delta("b", 0, 0, "two"), line(1, "a", ["one"]))), ["one@1", "two…"], "a late line leaves the next message alone");
assert.deepEqual(texts(run({ type: "partial", blocks: [{ message: "a", block: 2, kind: "text", text: "on" }] }, line(4, "a", ["one"]))), ["one@4"], "a reader that joins in the middle of a message");
assert.deepEqual(texts(run({ type: "partial", blocks: [{ message: "a", block: 2, kind: "text", text: "on" }] }, { ...line(4, "a", []), message: { type: "assistant", message: { id: "a", content: [{ type: "tool_use", id: "t", name: "Bash", input: {} }] } } })), ["on…"], "a call completes no text");
assert.deepEqual(texts(run(delta("a", 0, 0, "one"), line(1, "b", ["two"]))), ["one@1"], "the next message completes the one before");
assert.deepEqual(texts(run(delta("a", 0, 0, "one"), line(1, "s", ["sub"], { parent_tool_use_id: "t" }))), ["one…"], "a subagent completes nothing");
assert.deepEqual(texts(run(delta("a", 0, 0, "one"), { type: "message", seq: 1, message: { type: "user", message: { content: "late prompt" } } })), ["one…"], "a prompt completes nothing");
assert.deepEqual(texts(run(delta("a", 0, 0, "one"), { type: "turn", seq: 4, turn: {} })), ["one@4"], "a turn completes everything");
assert.deepEqual(texts(shown(run(delta("a", 0, 0, "one"), line(3, "a", ["one"]), delta("b", 0, 0, "two")), 2)), ["one@3", "two…"], "an older screen takes nothing away");
assert.deepEqual(texts(shown(run(delta("a", 0, 0, "one"), line(3, "a", ["one"]), delta("b", 0, 0, "two")), 3)), ["two…"]);
assert.deepEqual(texts(run(delta("a", 0, 0, "one"), line(1, "a", ["one"]), delta("b", 0, 0, "x"), { type: "partial", blocks: [{ message: "b", block: 0, kind: "text", text: "xy" }] })), ["one@1", "xy…"], "partial replaces what is open");
assert.match(run({ type: "reset", reason: "gone" }).lost, /gone/);
assert.equal(step(begin(7), { type: "reset" }).last, 0);
assert.match(run({ type: "bye" }).lost, /stops/);
assert.equal(run({ type: "synced" }).synced, true);
const still = begin(3);
for (const event of [{ type: "ping" }, { type: "hint", hint: {} }, { type: "constructor" }, { type: "toString" }, { type: "newer" }]) assert.equal(reduce(still, event), still, event.type);
assert.notEqual(reduce(still, read({ type: "delta", data: "{" })).lost, "");
assert.equal(reduce(still, read({ type: "message", data: "" })), still);
let many = begin();
for (let i = 0; i < 1000; i++) many = shown(step(step(many, delta("m" + i, 0, 0, "x")), line(i + 1, "m" + i, ["x"])), i + 1);
assert.ok(many.messages.length <= 8 && many.blocks.length === 0, "nothing grows with the conversation");

console.log(`${cuts > 30 ? "many" : cuts} cuts, exports ${Object.keys(await import(pathToFileURL(dir + "/events.mjs"))).sort().join()}`);
