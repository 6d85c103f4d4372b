import { PassThrough, Writable } from 'node:stream';
import { setImmediate as nextLoop } from 'node:timers/promises';
import pino from 'pino';
import type { AttachedTurn } from '../../src/agents/attached-turn.ts';
import { type Agent, type AgentSink, failed, type TurnOutcome } from '../../src/agents/provider.ts';
import type { ReadPosition } from '../../src/agents/read-position.ts';
import type { Approval } from '../../src/api/approvals.ts';
import type { Session, Turn } from '../../src/api/sessions.ts';
import type { Child } from '../../src/core/children/supervisor.ts';
import { systemIds } from '../../src/core/lib/ids.ts';
import type { Database } from '../../src/core/store/database.ts';
import { ApprovalBroker } from '../../src/server/conversations/approvals/approval-broker.ts';
import type { Inbox } from '../../src/server/conversations/inbox/inbox.ts';
import { attachedTurn } from '../../src/server/conversations/sessions/attach-turn.ts';
import type { LiveAgent } from '../../src/server/conversations/sessions/agent-pool.ts';
import {
  AgentReaders,
  type StoredReader,
} from '../../src/server/conversations/sessions/agent-readers.ts';
import type { Blobs } from '../../src/server/conversations/sessions/blobs.ts';
import type { TurnOutput } from '../../src/server/conversations/sessions/output.ts';
import { AgentOutputs } from '../../src/server/conversations/sessions/outputs.ts';
import { settingsOf } from '../../src/server/conversations/sessions/settings.ts';
import { readStoredOutput } from '../../src/server/conversations/sessions/stored-output.ts';
import { failureOf } from '../../src/server/conversations/sessions/try-agent.ts';
import {
  cancelApprovals,
  endTurnInRows,
  outcomeOf,
} from '../../src/server/conversations/sessions/turn-rows.ts';
import type { ManualClock } from '../support/manual-clock.ts';
import type { TestStore } from '../support/memory-store.ts';

/** An agent whose turn another server can continue. */
type CutAgent = Pick<Agent, 'prompt' | 'cancel'> & {
  readonly position: ReadPosition;
  attach(ref: string, state: string, turn: AttachedTurn): Promise<TurnOutcome>;
};

/** What an agent understands in a line of the server. */
interface Heard {
  /** The answers that it writes at once, before the wire begins. */
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
  /** The newest message of the session that the agent's input has taken: it takes each number once. */
  taken: number;
  outcome: TurnOutcome | null;
}

interface CutServerDeps {
  protocol: Protocol;
  sessions: readonly CutSession[];
  onUpdate: () => void;
  onTold: (line: string) => void;
  onNamed: (name: string, value: unknown) => void;
  /** Takes what the agent writes before the wire begins. */
  onWritten: (written: Buffer) => void;
}

/** The rules take this time to decide on a request with the word "slow" in its title. */
export const SLOW_MS = 100;

const never = new Promise<never>(() => undefined);

/** A server that runs the turns of an agent. After its death it writes nothing. */
export class CutServer {
  readonly stdout = new PassThrough();
  isDead = false;
  diesAfter = Infinity;
  readonly #deps: CutServerDeps;
  readonly #sessions: ServedSession[];
  #prompts = 0;

  constructor(base: TestStore, clock: ManualClock, deps: CutServerDeps) {
    this.#deps = deps;
    const child = childWith(this.stdout, (line) => !this.isDead && this.#hear(line));
    this.#sessions = deps.sessions.map(
      (one) => new ServedSession(base, clock, { ...deps, ...one, of: one, server: this, child }),
    );
  }

