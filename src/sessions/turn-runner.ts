import type { Session, Turn } from '../api/sessions.ts';
import type { EventLog } from '../events/log.ts';
import type { Clock } from '../lib/clock.ts';
import type { Failpoint } from '../lib/failpoint.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import {
  type Agent,
  type AgentUpdate,
  type Provider,
  ProviderError,
  type TurnOutcome,
} from '../providers/provider.ts';
import type { Database } from '../store/database.ts';
import { closeStoredItems, TurnOutput } from './output.ts';
import { endTurn, failSession } from './session.ts';
import type { SessionStore } from './store.ts';
import { finishTurn, hasEnded, startTurn } from './turn.ts';

/** How long an agent has to end by itself before it is killed. */
const AGENT_GRACE_MS = 2000;
/** The end of a turn that could not be stored is tried again this often. */
const STORE_AGAIN_MS = 1000;

interface Dependencies {
  db: Database;
  log: EventLog;
  store: SessionStore;
  clock: Clock;
  ids: Ids;
  failpoint: Failpoint;
  logger: Logger;
  /** The provider of a session; throws where it cannot start an agent just now. */
  providerOf: (session: Session) => Provider;
}

/** A turn that runs in this server. */
interface RunningTurn {
  readonly done: Promise<void>;
  /** Ends it with this outcome, whatever the agent does. */
  readonly cutShort: (outcome: TurnOutcome) => void;
}

/** A live agent and where what it says goes just now. */
interface LiveAgent {
  agent: Agent;
  output: TurnOutput | undefined;
  /** What it says outside a turn. */
  aside: TurnOutput | undefined;
}

/** Runs accepted turns on live agents. Decides nothing by what it remembers: the rows are the truth. */
export class TurnRunner {
  readonly #given: Dependencies;
  readonly #agents = new Map<string, LiveAgent>();
  readonly #running = new Map<string, RunningTurn>();
  readonly #stopping = new AbortController();

  constructor(given: Dependencies) {
    this.#given = given;
  }

