import { setImmediate as nextLoop } from 'node:timers/promises';
import pino from 'pino';
import type { AttachedTurn } from '../../src/agents/attached-turn.ts';
import { type Agent, type AgentSink, failed, type TurnOutcome } from '../../src/agents/provider.ts';
import type { ReadPosition } from '../../src/agents/read-position.ts';
import type { Approval, ApprovalScope } from '../../src/api/approvals.ts';
import type { Session, Turn } from '../../src/api/sessions.ts';
import type { Child } from '../../src/core/children/supervisor.ts';
import { systemIds } from '../../src/core/lib/ids.ts';
import type { Database } from '../../src/core/store/database.ts';
import { ApprovalBroker } from '../../src/server/conversations/approvals/approval-broker.ts';
import type { Inbox } from '../../src/server/conversations/inbox/inbox.ts';
import {
  AgentReadPositions,
  type StoredReadPosition,
} from '../../src/server/conversations/sessions/agent-read-positions.ts';
import type { Blobs } from '../../src/server/conversations/sessions/blobs.ts';
import type { TurnOutput } from '../../src/server/conversations/sessions/output.ts';
import {
  AgentOutputs,
  type OutputOptions,
} from '../../src/server/conversations/sessions/outputs.ts';
import { type LiveAgent, newLive } from '../../src/server/conversations/sessions/running-turn.ts';
import { settingsOf } from '../../src/server/conversations/sessions/settings.ts';
import { failureOf } from '../../src/server/conversations/sessions/try-agent.ts';
import {
  cancelApprovals,
  endTurnInRows,
  outcomeOf,
} from '../../src/server/conversations/sessions/turn-rows.ts';
import type { ManualClock } from '../support/manual-clock.ts';
import type { TestStore } from '../support/memory-store.ts';
import { childWith, type HeldPipes, never, ReadOutput } from './cut-child.ts';

/** An agent whose turn another server can continue. */
export type CutAgent = Agent & {
  attach(ref: string, state: string, turn: AttachedTurn): Promise<TurnOutcome>;
};

/** The content of a line of the server, as the agent understands it. */
interface Heard {
  /** The answers that it writes at once, before the wire begins and after the turn. */
  replies?: readonly object[];
  /** Values that messages of the wire use by these names, such as the id of a request. */
  names?: Readonly<Record<string, unknown>>;
  /** Whether the line has the prompt of the turn. */
  isPrompt?: boolean;
  /** Whether the line answers a request of the agent. */
  isAnswer?: boolean;
}

/** How the servers of a test use the adapter of a provider, and how its agent understands them. */
export interface Protocol {
  /** The provider's own names for the sessions that one agent serves. */
  readonly refs: readonly string[];
  /**
   * Builds the adapter of a session on a child that runs. `from`: how far an earlier server has handled the output of the
   * child. The session with the lowest position is the first one.
   */
  newAgent(
    child: Child,
    deps: { clock: ManualClock; sink: AgentSink; session: Session },
    from: ReadPosition | null,
  ): {
    agent: CutAgent;
    /** Opens the session. It is not called for an agent that takes over a turn. */
    open: () => Promise<void>;
  };
  /** Returns a message of the wire as the agent writes it. */
  framed(message: object): object;
  /** Returns how the agent understands a line of the server. */
  hear(line: string): Heard;
}

/** A session at a turn. */
export interface CutSession {
  session: Session;
  turn: Turn;
  outcome: TurnOutcome | null;
}

interface CutServerDeps {
  protocol: Protocol;
  sessions: readonly CutSession[];
  /** The pipes of the agent, which outlive the server. */
  held: HeldPipes;
  onUpdate: () => void;
  onWrite: () => void;
  onAnswer: (line: string) => void;
  onNamed: (name: string, value: unknown) => void;
}

export interface PersonDecision {
  decide: 'accept' | 'decline';
  scope?: ApprovalScope;
  /** Which session asks (default: the first one). */
  of?: number;
}

/** The rules take this time to decide on a request with the word "slow" in its title. */
export const SLOW_MS = 100;

/** A server that runs the turns of an agent. After its death it writes nothing. */
export class CutServer {
  readonly stdout = new ReadOutput();
  isDead = false;
  readonly diesAfter = { updates: Infinity, writes: Infinity };
  readonly #deps: CutServerDeps;
  readonly #sessions: ServedSession[];
  /** The offset from which the output is read. */
  #from = 0;
  #prompts = 0;

