import { once } from 'node:events';
import type { Approval } from '../../../api/approvals.ts';
import type { StoredInputItem } from '../../../api/input.ts';
import type { Session, Turn } from '../../../api/sessions.ts';
import type { Agent, AgentAnswer, TurnOutcome } from '../../../agents/provider.ts';
import { continuationPrompt } from '../approvals/approval.ts';
import { settingsOf } from './settings.ts';
import { hasEnded } from './turn.ts';
import type { TurnOutput } from './output.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import { errorMessage } from '../../../core/lib/error-message.ts';
import { persist } from '../../../core/store/persist.ts';
import type { Writer } from '../../../core/store/transaction.ts';
import type { SessionStore } from './store.ts';

/** An agent of this server, and where its updates go. */
export interface LiveAgent {
  readonly session: Session;
  /** Whether an earlier server has started it. */
  readonly isAttached: boolean;
  /** Set once `Provider.open` has resolved, which may be after the first updates. */
  agent: Agent;
  output: TurnOutput | undefined;
  /** Stores the updates that the agent sends outside any turn. */
  aside: TurnOutput | undefined;
  /** The turn that ran last, which may get its usage late. */
  last: { turn_id: string; output: TurnOutput } | undefined;
  /** Resolves when the agent may get another prompt, or was killed; set after a turn whose output could not be stored. */
  silence: Promise<void> | undefined;
}

/** Returns the record of an agent that is about to be there. */
export function newLive(session: Session, isAttached = false): LiveAgent {
  const none = { output: undefined, aside: undefined, last: undefined, silence: undefined };
  const live = { session, isAttached, ...none };
  return live as unknown as LiveAgent;
}

/** A turn of this server that waits for an agent or runs on one. */
export interface RunningTurn {
  readonly done: Promise<void>;
  /** Aborts all work on the turn, when the turn has ended or the server stops. */
  readonly over: AbortController;
  /** Ends the wait for the agent with an outcome. */
  readonly cutShort: (outcome: TurnOutcome) => void;
  output: TurnOutput | undefined;
  live: LiveAgent | undefined;
  /** Whether the turn is left for the next start of the server, because it waits for an agent or for an approval. */
  left: boolean;
  /** Whether the turn was interrupted. It is then not sent to an agent that has not seen it yet. */
  interrupting: boolean;
  /** The agent of which it is stored that it is about to see the turn. */
  begunFor: Agent | undefined;
  /** Whether an agent had seen the turn before, which then waited for approvals without one. */
  readonly wasSeen: boolean;
  isPrompted: boolean;
  /** Resolves when the agent has answered the prompt of the turn; undefined before the prompt. Never rejects. */
  answered: Promise<TurnOutcome> | undefined;
  /** Approvals that were accepted while the turn had no agent. Each answers one equal request of its next agent. */
  grants: Approval[];
}

/** Makes the record of a running turn. `finish` must be called when nothing of the turn runs any more. */
function runTurn(
  { started_at }: Turn,
  begunFor: Agent | undefined,
): { running: RunningTurn; cut: Promise<TurnOutcome>; finish: () => void } {
  const cut = Promise.withResolvers<TurnOutcome>();
  const done = Promise.withResolvers<void>();
  const running: RunningTurn = {
    done: done.promise,
    over: new AbortController(),
    cutShort: cut.resolve,
    output: undefined,
    live: undefined,
    left: false,
    interrupting: false,
    begunFor,
    wasSeen: started_at !== null,
    isPrompted: false,
    answered: undefined,
    grants: [],
  };
  return { running, cut: cut.promise, finish: done.resolve };
}

/** A turn that an agent works on. */
export interface AtTurn {
  running: RunningTurn;
  live: LiveAgent;
  output: TurnOutput;
}

/** A reason of its own, because an AbortController without a reason creates an error with a stack for each turn. */
export const OVER = new Error('the turn has ended');

/** The time that an agent has to end an interrupted turn before it is killed, in ms. */
export const INTERRUPT_MS = 10_000;