  /** Agents that live just now, by provider. */
  liveAgents(provider: Session['provider']): number {
    const { store } = this.#given;
    return [...this.#agents.keys()].filter((id) => store.sessions.get(id)?.provider === provider)
      .length;
  }

  /** Runs an accepted turn in the background. It ends stored, however it ends. */
  start(turn: Turn): void {
    if (this.#stopping.signal.aborted) return;
    const cut = Promise.withResolvers<TurnOutcome>();
    const done = this.#run(turn, cut.promise)
      .catch((error: unknown) =>
        this.#given.logger.error({ err: error, turn_id: turn.turn_id }, 'a turn broke'),
      )
      .finally(() => this.#running.delete(turn.turn_id));
    this.#running.set(turn.turn_id, { done, cutShort: cut.resolve });
  }

  /**
   * Lets running turns finish for `drainMs` (or until `hurry` aborts), ends the rest as interrupted, ends the
   * agents. A turn that no agent has seen yet stays accepted, for the next start.
   */
  async stop(drainMs: number, hurry: AbortSignal): Promise<void> {
    const { clock } = this.#given;
    this.#stopping.abort(new Error('the server is stopping'));
    const all = () => Promise.all([...this.#running.values()].map(({ done }) => done));
    const drained = new AbortController();
    const limit = clock
      .sleep(drainMs, AbortSignal.any([hurry, drained.signal]))
      .catch(() => undefined);
    await Promise.race([all(), limit]);
    drained.abort();
    const error = {
      code: 'runtime_stopping',
      message: 'the server was stopped before the turn had ended',
    };
    for (const turn of this.#running.values()) turn.cutShort({ status: 'interrupted', error });
    await all();
    await Promise.all(
      [...this.#agents.values()].map(({ agent }) => agent.end(hurry.aborted ? 0 : AGENT_GRACE_MS)),
    );
  }

  async #run(turn: Turn, cut: Promise<TurnOutcome>): Promise<void> {
    const { store, failpoint } = this.#given;
    failpoint('turn.accepted');
    const session = store.session(turn.session_id);
    let live: LiveAgent;
    try {
      live = await this.#agentFor(session);
    } catch (error) {
      // Nobody has seen the turn: it is kept, and starts with the next server.
      if (this.#stopping.signal.aborted) return;
      await this.#failUnseen(turn, error);
      return;
    }
    await this.#closeAside(live);
    const broken = Promise.withResolvers<TurnOutcome>();
    const output = this.#output(session, turn.turn_id, (error) =>
      broken.resolve(storageFailure(error)),
    );
    // From here on the agent may have seen it: on disk before it does.
    if (!(await this.#begin(turn, live.agent.ref))) return;
    failpoint('turn.started');
    live.output = output;
    const outcome = await Promise.race([live.agent.prompt(turn.input), cut, broken.promise]);
    live.output = undefined;
    failpoint('turn.ending');
    if (output.broken) live.agent.cancel();
    await this.#persist(
      turn,
      () => this.#storeEnd(turn.turn_id, outcome, output),
      () => output.giveUp(),
    );
  }

  async #agentFor(session: Session): Promise<LiveAgent> {
    const known = this.#agents.get(session.id);
    if (known) return known;
    const provider = this.#given.providerOf(session);
    const live = {
      agent: undefined as unknown as Agent,
      output: undefined,
      aside: undefined,
    } as LiveAgent;
    const sink = { update: (update: AgentUpdate) => this.#outputOf(live, session).take(update) };
    live.agent = await provider.open(session, sink, this.#stopping.signal);
    this.#agents.set(session.id, live);
    void live.agent.gone.then(async () => {
      if (this.#agents.get(session.id) === live) this.#agents.delete(session.id);
      await this.#closeAside(live);
    });
    return live;
  }

  #begin(turn: Turn, ref: string): Promise<boolean> {
    const { store, clock } = this.#given;
    return this.#persist(turn, () => {
      const session = { ...store.session(turn.session_id), provider_session_ref: ref };
      store.moveTurn(session, startTurn(turn, clock.now()), 'turn.started');
    });
  }

  /**
   * Stores a turn's move. Where the disk refuses, again and again: it has happened, and nothing can go on
   * without it. False when the server stopped before it was stored; the next start takes it from there.
   */
  async #persist(turn: Turn, move: () => void, onRefused?: () => void): Promise<boolean> {
    const { db, clock, logger } = this.#given;
    for (;;) {
      try {
        await db.transact(move);
        return true;
      } catch (error) {
        logger.error({ err: error, turn_id: turn.turn_id }, "a turn's move could not be stored");
        onRefused?.();
        if (this.#stopping.signal.aborted) return false;
        await clock.sleep(STORE_AGAIN_MS, this.#stopping.signal).catch(() => undefined);
      }
    }
  }

  #storeEnd(turnId: string, outcome: TurnOutcome, output: TurnOutput): void {
    const { log, store, clock, logger } = this.#given;
    const turn = store.turns.get(turnId);
    if (!turn || hasEnded(turn)) {
      logger.warn(
        { turn_id: turnId, status: outcome.status },
        'a second end of a turn was ignored',
      );
      return;
    }
    const left = output.close(outcome.status, outcome.usage);
    if (output.broken)
      closeStoredItems(store.openItems(turnId), outcome.status, { log, store, clock });
    const text = output.broken ? store.lastMessage(turnId) : left.text;
    const ended = finishTurn(turn, outcome, { text, usage: left.usage }, clock.now());
    store.moveTurn(
      endTurn(store.session(turn.session_id), ended, clock.now()),
      ended,
      `turn.${outcome.status}`,
    );
  }

  /** Ends a turn that no agent has seen, and its session too where the provider does not have it any more. */
  async #failUnseen(turn: Turn, error: unknown): Promise<void> {
    const { store, clock, logger } = this.#given;
    const failure = describe(error);
    logger.warn(
      { err: error, turn_id: turn.turn_id, session_id: turn.session_id },
      'a turn could not start',
    );
    await this.#persist(turn, () => {
      const ended = finishTurn(
        turn,
        { status: 'failed', error: failure },
        { text: null, usage: null },
        clock.now(),
      );
      const session = endTurn(store.session(turn.session_id), ended, clock.now());
      store.moveTurn(session, ended, 'turn.failed');
      if (failure.code === 'resume_failed') {
        store.updateSession(failSession(session, failure, clock.now()), 'session.failed');
      }
    });
  }

  #outputOf(live: LiveAgent, session: Session): TurnOutput {
    live.aside ??= live.output ? undefined : this.#output(session, null, () => undefined);
    return (live.output ?? live.aside) as TurnOutput;
  }

  async #closeAside(live: LiveAgent): Promise<void> {
    const { aside } = live;
    live.aside = undefined;
    if (aside && !aside.broken)
      await this.#given.db.transact(() => aside.close('completed')).catch(() => undefined);
  }

  #output(session: Session, turnId: string | null, onError: (error: unknown) => void): TurnOutput {
    const place = { session_id: session.id, turn_id: turnId };
    const costBefore = this.#given.store.sessions.get(session.id)?.usage?.cost_usd ?? null;
    return new TurnOutput({ ...this.#given, place, costBefore, onError });
  }
}

function describe(error: unknown): { code: string; message: string } {
  if (error instanceof ProviderError) return { code: error.code, message: error.message };
  return {
    code: 'provider_unavailable',
    message: error instanceof Error ? error.message : String(error),
  };
}

function storageFailure(error: unknown): TurnOutcome {
  const message = `what the agent said could not be stored: ${error instanceof Error ? error.message : String(error)}`;
  return { status: 'failed', error: { code: 'storage_full', message } };
}