  constructor(base: TestStore, clock: ManualClock, deps: CutServerDeps) {
    this.#deps = deps;
    const child = this.#child();
    this.#sessions = deps.sessions.map(
      (one) => new ServedSession(base, clock, { ...deps, of: one, server: this, child }),
    );
  }

  /** Whether all that the agent has written was handled. */
  get hasRead(): boolean {
    return this.#from + this.stdout.handled >= this.#deps.held.written.length;
  }

  /** Starts an agent and sends it the prompts of the turns. */
  async prompt(): Promise<void> {
    for (const [at, one] of this.#sessions.entries()) {
      await one.prompt();
      while (this.#prompts <= at) await nextLoop();
    }
  }

  /** Takes over the turns. Returns the size of the largest saved state; null if all turns have ended. */
  attach(change: (saved: object) => unknown): number | null {
    this.#prompts = this.#sessions.length;
    const stored = this.#sessions
      .flatMap((one) => one.stored ?? [])
      .toSorted((one, other) => one.at - other.at);
    const [first] = stored;
    if (!first) return null;
    for (const { attach } of stored) attach(change);
    this.#from = first.at;
    this.stdout.write(this.#deps.held.outputFrom(first.at));
    return Math.max(...stored.map(({ size }) => size));
  }

  /** Decides the oldest pending approval of a session. */
  decide({ of = 0, ...decision }: PersonDecision): Promise<void> | undefined {
    return this.#sessions[of]?.decide(decision);
  }

  /** Interrupts the turn of a session. */
  interrupt(of = 0): Promise<void> | undefined {
    return this.#sessions[of]?.interrupt();
  }

  /** Asks the adapter of the first session something. */
  async ask(ask: (agent: CutAgent) => Promise<unknown>): Promise<unknown> {
    const agent = this.#sessions[0]?.agent;
    return agent && ask(agent);
  }

  noteUpdate(): void {
    this.#deps.onUpdate();
    if (--this.diesAfter.updates <= 0) this.isDead = true;
  }

  noteWrite(): void {
    this.#deps.onWrite();
    if (--this.diesAfter.writes <= 0) this.isDead = true;
  }

  #child(): Child {
    const { held } = this.#deps;
    const child = childWith(this.stdout, (line) => !this.isDead && this.#hear(line));
    return {
      ...child,
      writeInput: async (message, key) => {
        if (this.isDead) return never;
        return held.takes(key) ? child.writeInput(message, key) : undefined;
      },
      acknowledge: (upTo) => !this.isDead && held.acknowledge(upTo),
    };
  }

  /** Has the agent understand a line. Requests outside the turns are answered at once, and are not part of the wire. */
  #hear(line: string): void {
    const { held, protocol, onNamed, onAnswer } = this.#deps;
    const { replies = [], names = {}, isPrompt, isAnswer } = protocol.hear(line);
    for (const [name, value] of Object.entries(names)) onNamed(name, value);
    if (isAnswer) onAnswer(line);
    if (isPrompt) this.#prompts++;
    const arePrompted = this.#prompts >= this.#sessions.length;
    if (arePrompted && this.#sessions.some(({ isAtTurn }) => isAtTurn)) return;
    for (const reply of replies) {
      const answer = Buffer.from(`${JSON.stringify(reply)}\n`);
      held.write(answer);
      this.stdout.write(answer);
    }
  }
}

interface ServedSessionDeps extends Pick<CutServerDeps, 'protocol'> {
  of: CutSession;
  server: CutServer;
  child: Child;
}

/** The parts of a server that run the turn of one session. */
class ServedSession {
  readonly #base: TestStore;
  readonly #clock: ManualClock;
  readonly #deps: ServedSessionDeps;
  readonly #db: Database;
  readonly #broker: ApprovalBroker;
  readonly #outputs: AgentOutputs;
  readonly #readers: AgentReadPositions;
  readonly #live: LiveAgent;
  agent: CutAgent | undefined;

  constructor(base: TestStore, clock: ManualClock, deps: ServedSessionDeps) {
    const { store, log, db } = base;
    const { server } = deps;
    this.#base = base;
    this.#clock = clock;
    this.#deps = deps;
    this.#readers = new AgentReadPositions({ db });
    this.#db = {
      transact: (...work: Parameters<Database['transact']>) => {
        if (server.isDead) return never;
        const written = db.transact(...work);
        server.noteWrite();
        return written;
      },
      peek: db.peek.bind(db),
      read: db.read.bind(db),
    } as unknown as Database;
    const parts = { db: this.#db, log, clock, store, ids: systemIds };
    const inbox = { atBoundary: () => undefined } as unknown as Inbox;
    this.#broker = new ApprovalBroker({
      ...parts,
      inbox,
      logger: pino({ enabled: false }),
      timeoutMs: () => null,
      maxPending: () => 10,
      rules: {
        decide: async ({ title }) => {
          if (/\bslow\b/.test(title)) await clock.sleep(SLOW_MS);
          return { effect: 'ask', rule: null, why: '' } as never;
        },
      },
      budgets: { answered: () => undefined },
    });
    this.#outputs = new AgentOutputs({
      ...parts,
      inbox,
      blobs: { saveFile: async () => ({ path: '/kept', bytes: 3 }) } as unknown as Blobs,
      budgets: { turnUses: () => undefined, turnAmended: () => undefined },
      readers: this.#readers,
    });
    this.#live = newLive(deps.of.session);
  }

  get isAtTurn(): boolean {
    return this.#live.output !== undefined;
  }

  /** Opens the session and sends the prompt of the turn. */
  async prompt(): Promise<void> {
    const { session, turn } = this.#deps.of;
    const { agent, open } = this.#newAgent(null);
    await open();
    await this.#db.transact((tx) => this.#outputs.begin(tx, turn, agent));
    const output = this.#outputs.open(session, { ...turn, started_at: null }, this.#options);
    this.#live.output = output;
    void this.#end(agent.prompt(turn.input, settingsOf(session, turn)), output);
  }

  /** The turn as an earlier server has stored it. Null if it has ended. */
  get stored() {
    const { db } = this.#base;
    const reader = db.peek((rx) => this.#readers.find(rx, this.#deps.of.session.id));
    if (!reader) return null;
    if (!reader.position) throw new Error('the agent was told the prompt, but no row says so');
    const { at, state } = reader.position;
    if (state === null) throw new Error('the state of the agent was not saved');
    const attach = (change: (saved: object) => unknown) => this.#attach(reader, state, change);
    return { at, size: state.length, attach };
  }

  #attach(reader: StoredReadPosition, state: string, change: (saved: object) => unknown): void {
    const { session } = this.#deps.of;
    const saved = { state: JSON.parse(state) as object, output: reader.output };
    change(saved);
    const left = { session, turn: this.#storedTurn(), reader, written: reader.position.end };
    const { output, attached } = this.#outputs.reopen(left, this.#options, this.#broker);
    this.#live.output = output;
    const { agent } = this.#newAgent(reader.position);
    const ref = session.provider_session_ref ?? '';
    void this.#end(agent.attach(ref, JSON.stringify(saved.state), attached), output);
  }

  /** Decides the oldest pending approval. */
  async decide({ decide, scope }: PersonDecision): Promise<void> {
    const { store } = this.#base;
    const [first] = this.#base.db.peek((rx) =>
      store.pendingApprovals(rx, this.#deps.of.turn.turn_id),
    );
    if (!first) throw new Error('nothing is asked');
    const by = { decidedBy: 'test', reason: null, answers: answersTo(first) };
    const resolution =
      decide === 'accept'
        ? { status: 'accepted' as const, scope, ...by }
        : { status: 'declined' as const, ...by, answers: null };
    await this.#db.transact((tx) => this.#broker.resolve(tx, first, resolution));
  }

  /** Interrupts the turn. */
  async interrupt(): Promise<void> {
    const { store, log } = this.#base;
    const turn = this.#storedTurn();
    const interrupted = { ...turn, interrupt_requested_at: this.#clock.now() };
    await this.#db.transact((tx) => {
      const session = store.session(tx, turn.session_id);
      store.moveTurn(tx, session, interrupted, 'turn.interrupt_requested');
      const rows = { store, log, clock: this.#clock };
      cancelApprovals(tx, interrupted, 'the turn was interrupted', rows);
    });
    this.#broker.cancelRequests(turn.turn_id);
    this.agent?.cancel();
  }

  #storedTurn(): Turn {
    const { store, db } = this.#base;
    const { session_id, turn_id } = this.#deps.of.turn;
    return db.peek((rx) => store.turn(rx, session_id, turn_id));
  }

  get #options(): OutputOptions {
    const onError = (error: unknown) => {
      throw error;
    };
    return { onError, agentOf: () => this.agent };
  }

  async #end(outcome: Promise<TurnOutcome>, output: TurnOutput): Promise<void> {
    const { store, log } = this.#base;
    const how = await outcome.catch((error: unknown) => {
      const { code, message } = failureOf(error);
      return failed(code, message);
    });
    await output.closeTools(outcomeOf(this.#storedTurn(), how).status);
    const rows = { store, log, clock: this.#clock };
    await this.#db.transact((tx) => {
      const { session_id, turn_id } = this.#deps.of.turn;
      endTurnInRows(tx, store.turn(tx, session_id, turn_id), how, rows, output);
    });
    this.#deps.of.outcome = how;
    this.#live.output = undefined;
  }

  #newAgent(from: ReadPosition | null): ReturnType<Protocol['newAgent']> {
    const { protocol, of, child } = this.#deps;
    const deps = { clock: this.#clock, sink: this.#sink(), session: of.session };
    const made = protocol.newAgent(child, deps, from);
    this.agent = made.agent;
    return made;
  }

  #sink(): AgentSink {
    const { of, server } = this.#deps;
    const scope = { sessionId: of.session.id, turnId: of.turn.turn_id };
    const ask: AgentSink['ask'] = (request, withdrawn, origin) =>
      this.#broker.ask({ ...scope, origin, output: this.#live.output }, request, withdrawn);
    const sink = this.#outputs.sinkFor(this.#live, ask);
    return {
      ...sink,
      update: (update) => {
        // Updates before the prompt belong to no turn.
        if (server.isDead || !this.#live.output) return undefined;
        const accepted = sink.update(update);
        server.noteUpdate();
        return accepted;
      },
    };
  }
}

function answersTo({ kind, questions }: Approval): Record<string, string[]> | null {
  if (kind !== 'question') return null;
  return Object.fromEntries((questions ?? []).map(({ id }) => [id, ['yes']]));
}
