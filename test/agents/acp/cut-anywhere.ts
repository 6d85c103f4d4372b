import { PassThrough, Writable } from 'node:stream';
import { setImmediate as nextLoop } from 'node:timers/promises';
import pino from 'pino';
import { AcpAgent } from '../../../src/agents/acp/agent.ts';
import { LastSeen } from '../../../src/agents/acp/last-seen.ts';
import { resolveAgents, type ResolvedAgent } from '../../../src/agents/acp/resolve.ts';
import type { AgentSink, TurnOutcome } from '../../../src/agents/provider.ts';
import type { Approval } from '../../../src/api/approvals.ts';
import type { Session, Turn } from '../../../src/api/sessions.ts';
import type { Child } from '../../../src/core/children/supervisor.ts';
import { systemIds } from '../../../src/core/lib/ids.ts';
import type { Database } from '../../../src/core/store/database.ts';
import { ApprovalBroker } from '../../../src/server/conversations/approvals/approval-broker.ts';
import type { Inbox } from '../../../src/server/conversations/inbox/inbox.ts';
import { attachedTurn } from '../../../src/server/conversations/sessions/attach-turn.ts';
import type { LiveAgent } from '../../../src/server/conversations/sessions/running-turn.ts';
import { AgentReaders } from '../../../src/server/conversations/sessions/agent-readers.ts';
import type { Blobs } from '../../../src/server/conversations/sessions/blobs.ts';
import type { TurnOutput } from '../../../src/server/conversations/sessions/output.ts';
import { AgentOutputs } from '../../../src/server/conversations/sessions/outputs.ts';
import { settingsOf } from '../../../src/server/conversations/sessions/settings.ts';
import { beginTurn } from '../../../src/server/conversations/sessions/session.ts';
import { readStoredOutput } from '../../../src/server/conversations/sessions/stored-output.ts';
import { endTurnInRows, outcomeOf } from '../../../src/server/conversations/sessions/turn-rows.ts';
import { startTurn } from '../../../src/server/conversations/sessions/turn.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import type { TestStore } from '../../support/memory-store.ts';
import { aSession, aTurn } from '../../support/records.ts';

/** A step of a turn: a message of the agent, the decision of a person, or time that passes. */
export type Step = { say: object } | { decide: 'accept' | 'decline' } | { advance: number };

/** A turn of an agent, message by message. */
export interface Wire {
  steps: readonly Step[];
  /** The permission mode of the turn (default: null). */
  mode?: string;
  /** The answers of the agent to `initialize` and `session/new`. */
  initialized?: object;
  opened?: object;
  agent?: Partial<ResolvedAgent>;
}

/** Where a server is cut off: after so many updates, or after a step. */
export type Cut = { updates: number } | { steps: number };
/** Changes the saved state of the agent and of the output before the next server reads it. */
type Change = (saved: object) => void;
/** The id of the prompt in the messages of a wire. */
export const PROMPT = 'the id of the prompt';
export const SESSION = 's1';

let turns = 0;

/** One turn of an agent, which servers that die one after the other may run. */
export class CutTurn {
  readonly #base: TestStore;
  readonly #wire: Wire;
  readonly #clock = new ManualClock();
  readonly sessionId: string;
  readonly #session: Session;
  readonly #turn: Turn;
  /** All that the agent has written. */
  #output = Buffer.alloc(0);
  readonly told: string[] = [];
  #prompt: unknown = null;
  /** The newest message that the agent's input has taken. */
  #taken = 0;
  #updates = 0;
  #server: Server | undefined;
  /** The largest saved state, in characters. */
  stateSize = 0;

  constructor(base: TestStore, wire: Wire) {
    this.#base = base;
    this.#wire = wire;
    const id = `sess_${++turns}`;
    this.sessionId = id;
    const session = aSession({ id, permission_mode: wire.mode ?? null });
    const turn = aTurn({ session_id: id, turn_id: `turn_${turns}`, accepted_at: 1 });
    this.#turn = { ...startTurn(turn, 1), provider_turn_ref: `run_${turns}` };
    this.#session = { ...beginTurn(session, turn, 1), provider_session_ref: SESSION };
  }