interface RunningTurnsDeps extends Pick<ServerParts, 'db' | 'clock' | 'logger'> {
  store: SessionStore;
  pool: {
    release: (live: LiveAgent) => void;
    end: (sessionId: string, graceMs: number) => Promise<unknown>;
  };
  /** Aborts when the server stops, which ends all agents. */
  stopping: AbortSignal;
}

/** The running turns of this server. */
export class RunningTurns {
  readonly #deps: RunningTurnsDeps;
  readonly #turns = new Map<string, RunningTurn>();

  constructor(deps: RunningTurnsDeps) {
    this.#deps = deps;
  }

  find(turnId: string): RunningTurn | undefined {
    return this.#turns.get(turnId);
  }

  /** Runs a turn in the background, and releases its agent at the end. */
  run(
    turn: Turn,
    begunFor: Agent | undefined,
    work: (running: RunningTurn, cut: Promise<TurnOutcome>) => Promise<void>,
  ): void {
    const { logger, pool } = this.#deps;
    const { turn_id } = turn;
    const { running, cut, finish } = runTurn(turn, begunFor);
    this.#turns.set(turn_id, running);
    void work(running, cut)
      .catch((error: unknown) =>
        logger.error({ err: error, turn_id }, 'a turn failed unexpectedly'),
      )
      .finally(() => {
        this.#turns.delete(turn_id);
        running.over.abort(OVER);
        if (running.live) pool.release(running.live);
        finish();
      });
  }

  /**
   * Keeps the agent of a turn from getting another prompt until it has answered the one of the turn, which has failed because
   * its output could not be stored: what the agent still says must not become output of the next turn. An agent that takes
   * too long is killed.
   */
  silence({ session_id }: Turn, { answered }: RunningTurn, live: LiveAgent): void {
    const { clock, pool, stopping } = this.#deps;
    live.agent.cancel();
    // The promise of an agent that was killed may never resolve.
    const killed = Promise.withResolvers<void>();
    const kill = () => void pool.end(session_id, 0).finally(killed.resolve);
    const limit = clock.after(INTERRUPT_MS, kill);
    const ends = [Promise.resolve(answered), killed.promise, once(stopping, 'abort')];
    live.silence = Promise.race(ends).then(() => {
      limit[Symbol.dispose]();
      live.silence = undefined;
    });
  }

  /** The turns on which an agent works, so without those that wait for an approval. */
  get active(): RunningTurn[] {
    const { db, store } = this.#deps;
    const statusOf = (id: string) => db.peek((rx) => store.turns.get(rx, id)?.status);
    return [...this.#turns]
      .filter(([id, { left }]) => !left && statusOf(id) !== 'waiting_for_approval')
      .map(([, turn]) => turn);
  }

  /** Waits for the end of the active turns, for at most `ms`, or until `hurry` aborts. */
  async drain(ms: number, hurry: AbortSignal): Promise<void> {
    const drained = new AbortController();
    const limit = this.#deps.clock
      .sleep(ms, AbortSignal.any([hurry, drained.signal]))
      .catch(() => undefined);
    await Promise.race([Promise.all(this.active.map(({ done }) => done)), limit]);
    drained.abort();
  }

  /** Leaves the turns that another server can continue or begin again. Returns their agents. */
  leaveContinuable(unprompted: ReadonlySet<string>): LiveAgent[] {
    return [...this.#turns].flatMap(([id, turn]) => {
      const { live, output } = turn;
      const read = live?.agent.output;
      if (!read || (read.position.state === null && !unprompted.has(id))) return [];
      turn.left = true;
      // A server that ends in order has not died of the output of an agent.
      output?.store();
      return [live];
    });
  }

  /** Leaves all turns for the next start of the server. */
  leaveAll(): void {
    for (const turn of this.#turns.values()) {
      turn.left = true;
      turn.over.abort(OVER);
    }
  }
}

/** Whether a turn can begin on an idle agent at once, because there is nothing to wait for. */
export function canBegin(
  live: LiveAgent | undefined,
  session: Session,
  turn: Turn,
): live is LiveAgent {
  if (!live || live.aside || live.silence || session.imported) return false;
  const settings = settingsOf(session, turn);
  return live.agent.objection(settings) === null && live.agent.awaits?.(settings) !== true;
}

