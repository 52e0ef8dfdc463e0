/** Text of a message that is being written, or that is complete and not shown yet. */
export interface Block {
  /** Unlike that of any other block. */
  readonly key: string;
  /** The id of the model's message. */
  readonly message: string;
  /** The index of the block in its message. */
  readonly block: number;
  readonly kind: "text" | "thinking";
  /** The text so far. */
  readonly text: string;
  /** The number of the event that completed the block; missing while it is being written. */
  readonly done?: number;
}

/** What is known of a stream. It is never changed, only replaced. */
export interface State {
  /** The number of the last event: continue after it. */
  readonly last: number;
  /** Whether all stored events have been received. */
  readonly synced: boolean;
  /** Why the stream has to be followed anew; empty: it need not. */
  readonly lost: string;
  /** The text that is not part of a shown message yet, in the order in which it began. */
  readonly blocks: readonly Block[];
  /** The messages that were written last, and how many of their blocks are complete. */
  readonly messages: readonly { readonly id: string; readonly said: number }[];
}

/** An event of a stream. Which members it has depends on its type: see /openapi.json. */
export interface StreamEvent {
  readonly type: string;
  /** The number of the event in its conversation; missing if it is not stored. */
  readonly seq?: number;
  readonly [member: string]: unknown;
}

/** The events of a stream, for addEventListener. */
export const names: readonly string[];

/** The state of a stream that continues after an event; 0 or nothing: from the first. */
export function begin(last?: number): State;

/** What an EventSource has received. */
export function read(received: { readonly type: string; readonly data: string }): StreamEvent;

/** The state after an event: the same object if the event changes nothing. */
export function reduce(state: State, event: StreamEvent): State;

/** The state without blocks that are complete in what is shown: all events up to a number. */
export function shown(state: State, seq: number): State;