  /** The offset up to which the output was read for all sessions. */
  get read(): number {
    return Math.min(...this.#sessions.map(({ read }) => read));
  }

  /** Starts an agent and sends it the prompts of the turns. */
  async prompt(): Promise<void> {
    for (const [at, one] of this.#sessions.entries()) {
      await one.prompt();
      while (this.#prompts <= at) await nextLoop();
    }
  }

  /** Takes over the turns. Resolves with the size of the largest saved state; null if all turns have ended. */
  async attach(written: Buffer, change: (saved: object) => unknown): Promise<number | null> {
    this.#prompts = this.#sessions.length;
    const stored = this.#sessions.flatMap((one) => one.stored ?? []);
    const [first] = stored.toSorted((one, other) => one.at - other.at);
    if (!first) return null;
    for (const { attach } of stored.toSorted((one, other) => one.at - other.at)) attach(change);
    for (const { queued } of stored) for (const line of queued()) this.#hear(line);
    this.stdout.write(written.subarray(first.at));
    return Math.max(...stored.map(({ size }) => size));
  }

  /** Decides the oldest pending approval of a session. */
  decide(decision: 'accept' | 'decline', of = 0): Promise<void> | undefined {
    return this.#sessions[of]?.decide(decision);
  }

  /** Interrupts the turn of a session. */
  interrupt(of = 0): Promise<void> | undefined {
    return this.#sessions[of]?.interrupt();
  }

  /** Has the agent understand a line. Requests before the last prompt are answered at once, and are not part of the wire. */
  #hear(line: string): void {
    const { replies = [], names = {}, isPrompt, isAnswer } = this.#deps.protocol.hear(line);
    for (const [name, value] of Object.entries(names)) this.#deps.onNamed(name, value);
    if (isAnswer) this.#deps.onTold(line);
    if (isPrompt) this.#prompts++;
    if (this.#prompts >= this.#sessions.length) return;
    for (const reply of replies) {
      const answer = Buffer.from(`${JSON.stringify(reply)}\n`);
      this.#deps.onWritten(answer);
      this.stdout.write(answer);
    }
  }
}

/** Returns a child that writes what is written to `stdout`. */
export function childWith(stdout: PassThrough, onLine: (line: string) => unknown): Child {
  const stdin = new Writable({
    write: (part: Buffer, _encoding, done) => {
      for (const line of part.toString().split('\n')) if (line !== '') onLine(line);
      done();
    },
  });
  const end = async () => [];
  return { pid: 1, stdin, stdout, stderr: new PassThrough(), exited: never, rest: never, end };
}

interface ServedSessionDeps extends Pick<CutServerDeps, 'protocol' | 'onUpdate'> {
  session: Session;
  turn: Turn;
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
  readonly #readers: AgentReaders;
  readonly #live: LiveAgent;
  #agent: CutAgent | undefined;

  constructor(base: TestStore, clock: ManualClock, deps: ServedSessionDeps) {
    const { store, log, db } = base;
    this.#base = base;
    this.#clock = clock;
    this.#deps = deps;
    this.#readers = new AgentReaders({ db });
    this.#db = {
      transact: (...work: Parameters<Database['transact']>) =>
        deps.server.isDead ? never : db.transact(...work),
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
    this.#live = { session: deps.session } as unknown as LiveAgent;
  }

  /** The offset up to which the output was read. A session that no agent serves has read all. */
  get read(): number {
    return this.#agent?.position.end ?? Infinity;
  }

  /** Opens the session and sends the prompt of the turn. */
  async prompt(): Promise<void> {
    const { session, turn } = this.#deps;
    const { agent, open } = this.#newAgent(null);
    await open();
    const output = this.#open(null);
    void this.#end(agent.prompt(turn.input, settingsOf(session, turn)), output);
  }

  /** The turn as an earlier server has stored it. Null if it has ended. */
  get stored() {
    const { db } = this.#base;
    const { session, of } = this.#deps;
    const reader = db.peek((rx) => this.#readers.find(rx, session.id));
    if (!reader) return null;
    const { at, state } = reader.position;
    if (state === null) throw new Error('the state of the agent was not saved');
    return {
      at,
      size: state.length,
      attach: (change: (saved: object) => unknown) => this.#attach(reader, state, change),
      /** The messages that the agent's input has not taken. */
      queued: () =>
        db
          .peek((rx) => this.#readers.queued(rx, session.id))
          .filter(({ n }) => takes(of, n))
          .map(({ line }) => line),
    };
  }

  #attach(reader: StoredReader, state: string, change: (saved: object) => unknown): void {
    const { store, log, db } = this.#base;
    const { session } = this.#deps;
    const saved = { state: JSON.parse(state) as object, output: reader.output };
    change(saved);
    const turn = this.#storedTurn();
    const output = db.peek((rx) => readStoredOutput(rx, turn, reader.output, { store, log }));
    const own = this.#open({ reader, output });
    const { agent } = this.#newAgent(reader.position);
    const parts = { db: this.#db, store, broker: this.#broker };
    const attached = attachedTurn({ session, turn }, { reader, output }, parts);
    const ref = session.provider_session_ref ?? '';
    void this.#end(agent.attach(ref, JSON.stringify(saved.state), attached), own);
  }

  /** Decides the oldest pending approval. */
  async decide(decision: 'accept' | 'decline'): Promise<void> {
    const { store } = this.#base;
    const [first] = this.#base.db.peek((rx) => store.pendingApprovals(rx, this.#deps.turn.turn_id));
    if (!first) throw new Error('nothing is asked');
    const by = { decidedBy: 'test', reason: null, answers: answersTo(first) };
    const resolution =
      decision === 'accept'
        ? { status: 'accepted' as const, ...by }
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
    this.#agent?.cancel();
  }

  #storedTurn(): Turn {
    const { store, db } = this.#base;
    const { session_id, turn_id } = this.#deps.turn;
    return db.peek((rx) => store.turn(rx, session_id, turn_id));
  }

  #open(stored: Parameters<AgentOutputs['open']>[2]['stored'] | null): TurnOutput {
    const { session, turn } = this.#deps;
    const output = this.#outputs.open(session, stored ? turn : { ...turn, started_at: null }, {
      onError: (error) => {
        throw error;
      },
      agentOf: () => this.#agent,
      ...(stored && { stored }),
    });
    this.#live.output = output;
    return output;
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
      const { session_id, turn_id } = this.#deps.turn;
      endTurnInRows(tx, store.turn(tx, session_id, turn_id), how, rows, output);
    });
    this.#deps.of.outcome = how;
    this.#live.output = undefined as never;
  }

  #newAgent(from: ReadPosition | null): ReturnType<Protocol['newAgent']> {
    const { protocol, session, child } = this.#deps;
    const deps = { clock: this.#clock, sink: this.#sink(), session };
    const made = protocol.newAgent(child, deps, from);
    this.#agent = made.agent;
    return made;
  }

  #sink(): AgentSink {
    const { session, turn, server, of } = this.#deps;
    const ask: AgentSink['ask'] = (request, withdrawn, origin) =>
      this.#broker.ask(
        { sessionId: session.id, turnId: turn.turn_id, origin, output: this.#live.output },
        request,
        withdrawn,
      );
    const sink = this.#outputs.sinkFor(this.#live, ask);
    const { rows } = sink;
    if (!rows) throw new Error('no positions are stored');
    const queue: typeof rows.queue = (message) => {
      const send = async () => {
        if (server.isDead) await never;
        if (takes(of, message.n)) await message.send();
      };
      rows.queue({ ...message, onStored: () => message.onStored(), send });
    };
    return {
      ...sink,
      rows: { savePosition: () => rows.savePosition(), queue },
      update: (update) => {
        // Updates before the prompt belong to no turn.
        if (server.isDead || !this.#live.output) return undefined;
        const accepted = sink.update(update);
        this.#deps.onUpdate();
        if (--server.diesAfter <= 0) server.isDead = true;
        return accepted;
      },
    };
  }
}

/** Whether the agent's input takes a message: it takes each number of a session once. */
function takes(of: CutSession, n: number): boolean {
  if (n <= of.taken) return false;
  of.taken = n;
  return true;
}

function answersTo({ kind, questions }: Approval): Record<string, string[]> | null {
  if (kind !== 'question') return null;
  return Object.fromEntries((questions ?? []).map(({ id }) => [id, ['yes']]));
}