/** Notes that an agent works on a turn: its updates go to the output. */
export function atTurn({ turn_id }: Turn, { running, live, output }: AtTurn): void {
  running.live = live;
  running.output = output;
  live.output = output;
  live.last = { turn_id, output };
}

/** Returns what the output of a turn needs of it. */
export function optionsOf(running: RunningTurn) {
  return {
    onError: (error: unknown) => running.cutShort(storageFailure(error)),
    agentOf: () => running.live?.agent,
  };
}

/** Returns the prompt of a turn: its input, or the requests that were approved while it had no agent. */
export function promptOf(
  turn: Turn,
  running: RunningTurn,
  { db, store }: Pick<RunningTurnsDeps, 'db' | 'store'>,
): readonly StoredInputItem[] {
  if (turn.status !== 'waiting_for_approval') return turn.input;
  const approvals = db.peek((rx) => store.approvalsOf(rx, turn.turn_id));
  running.grants = approvals.filter(({ held }) => held);
  return [{ type: 'text', text: continuationPrompt(running.grants) }];
}

/** Returns the answer to a request that was accepted while the turn had no agent. Each acceptance is used once. */
export function useGrant(
  { grants }: RunningTurn,
  isFor: (approval: Approval) => boolean,
): AgentAnswer | null {
  const at = grants.findIndex(isFor);
  const [used] = at < 0 ? [] : grants.splice(at, 1);
  return used ? { decision: 'accept', scope: 'once', answers: used.answers } : null;
}

/** How a turn ends that the server cannot wait for. */
export const stopped: TurnOutcome = {
  status: 'interrupted',
  error: { code: 'runtime_stopping', message: 'the server was stopped before the turn ended' },
};

export function storageFailure(error: unknown): TurnOutcome {
  const message = `cannot store the output of the agent: ${errorMessage(error)}`;
  return { status: 'failed', error: { code: 'storage_full', message } };
}

/** Whether no agent has received a turn. The rows may already say that an agent is about to receive it. */
export function isUnseen({ started_at }: Turn, running: RunningTurn | undefined): boolean {
  if (started_at === null) return true;
  return running?.begunFor !== undefined && !running.wasSeen && !running.isPrompted;
}

export interface TimeLimitDeps extends Pick<ServerParts, 'db' | 'clock' | 'logger'> {
  store: SessionStore;
  /** The time limit of a turn, in ms, after which it is interrupted; null: there is no limit. */
  turnTimeoutMs: () => number | null;
}

/**
 * Starts the time limit of a turn, if there is one. At its end `interrupt` is called; the session stays open. A turn that has
 * ended may still have its limit, because the promise of an agent that was given up may never resolve. `since`: when the
 * time began, in Unix ms; null: now.
 */
export function turnTimeLimit(
  { db, store, clock, logger, turnTimeoutMs }: TimeLimitDeps,
  { session_id, turn_id, since }: Pick<Turn, 'session_id' | 'turn_id'> & { since: number | null },
  interrupt: (tx: Writer, turn: Turn, error: NonNullable<Turn['error']>) => void,
): Disposable {
  const limitMs = turnTimeoutMs();
  if (limitMs === null) return { [Symbol.dispose]: () => undefined };
  const error = {
    code: 'turn_timeout',
    message: `the turn exceeded sessions.turn_timeout_ms (${limitMs} ms) and was interrupted`,
  };
  const spentMs = since === null ? 0 : clock.now() - since;
  const ended = new AbortController();
  const timer = clock.after(Math.max(0, limitMs - spentMs), () => {
    void persist({ db, clock, logger }, ended.signal, { turn_id }, (tx) => {
      const turn = store.turn(tx, session_id, turn_id);
      if (!hasEnded(turn) && turn.interrupt_requested_at === null) interrupt(tx, turn, error);
    });
  });
  return {
    [Symbol.dispose]: () => {
      timer[Symbol.dispose]();
      ended.abort(OVER);
    },
  };
}