  /** Runs the turn to its end. Returns the number of updates. `change` changes the state that the second server reads. */
  async run(cut: Cut | null = null, change: Change = () => undefined) {
    const { store, db } = this.#base;
    await db.transact((tx) => {
      store.createSession(tx, this.#session);
      store.acceptTurn(tx, this.#session, this.#turn);
    });
    this.#server = this.#start();
    await this.#server.prompt();
    const cutUpdates = cut && 'updates' in cut ? cut.updates : null;
    let isCut = cut === null;
    for (const [at, step] of this.#wire.steps.entries()) {
      if (!isCut && cutUpdates !== null) this.#server.diesAfter = cutUpdates - this.#updates;
      await this.#do(step);
      const isDue = cut && ('steps' in cut ? at + 1 >= cut.steps : this.#server.isDead);
      if (isCut || !isDue) continue;
      isCut = true;
      this.#server.isDead = true;
      if (await this.#replace(change)) await this.#settle();
    }
    await this.#settle();
    return this.#updates;
  }

  #start(): Server {
    return new Server(this.#base, this.#clock, {
      wire: this.#wire,
      session: this.#session,
      turn: this.#turn,
      onUpdate: () => void this.#updates++,
      onTold: (line) => void this.told.push(line),
      onPrompt: (id) => (this.#prompt = id),
      onWritten: (written) => this.#keep(written),
      takes: (n) => n > this.#taken && (this.#taken = n) > 0,
    });
  }

  #keep(written: Buffer): void {
    this.#output = Buffer.concat([this.#output, written]);
  }

  /** Has another server continue the turn. False if the turn has ended. */
  async #replace(change: Change): Promise<boolean> {
    const { db } = this.#base;
    await db.transact(() => undefined);
    const server = this.#start();
    const size = await server.attach(this.#output, change);
    if (size === null) return false;
    this.stateSize = size;
    this.#server = server;
    return true;
  }

  async #do(step: Step): Promise<void> {
    if ('say' in step) {
      const text = JSON.stringify({ jsonrpc: '2.0', ...step.say });
      const line = Buffer.from(`${text.replace(`"${PROMPT}"`, JSON.stringify(this.#prompt))}\n`);
      this.#keep(line);
      this.#server?.stdout.write(line);
    } else if ('advance' in step) this.#clock.advance(step.advance);
    else await this.#server?.decide(step.decide);
    await this.#settle();
  }

  /** Waits until the server has handled all that the agent has written, and has nothing to do. */
  async #settle(): Promise<void> {
    const isRead = () => this.#server?.isDead || this.#server?.read === this.#output.length;
    for (let quiet = 0; quiet < 3; quiet = isRead() ? quiet + 1 : 0) {
      await this.#base.db.transact(() => undefined);
      await nextLoop();
    }
  }
}

interface ServerDeps {
  wire: Wire;
  session: Session;
  turn: Turn;
  onUpdate: () => void;
  onTold: (line: string) => void;
  onPrompt: (id: unknown) => void;
  /** Takes what the agent writes before the wire begins. */
  onWritten: (written: Buffer) => void;
  /** Whether the agent's input takes a message: it takes each number once. */
  takes: (n: number) => boolean;
}

const never = new Promise<never>(() => undefined);

/** The parts of a server that run a turn. After its death it writes nothing. */
class Server {
  readonly stdout = new PassThrough();
  isDead = false;
  diesAfter = Infinity;
  ended: Promise<void> = never;
  readonly #base: TestStore;
  readonly #clock: ManualClock;
  readonly #deps: ServerDeps;
  readonly #db: Database;
  readonly #broker: ApprovalBroker;
  readonly #outputs: AgentOutputs;
  readonly #readers: AgentReaders;
  readonly #live: LiveAgent;
  #agent: AcpAgent | undefined;

