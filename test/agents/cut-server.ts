import { PassThrough, Writable } from 'node:stream';
import { setImmediate as nextLoop } from 'node:timers/promises';
import pino from 'pino';
import type { AttachedTurn } from '../../src/agents/attached-turn.ts';
import type { Agent, AgentSink, TurnOutcome } from '../../src/agents/provider.ts';
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
import { AgentReaders } from '../../src/server/conversations/sessions/agent-readers.ts';
import type { Blobs } from '../../src/server/conversations/sessions/blobs.ts';
import type { TurnOutput } from '../../src/server/conversations/sessions/output.ts';
import { AgentOutputs } from '../../src/server/conversations/sessions/outputs.ts';
import { settingsOf } from '../../src/server/conversations/sessions/settings.ts';
import { readStoredOutput } from '../../src/server/conversations/sessions/stored-output.ts';
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
  /** The provider's own name for the session. */
  readonly ref: string;
  /** Builds the adapter on a child that runs. `from`: how far an earlier server has handled the output of the child. */
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

interface CutServerDeps {
  protocol: Protocol;
  session: Session;
  turn: Turn;
  onUpdate: () => void;
  onTold: (line: string) => void;
  onNamed: (name: string, value: unknown) => void;
  /** Takes what the agent writes before the wire begins. */
  onWritten: (written: Buffer) => void;
  /** Whether the agent's input takes a message: it takes each number once. */
  takes: (n: number) => boolean;
}

const never = new Promise<never>(() => undefined);

/** The parts of a server that run a turn. After its death it writes nothing. */
export class CutServer {
  readonly stdout = new PassThrough();
  isDead = false;
  diesAfter = Infinity;
  ended: Promise<void> = never;
  readonly #base: TestStore;
  readonly #clock: ManualClock;
  readonly #deps: CutServerDeps;
  readonly #db: Database;
  readonly #broker: ApprovalBroker;
  readonly #outputs: AgentOutputs;
  readonly #readers: AgentReaders;
  readonly #live: LiveAgent;
  #agent: CutAgent | undefined;
  #isPrompted = false;

  constructor(base: TestStore, clock: ManualClock, deps: CutServerDeps) {
    const { store, log, db } = base;
    this.#base = base;
    this.#clock = clock;
    this.#deps = deps;
    this.#readers = new AgentReaders({ db });
    this.#db = {
      transact: (...work: Parameters<Database['transact']>) =>
        this.isDead ? never : db.transact(...work),
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
      rules: { decide: async () => ({ effect: 'ask', rule: null, why: '' }) as never },
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

  get read(): number {
    return this.#agent?.position.end ?? 0;
  }

  /** Starts an agent and sends it the prompt of the turn. */
  async prompt(): Promise<void> {
    const { session, turn } = this.#deps;
    const { agent, open } = this.#newAgent(null);
    await open();
    const output = this.#open(null);
    this.ended = this.#end(agent.prompt(turn.input, settingsOf(session, turn)), output);
    while (!this.#isPrompted) await nextLoop();
  }

  /** Takes over the turn. Resolves with the size of the saved state; null if the turn has ended. */
  async attach(written: Buffer, change: (saved: object) => unknown): Promise<number | null> {
    const { store, log, db } = this.#base;
    const { session, protocol } = this.#deps;
    const reader = db.peek((rx) => this.#readers.find(rx, session.id));
    if (!reader) return null;
    const { state } = reader.position;
    if (state === null) throw new Error('the state of the agent was not saved');
    const saved = { state: JSON.parse(state) as object, output: reader.output };
    change(saved);
    const turn = this.#storedTurn();
    const output = db.peek((rx) => readStoredOutput(rx, turn, reader.output, { store, log }));
    const own = this.#open({ reader, output });
    this.#isPrompted = true;
    const { agent } = this.#newAgent(reader.position);
    const parts = { db: this.#db, store, broker: this.#broker };
    const attached = attachedTurn({ session, turn }, { reader, output }, parts);
    this.ended = this.#end(agent.attach(protocol.ref, JSON.stringify(saved.state), attached), own);
    for (const { n, line } of db.peek((rx) => this.#readers.queued(rx, session.id)))
      if (this.#deps.takes(n)) this.#hear(line);
    this.stdout.write(written.subarray(reader.position.at));
    return state.length;
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
    const how = await outcome;
    await output.closeTools(outcomeOf(this.#storedTurn(), how).status);
    const rows = { store, log, clock: this.#clock };
    await this.#db.transact((tx) => {
      const { session_id, turn_id } = this.#deps.turn;
      endTurnInRows(tx, store.turn(tx, session_id, turn_id), how, rows, output);
    });
    this.#live.output = undefined as never;
  }

  #newAgent(from: ReadPosition | null): ReturnType<Protocol['newAgent']> {
    const { protocol, session } = this.#deps;
    const child = this.#child((line) => this.#hear(line));
    const deps = { clock: this.#clock, sink: this.#sink(), session };
    const made = protocol.newAgent(child, deps, from);
    this.#agent = made.agent;
    return made;
  }

  /** Has the agent understand a line. Requests before the prompt are answered at once, and are not part of the wire. */
  #hear(line: string): void {
    const { replies = [], names = {}, isPrompt, isAnswer } = this.#deps.protocol.hear(line);
    for (const [name, value] of Object.entries(names)) this.#deps.onNamed(name, value);
    if (isAnswer) this.#deps.onTold(line);
    if (isPrompt) this.#isPrompted = true;
    if (this.#isPrompted) return;
    for (const reply of replies) {
      const answer = Buffer.from(`${JSON.stringify(reply)}\n`);
      this.#deps.onWritten(answer);
      this.stdout.write(answer);
    }
  }

  #sink(): AgentSink {
    const { session, turn } = this.#deps;
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
        if (this.isDead) await never;
        if (this.#deps.takes(message.n)) await message.send();
      };
      rows.queue({ ...message, onStored: () => message.onStored(), send });
    };
    return {
      ...sink,
      rows: { savePosition: () => rows.savePosition(), queue },
      update: (update) => {
        // Updates before the prompt belong to no turn.
        if (this.isDead || !this.#live.output) return undefined;
        const accepted = sink.update(update);
        this.#deps.onUpdate();
        if (--this.diesAfter <= 0) this.isDead = true;
        return accepted;
      },
    };
  }

  #child(onLine: (line: string) => void): Child {
    const stdin = new Writable({
      write: (part: Buffer, _encoding, done) => {
        for (const line of part.toString().split('\n'))
          if (line !== '' && !this.isDead) onLine(line);
        done();
      },
    });
    const end = async () => [];
    return {
      pid: 1,
      stdin,
      stdout: this.stdout,
      stderr: new PassThrough(),
      exited: never,
      rest: never,
      end,
    };
  }
}

function answersTo({ kind, questions }: Approval): Record<string, string[]> | null {
  if (kind !== 'question') return null;
  return Object.fromEntries((questions ?? []).map(({ id }) => [id, ['yes']]));
}
