import type { Approval } from '../api/approvals.ts';
import type { RuntimeEventRecord } from '../api/events.ts';
import type { Process } from '../api/processes.ts';
import type { Session } from '../api/sessions.ts';
import type { Client } from './client.ts';

export interface ServerEntry {
  /** The name of the server, as in `--on` and the column NODE. */
  name: string;
  /** Where it is reached, for people. */
  url: string;
  state: 'reachable' | 'unreachable';
  /** Why it is unreachable; null where it answers. */
  detail: string | null;
  /** Null where nothing can be asked of it. */
  client: Client | null;
}

/** The last known state of a server that does not answer. `at` is in Unix milliseconds. */
export interface ServerSnapshot {
  at: number;
  sessions: readonly Session[];
  /** The pending ones. */
  approvals: readonly Approval[];
  processes: readonly Process[];
}

/** Where a reader of all events begins. `since`: Unix milliseconds; `cursor`: what `Following.cursor` said. */
export type Beginning = 'start' | 'latest' | { since: number } | { cursor: string };

export interface FollowAll {
  from: Beginning;
  /** Only events of these kinds, or groups of kinds. */
  kinds?: readonly string[] | undefined;
  /** Only events of this server. */
  node?: string | undefined;
  /** Ends with the newest event that is stored, instead of waiting for more. */
  isStoredOnly?: boolean;
  /** For how long a server that is gone is looked for, in ms; then the reader throws `unreachable`. Absent: for ever. */
  reconnectMs?: number | undefined;
}

/** An event of a server, or a change of the connection to it. */
export type FromServer =
  | { node: string; epoch?: string; event: RuntimeEventRecord }
  | { node: string; notice: Notice };

/**
 * `reachable` comes each time that a server begins to be followed, the first time as well; `unreachable` once for each
 * time that it is gone, also where it was so from the start. `gap`: events are missing, in a sentence.
 */
export type Notice =
  | { state: 'reachable' }
  | { state: 'unreachable'; detail: string }
  | { state: 'gap'; text: string };

/** The events of all servers, each once, and the events of one server in its order. Ends when its signal aborts. */
export interface ServersEventStream extends AsyncIterable<FromServer> {
  /** The position after the last event that was yielded: one line of opaque text for a later reader. */
  cursor(): string;
}

/** Several servers that a command asks as if they were one. Its makers: addresses (client/addresses.ts), and a fleet. */
export interface Servers {
  /** All of them, in the order in which people named them. A server that does not answer in time is unreachable. */
  list(): Promise<ServerEntry[]>;
  /** Throws `usage` for a name that none has, and `unreachable` where that may be a server that is gone. */
  named(name: string): Promise<ServerEntry>;
  /**
   * The server that has the record with this id. Throws `not_found`; where servers cannot be asked that might have it,
   * `unreachable` with their names.
   */
  serverOf(id: string): Promise<ServerEntry>;
  /** Where new work goes if nobody says where. Throws `unreachable` where it cannot go there. */
  first(): Promise<ServerEntry>;
  /** The last known state of a server. Null if there is none. */
  known(name: string): Promise<ServerSnapshot | null>;
  /** Keeps what a server has listed, for `known`. Absent where that is kept without it. */
  remember?(name: string, listed: Partial<Omit<ServerSnapshot, 'at'>>): Promise<void>;
  /** Throws `conflict` from its iteration for the cursor of another log. */
  streamEvents(options: FollowAll, signal: AbortSignal): ServersEventStream;
  close(): void;
}