  constructor(base: TestStore, clock: ManualClock, deps: ServerDeps) {
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
    const { session, turn, wire } = this.#deps;
    const agent = this.#newAgent(null, {
      initialize: { protocolVersion: 1, agentCapabilities: {}, ...wire.initialized },
      'session/new': { sessionId: SESSION, ...wire.opened },
    });
    await agent.process.initialize();
    await agent.create();
    const output = this.#open(null);
    this.ended = this.#end(agent.prompt(turn.input, settingsOf(session, turn)), output);
    while (!this.#isPrompted) await nextLoop();
  }

  /** Takes over the turn. Resolves with the size of the saved state; null if the turn has ended. */
  async attach(written: Buffer, change: Change): Promise<number | null> {
    const { store, log, db } = this.#base;
    const { session, turn } = this.#deps;
    const reader = db.peek((rx) => this.#readers.find(rx, session.id));
    if (!reader) return null;
    const { state } = reader.position;
    if (state === null) throw new Error('the state of the agent was not saved');
    const saved = { state: JSON.parse(state) as object, output: reader.output };
    change(saved);
    const output = db.peek((rx) => readStoredOutput(rx, turn, reader.output, { store, log }));
    const own = this.#open({ reader, output });
    const agent = this.#newAgent(reader.position, {});
    const parts = { db: this.#db, store, broker: this.#broker };
    const attached = attachedTurn({ session, turn }, { reader, output }, parts);
    this.ended = this.#end(agent.attach(SESSION, JSON.stringify(saved.state), attached), own);
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

  #isPrompted = false;

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
    const { turn } = this.#deps;
    const how = await outcome;
    await output.closeTools(outcomeOf(turn, how).status);
    const rows = { store, log, clock: this.#clock };
    await this.#db.transact((tx) => {
      const now = store.turn(tx, turn.session_id, turn.turn_id);
      endTurnInRows(tx, now, how, rows, output);
    });
    this.#live.output = undefined as never;
  }

  /** Makes an agent whose process answers requests at once. Output before the prompt is not part of the wire. */
  #newAgent(from: ConstructorParameters<typeof AcpAgent>[2], answers: Record<string, object>) {
    const child = this.#child((line) => this.#hear(line, answers));
    const sink = this.#sink();
    const start = { command: '', args: [], env: {}, supervisor: null as never };
    const agent = resolveAgents(null, {})[0] as ResolvedAgent;
    this.#agent = new AcpAgent(
      child,
      {
        ...start,
        agent: { ...agent, ...this.#deps.wire.agent },
        clock: this.#clock,
        lastSeen: new LastSeen(),
        cwd: '/work',
        what: 'an agent',
        signal: new AbortController().signal,
        onUnknown: () => undefined,
        onVersion: () => undefined,
        starting: (begin) => begin(),
        sink,
        tools: null,
        usedBefore: null,
      },
      from,
    );
    return this.#agent;
  }

  #hear(line: string, answers: Record<string, object> = {}): void {
    const { id, method } = JSON.parse(line) as { id?: unknown; method?: string };
    const result = method === undefined ? undefined : answers[method];
    if (result) {
      const answer = Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
      this.#deps.onWritten(answer);
      this.stdout.write(answer);
    } else if (method === 'session/prompt') {
      this.#isPrompted = true;
      this.#deps.onPrompt(id);
    } else if (method === undefined) this.#deps.onTold(line);
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
      tell: (message) => new Promise((resolve) => stdin.write(message, () => resolve())),
      acknowledge: () => undefined,
      end,
    };
  }
}

function answersTo({ kind, questions }: Approval): Record<string, string[]> | null {
  if (kind !== 'question') return null;
  return Object.fromEntries((questions ?? []).map(({ id }) => [id, ['yes']]));
}
