/**
 * How far the output of an agent is handled. Another server builds the adapter again from `state`, reads the output from
 * `at` on, and drops the updates that are stored.
 */
export interface ReadPosition {
  /** The offset of the first line that is not handled whole. */
  readonly at: number;
  /** The offset up to which lines have begun. All their updates are stored, unless `open` has the line. */
  readonly end: number;
  /** The begun lines that are not handled whole, by their offsets, each with the number of its stored updates. */
  readonly open: readonly (readonly [begin: number, updates: number])[];
  /** The memory of the adapter before the line at `at`, as JSON. Null if another server cannot continue from it. */
  readonly state: string | null;
  /** The number of the newest message to the agent that was stored. */
  readonly sent: number;
  /** The beginning of the keys of messages. The number of the message follows. */
  readonly keys: string;
}

/** The output of an agent, as far as it is handled. */
export interface HandledOutput {
  readonly position: ReadPosition;
  /** Notes that a position at an offset is on disk. */
  acknowledge(at: number): void;
  /** Notes that the turn is stored, so that no other server needs the output. */
  release(): void;
}

/** Stores what another server needs to continue the running turn of an agent. */
export interface AgentRows {
  /** Stores the read position by itself. */
  savePosition(): void;
  /** Stores a message to the agent, together with the read position. It is sent once that is on disk. */
  queue(message: OutgoingMessage): void;
}

/** A message to an agent, which is sent once it is stored. An agent is given each number once. */
export interface OutgoingMessage {
  readonly n: number;
  readonly line: string;
  /** The agent's own id of the request that the message answers; null: it answers none. */
  readonly answers: string | null;
  /** Lets the line of the request end. It is called in the transaction that stores the message. */
  onStored(): void;
  /** Resolves when the agent's input has taken the message. */
  send(): Promise<void>;
}

/** Where a request of an agent comes from, for a server that takes over the agent. */
export interface RequestOrigin {
  /** The agent's own id of the request. */
  readonly key: string;
  /** Keeps the line of the request open. It is disposed in the transaction that stores the request. */
  readonly hold: Disposable;
}
