import { begin, names, read, reduce, shown, type Block, type State } from "./events.mjs";

// As a page of your own does it.
let state: State = begin(3);
const source = new EventSource("/v1/conversations/x/events?after=" + state.last);
for (const name of names) source.addEventListener(name, e => {
  state = shown(reduce(state, read(e as MessageEvent<string>)), 7);
  const texts: string[] = state.blocks.map((b: Block) => b.kind + b.text + (b.done ?? "open"));
  document.title = texts.join() + state.lost + state.synced;
  // @ts-expect-error: a state is never changed
  state.last = 4;
});
