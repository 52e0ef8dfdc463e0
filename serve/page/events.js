// Follows the stream of events of a conversation, GET /v1/conversations/ID/events: which
// text is being written, what is complete, and from where to continue after a cut. The
// page uses it, and so can yours. It is an ES module without dependencies; its types are
// in events.d.ts. All functions are pure: a state is never changed, only replaced, and an
// event that changes nothing returns the state that it was given.

// names are the events of a stream, for addEventListener.
export const names = ["conversation", "prompt", "turn", "message", "approval", "notice", "partial", "delta", "compaction", "synced", "reset", "ping", "bye", "hint", "pending"];

// remembered is how many finished messages are kept in mind: their lines may come after
// the next message has begun.
const remembered = 8;

// begin returns the state of a stream that continues after an event, 0 for the first.
export function begin(last = 0) {
  return { last, synced: false, lost: "", blocks: [], messages: [] };
}

// read returns what an EventSource, or anything that dispatches its events, has received.
export function read(received) {
  let data = null;
  try { data = JSON.parse(received.data || "{}"); } catch { /* not one of ours */ }
  return { ...data, type: received.type };
}

const finish = (blocks, seq, which) => {
  if (!blocks.some(b => b.done === undefined && which(b))) return blocks;
  return blocks.map(b => b.done === undefined && which(b) ? { ...b, done: seq } : b);
};
const put = (blocks, given, text) => {
  const at = blocks.findIndex(b => b.message === given.message && b.block === given.block);
  if (at < 0) return [...blocks, { key: given.message + " " + given.block, message: given.message, block: given.block, kind: given.kind, text }];
  return blocks[at].text === text ? blocks : blocks.with(at, { ...blocks[at], text });
};
// blockOf finds the block that a part of a message completes: the next that began as the
// part does. A reader that has joined in the middle of a message does not know how many
// blocks came before.
const blockOf = (blocks, message, from, part) => blocks.filter(b => b.message === message && b.block >= from && b.kind === part.type && (part[b.kind] ?? "").startsWith(b.text)).sort((a, b) => a.block - b.block)[0];
// turnTo notes that a message is being written. The newest is the last.
const turnTo = (messages, id) => messages.at(-1)?.id === id ? messages : [...messages.filter(m => m.id !== id).slice(1 - remembered), messages.find(m => m.id === id) ?? { id, said: 0 }];

const steps = {
  // partial has all the text that is being written. What is complete waits for its screen.
  partial(state, event) {
    let blocks = state.blocks.filter(b => b.done !== undefined), messages = state.messages;
    for (const b of event.blocks ?? []) {
      messages = turnTo(messages, b.message);
      blocks = put(blocks, b, b.text);
    }
    return { ...state, blocks, messages };
  },
  // delta has more text of a block. If it does not continue what is there, the stream has
  // to be followed anew.
  delta(state, { delta = {} }) {
    const before = state.blocks.find(b => b.message === delta.message && b.block === delta.block)?.text ?? "";
    if (before.length !== delta.offset) return { ...state, lost: "a part of the text is missing" };
    return { ...state, blocks: put(state.blocks, delta, before + delta.text), messages: turnTo(state.messages, delta.message) };
  },
  // message has a line of the transcript. Each line of the model has the next blocks of
  // its message, whole; other lines complete nothing. A line that comes late, when the
  // next message has begun, completes its own message only.
  message(state, { message: line, seq }) {
    const id = line?.message?.id, content = line?.message?.content;
    if (line?.type !== "assistant" || !id || !Array.isArray(content) || line.parent_tool_use_id || line.isSidechain) return state;
    const late = state.messages.some((m, i) => m.id === id && i < state.messages.length - 1);
    const messages = late ? state.messages : turnTo(state.messages, id), at = messages.findIndex(m => m.id === id);
    let blocks = state.blocks, said = messages[at].said;
    for (const part of content) {
      const have = blockOf(blocks, id, said, part);
      if (have && part.type === "text") blocks = put(blocks, have, part.text);
      said = (have?.block ?? said) + 1;
    }
    blocks = finish(blocks, seq, b => b.message === id ? b.block < said : !late);
    return { ...state, blocks, messages: messages.with(at, { id, said }) };
  },
  turn: (state, { seq }) => ({ ...state, blocks: finish(state.blocks, seq, () => true) }),
  synced: state => state.synced ? state : { ...state, synced: true },
  reset: (state, { reason }) => ({ ...state, lost: reason || "the position is unknown", last: 0 }),
  bye: (state, { reason }) => ({ ...state, lost: reason || "the server stops" }),
};

// reduce returns the state after an event. A numbered event that came before changes
// nothing. If lost is set afterwards, close the stream, load what you show again, and
// follow a new one from there: begin(last).
export function reduce(state, event) {
  const seq = event.seq ?? 0;
  if (seq && seq <= state.last) return state;
  const next = Object.hasOwn(steps, event.type) ? steps[event.type](state, event) : state;
  return seq ? { ...next, last: seq } : next;
}

// shown returns the state without the blocks that are complete in what is shown: all
// events up to a number. Until then they stay, so that no text disappears in between.
export function shown(state, seq) {
  const blocks = state.blocks.filter(b => !(b.done <= seq));
  return blocks.length === state.blocks.length ? state : { ...state, blocks };
}
