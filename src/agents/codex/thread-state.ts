import { type TurnOutcome, unavailable } from '../provider.ts';
import type { AppServer } from './app-server.ts';
import type { Reader } from './items.ts';
import type { TurnError } from './outcome.ts';
import type { Meter } from './usage.ts';
import type { Params } from './connection.ts';
import type { OutputLine } from '../output-lines.ts';

/** The version of the saved memory. Another version of cadre cannot continue from it. */
const VERSION = 1;

/** The memory of an agent that waits for the end of a turn, as JSON data. */
export interface SavedAgent {
  version: number;
  turn: SavedTurn;
  reader: ReturnType<Reader['save']>;
  meter: ReturnType<Meter['save']>;
  server: ReturnType<AppServer['save']>;
}

export function savedAgent(
  turn: SavedTurn,
  { reader, meter }: { reader: Reader; meter: Meter },
  server: SavedAgent['server'],
): SavedAgent {
  return { version: VERSION, turn, reader: reader.save(), meter: meter.save(), server };
}

/** Throws {@link ProviderError} if another version has saved the state. */
export function readSavedAgent(state: string): SavedAgent {
  const saved = JSON.parse(state) as SavedAgent;
  if (saved.version === VERSION) return saved;
  throw unavailable('codex: another version of cadre has saved the state of the agent');
}

export interface ThreadTurn {
  /** Null until codex has named the turn. */
  id: string | null;
  /** Whether codex has said that the turn began: before that it refuses to interrupt it. */
  hasBegun: boolean;
  /** Null for a turn that the agent did not begin, such as one that a resumed thread is still at. */
  readonly own: OwnTurn | null;
  /** Resolves when the thread has left the turn. */
  readonly over: PromiseWithResolvers<void>;
}

interface OwnTurn {
  readonly outcome: PromiseWithResolvers<TurnOutcome>;
  /** The newest error that codex has reported. */
  error: TurnError | null;
  /** The id of the request that begins the turn, from then on until it is answered. */
  start: number | null;
  /** The `turn/completed` messages that came before the id of the turn. Their lines stay open, so that another server reads them. */
  readonly ends: { params: Params; hold: Disposable }[];
}

export type OwnThreadTurn = ThreadTurn & { readonly own: OwnTurn };

/** The turn of a thread: `starting` lasts until codex has named the turn. */
interface AtTurn {
  is: 'starting' | 'running';
  turn: ThreadTurn;
}

/** `leaving`: the agent has ended, and its thread still runs a turn. `over`: the agent has left the thread. */
type State = { is: 'idle' } | AtTurn | { is: 'leaving'; at: AtTurn } | { is: 'over' };

export function ownTurn(): OwnThreadTurn {
  const own = { outcome: Promise.withResolvers<TurnOutcome>(), error: null, start: null, ends: [] };
  return { ...foreignTurn(), own };
}

/** A turn that another client has started. */
export function foreignTurn(): ThreadTurn {
  return { id: null, hasBegun: false, own: null, over: Promise.withResolvers() };
}

/** The state of the thread of an agent. */
export class ThreadState {
  #state: State = { is: 'idle' };

  /** The turn that the thread is at, also while the agent leaves. */
  get at(): AtTurn | null {
    const state = this.#state;
    if (state.is === 'leaving') return state.at;
    return state.is === 'starting' || state.is === 'running' ? state : null;
  }

  /** The turn of the thread that can be interrupted. */
  get running(): ThreadTurn | null {
    return this.at?.is === 'running' ? this.at.turn : null;
  }

  /** Whether the agent is of no use any more: what codex says for it is dropped. */
  get isOver(): boolean {
    return this.#state.is === 'leaving' || this.#state.is === 'over';
  }

  moveTo(at: AtTurn | null): void {
    if (this.isOver) this.#state = at ? { is: 'leaving', at } : { is: 'over' };
    else this.#state = at ?? { is: 'idle' };
  }

  /**
   * Keeps the end of a turn until codex has named the turn, because it may be the end of an earlier turn. False if codex
   * has named it.
   */
  delaysEnd(params: Params, line: OutputLine): boolean {
    if (this.at?.is !== 'starting') return false;
    this.at.turn.own?.ends.push({ params, hold: line.hold() });
    return true;
  }

  /** Whether a message belongs to an earlier turn than the agent's own turn that the thread is at. */
  isLate({ turnId }: Params): boolean {
    const turn = this.at?.turn;
    return (
      typeof turnId === 'string' && turn?.own != null && turn.id !== null && turnId !== turn.id
    );
  }

  leaveWhenIdle(): void {
    this.#state = this.at ? { is: 'leaving', at: this.at } : { is: 'over' };
  }

  /** Returns the memory for another server. Null unless the agent waits for the end of its own turn, and for nothing else. */
  save() {
    const { at } = this;
    if (!at?.turn.own || this.isOver) return null;
    const { is, turn } = at;
    const { error, start } = at.turn.own;
    if (is === 'starting' && start === null) return null;
    return { is, id: turn.id, hasBegun: turn.hasBegun, error, start };
  }

  restore({ is, id, hasBegun, error, start }: SavedTurn): OwnThreadTurn {
    const turn = ownTurn();
    turn.id = id;
    turn.hasBegun = hasBegun;
    turn.own.error = error;
    turn.own.start = start;
    this.moveTo({ is, turn });
    return turn;
  }
}

type SavedTurn = NonNullable<ReturnType<ThreadState['save']>>;
