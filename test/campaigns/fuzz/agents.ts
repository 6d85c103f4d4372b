import { PassThrough, Writable } from 'node:stream';
import { setImmediate as nextLoop } from 'node:timers/promises';
import pino from 'pino';
import { AcpAgent } from '../../../src/agents/acp/agent.ts';
import { LastSeen } from '../../../src/agents/acp/last-seen.ts';
import { resolveAgents } from '../../../src/agents/acp/resolve.ts';
import { ClaudeAgent } from '../../../src/agents/claude/agent.ts';
import { begin } from '../../../src/agents/claude/process.ts';
import { CodexAgent } from '../../../src/agents/codex/agent.ts';
import { AppServer } from '../../../src/agents/codex/app-server.ts';
import type { Agent, AgentSink, AgentTools, TurnOutcome } from '../../../src/agents/provider.ts';
import { runtimeEventRecord } from '../../../src/api/event-schemas.ts';
import type { Session } from '../../../src/api/sessions.ts';
import type { Child, ChildExit, Supervisor } from '../../../src/core/children/supervisor.ts';
import { EventLog } from '../../../src/core/events/log.ts';
import { systemIds } from '../../../src/core/lib/ids.ts';
import { ApprovalBroker } from '../../../src/server/conversations/approvals/approval-broker.ts';
import type { Inbox } from '../../../src/server/conversations/inbox/inbox.ts';
import type { LiveAgent } from '../../../src/server/conversations/sessions/running-turn.ts';
import type { Blobs } from '../../../src/server/conversations/sessions/blobs.ts';
import { AgentOutputs } from '../../../src/server/conversations/sessions/outputs.ts';
import { beginTurn } from '../../../src/server/conversations/sessions/session.ts';
import { settingsOf } from '../../../src/server/conversations/sessions/settings.ts';
import { SessionStore } from '../../../src/server/conversations/sessions/store.ts';
import { startTurn } from '../../../src/server/conversations/sessions/turn.ts';
import { endTurnInRows, outcomeOf } from '../../../src/server/conversations/sessions/turn-rows.ts';
import { DirectTransport } from '../../../src/server/teams/mcp/transports.ts';
import { openDatabase } from '../../support/database.ts';
import { pageOf } from '../../support/entries.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { aSession, aTurn } from '../../support/records.ts';
import { tempDirectory } from '../../support/temp.ts';
import type { Seed } from './mutate.ts';
import type { Target } from './runner.ts';
import { acpWires, AT_PROMPT, claudeWires, codexWires, ID } from './wires.ts';

/** An agent is given the rest of its messages after so many turns of the event loop without a request of cadre. */
const QUIET_LOOPS = 40;
/** A turn that has not ended after so many steps of the clock, once its agent is gone, hangs. */
const MAX_STEPS = 5000;
/** A new database is begun after so many turns. */
const TURNS_PER_STORE = 500;

/** A process whose output is the input of the campaign. */
class WireProcess implements Child {
  readonly pid = 1;
  readonly outlives = false;
  readonly sandbox = null;
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  readonly stdin: Writable;
  readonly exited: Promise<ChildExit>;
  readonly rest = Promise.resolve([]);
  readonly #exit = Promise.withResolvers<ChildExit>();
  readonly #ids: unknown[] = [];
  #isPrompted = false;
  #heard = 0;

  constructor() {
    this.exited = this.#exit.promise;
    this.stdin = new Writable({
      write: (part: Buffer, _encoding, done) => {
        for (const line of part.toString().split('\n')) if (line !== '') this.#hear(line);
        done();
      },
    });
  }

  #hear(line: string): void {
    const message = JSON.parse(line) as Record<string, unknown>;
    const { id, request_id = id, method, type } = message;
    this.#heard++;
    const isPrompt = type === 'user' || method === 'session/prompt' || method === 'turn/start';
    if (isPrompt) this.#isPrompted = true;
    if (method !== undefined || type === 'control_request')
      if (request_id !== undefined) this.#ids.push(request_id);
  }

  writeInput(message: string): Promise<void> {
    return new Promise((resolve) => void this.stdin.write(message, () => resolve()));
  }

  endOutputs(): boolean {
    return false;
  }

  forget(): void {}

  acknowledge(): void {}

  /** Writes the messages, then ends. */
  async startTurn(input: Buffer): Promise<void> {
    for (const line of input.toString('latin1').split('\n')) {
      if (line === JSON.stringify(AT_PROMPT)) await this.#until(() => this.#isPrompted);
      else if (line.includes(`"${ID}"`)) {
        await this.#until(() => this.#ids.length > 0);
        const id = JSON.stringify(this.#ids.shift() ?? 0);
        this.#write(`${line.replaceAll(`"${ID}"`, () => id)}\n`);
      } else this.#write(`${line}\n`);
    }
    await this.#until(() => false);
    void this.end();
  }

  #write(text: string): void {
    if (this.stdout.writable) this.stdout.write(Buffer.from(text, 'latin1'));
  }

  /** Waits for a condition while cadre does something. */
  async #until(condition: () => boolean): Promise<void> {
    for (let [quiet, heard] = [0, this.#heard]; quiet < QUIET_LOOPS && !condition(); quiet++) {
      await nextLoop();
      if (heard !== this.#heard) [quiet, heard] = [0, this.#heard];
    }
  }

  end(): Promise<readonly number[]> {
    this.stdout.end();
    this.stderr.end();
    this.#exit.resolve({ code: 0, signal: null });
    return this.rest;
  }
}

interface Opening {
  session: Session;
  sink: AgentSink;
  child: WireProcess;
  clock: ManualClock;
}

type Open = (opening: Opening) => Promise<Agent>;

const tools: AgentTools = {
  others: [],
  sidecar: { command: 'cadre', args: [], env: {} },
  renew: () => undefined,
  decline: () => undefined,
  connect(send) {
    const transport = new DirectTransport(send);
    return { take: (message) => transport.receive(message), close: () => undefined };
  },
};
const ignore = () => undefined;
const starting = <T>(start: () => Promise<T>) => start();
const program = { command: 'agent', args: [], env: {} };

function supervising(child: Child): Supervisor {
  return { start: () => Promise.resolve(child) } as unknown as Supervisor;
}

const openAcp: Open = async ({ session, sink, child, clock }) => {
  const [agent] = resolveAgents(null, {});
  if (!agent) throw new Error('no ACP agent is known');
  const acp = new AcpAgent(child, {
    ...program,
    supervisor: supervising(child),
    agent,
    clock,
    lastSeen: new LastSeen(),
    cwd: session.cwd,
    what: 'an agent',
    signal: new AbortController().signal,
    onUnknown: ignore,
    onVersion: ignore,
    starting,
    sink,
    tools: null,
    usedBefore: null,
  });
  await acp.process.initialize();
  await acp.create();
  return acp;
};

const installed = (clock: ManualClock) => ({
  clock,
  signal: new AbortController().signal,
  login: { id: 'claude' as const, hasOwnHome: false, from: {}, given: {} },
  onEnded: (outcome: TurnOutcome) => outcome,
  toolsFor: () => tools,
  onUnknown: ignore,
});

const openClaudeWire: Open = async ({ session, sink, child, clock }) => {
  const options = { ...program, clock, supervisor: supervising(child) };
  const agent = new ClaudeAgent(null, {
    ...options,
    ...installed(clock),
    program: () => Promise.resolve(options),
    starting,
    modes: () => null,
    onModes: ignore,
    onInitialized: ignore,
    session,
    sink,
  });
  await begin((beginning) => agent.start(beginning), { session, sink, fork: null });
  return agent;
};

const openCodexWire: Open = async ({ session, sink, child, clock }) => {
  const server = await AppServer.start({
    ...program,
    supervisor: supervising(child),
    clock,
    cwd: session.cwd,
    onUnknown: ignore,
    onVersion: ignore,
    onLost: ignore,
  });
  const lease = { server, release: (graceMs: number) => server.end(graceMs) };
  const agent = new CodexAgent(session, sink, lease, {
    ...installed(clock),
    access: null,
    models: [],
    fork: null,
    variablesAt: () => ({}),
  });
  await agent.open();
  return agent;
};

/** A store in which turns of scripted agents are stored as a server does. */
async function openTurns(provider: Session['provider']) {
  const directory = tempDirectory('fuzz');
  const clock = new ManualClock();
  const db = await openDatabase(directory.path, { durability: 'normal', clock });
  const log = new EventLog({ db, clock, ids: systemIds });
  const store = new SessionStore({ db, log });
  const parts = { db, log, clock, store, ids: systemIds };
  const inbox = { atBoundary: ignore } as unknown as Inbox;
  let asked = 0;
  const broker = new ApprovalBroker({
    ...parts,
    inbox,
    logger: pino({ enabled: false }),
    timeoutMs: () => null,
    maxPending: () => 100,
    // Each request is stored, and decided at once.
    rules: {
      decide: async () =>
        ({
          effect: ++asked % 2 === 0 ? 'allow' : 'deny',
          rule: { id: 'r', reason: null },
          why: 'w',
        }) as never,
    },
    budgets: { answered: ignore },
  });
  const outputs = new AgentOutputs({
    ...parts,
    inbox,
    blobs: { saveFile: async () => ({ path: '/kept', bytes: 3 }) } as unknown as Blobs,
    budgets: { turnUses: ignore, turnAmended: ignore },
  });
  let turns = 0;

  async function run(open: Open, { kind, bytes }: Seed): Promise<void> {
    const id = `sess_${++turns}`;
    const settings = { permission_mode: kind === 'default' ? null : kind };
    const accepted = aTurn({ session_id: id, turn_id: `turn_${turns}`, ...settings });
    const turn = { ...startTurn(accepted, 1), provider_turn_ref: 'run' };
    const session = beginTurn(aSession({ id, provider, ...settings }), accepted, 1);
    await db.transact((tx) => {
      store.createSession(tx, session);
      store.acceptTurn(tx, session, turn);
    });
    const child = new WireProcess();
    const live = { session } as unknown as LiveAgent;
    const ask: AgentSink['ask'] = (request, withdrawn) =>
      broker.ask({ sessionId: id, turnId: turn.turn_id }, request, withdrawn);
    const sink = outputs.sinkFor(live, ask);
    const played = child.startTurn(bytes);
    const agent = await ends(
      'the start',
      open({ session, sink, child, clock }),
      child,
      clock,
    ).catch(refused);
    const errors: unknown[] = [];
    const onError = (error: unknown) => void errors.push(error);
    const output = outputs.open(session, turn, { onError, agentOf: () => agent });
    live.output = output;
    const outcome = await ends(
      'the turn',
      agent.prompt(turn.input, settingsOf(session, turn)),
      child,
      clock,
    );
    await ends('the end of the agent', agent.end(0), child, clock);
    await played;
    await output.closeTools(outcomeOf(turn, outcome).status);
    const rows = { store, log, clock };
    await db.transact((tx) => {
      endTurnInRows(tx, store.turn(tx, id, turn.turn_id), outcome, rows, output);
    });
    live.output = undefined;
    if (errors.length > 0) throw errors[0];
    assertProtocolError(outcome.error?.message ?? '');
    assertProtocolError(await ends('the loss of the agent', agent.gone, child, clock));
    assertEvents(id);
  }

  /** Each stored event has the form that its kind promises. */
  function assertEvents(id: string): void {
    const bounds = { after: 0, upTo: db.durableSeq, limit: 1e6, maxBytes: 1e9 };
    for (const { text } of pageOf(log, { name: 'session', id }, bounds).entries) {
      const { error } = runtimeEventRecord.safeParse(JSON.parse(text));
      if (error)
        throw new Error(`an event breaks its description: ${error.message} ${text.slice(0, 300)}`);
    }
  }

  return {
    run,
    async [Symbol.asyncDispose]() {
      // An agent that was ended may still decide a request, which nobody waits for.
      for (let loops = 0; loops < QUIET_LOOPS; loops++) await nextLoop();
      await db.close();
      await directory[Symbol.asyncDispose]();
    },
  };
}

function refused(error: unknown): never {
  assertProtocolError((error as Error).message);
  throw error;
}

/** The messages that end a connection. Any other error in a handler would end it too, with a message of JavaScript. */
const PROTOCOL_ERRORS =
  /^(codex sent a line that is (not JSON|too long)|the agent sent (a line of more than \d+ bytes|\d+ lines in a row))/;

function assertProtocolError(why: string): void {
  const [, cause] = /broke the protocol and was stopped: ([\s\S]*)/.exec(why) ?? [];
  if (cause !== undefined && !PROTOCOL_ERRORS.test(cause))
    throw new Error(`the connection ended with an unexpected error: ${cause.slice(0, 300)}`);
}

/** Resolves as `work` does. Moves the clock once the process has ended, because some work waits for time. */
async function ends<T>(
  what: string,
  work: Promise<T>,
  child: Child,
  clock: ManualClock,
): Promise<T> {
  let isOver = false;
  const over = () => void (isOver = true);
  work.then(over, over);
  let isGone = false;
  void child.exited.then(() => (isGone = true));
  for (let steps = 0; !isOver; await nextLoop()) {
    if (!isGone) continue;
    if (++steps > MAX_STEPS) throw new Error(`${what} does not come, although the process is gone`);
    clock.advance(10_000);
  }
  return work;
}

function agentTarget(
  entry: string,
  seeds: readonly Seed[],
  provider: Session['provider'],
  open: Open,
): Target {
  return {
    entry,
    seeds,
    async open() {
      let turns = await openTurns(provider);
      let count = 0;
      return {
        async feed(input) {
          if (++count % TURNS_PER_STORE === 0) {
            await turns[Symbol.asyncDispose]();
            turns = await openTurns(provider);
          }
          await turns.run(open, input);
        },
        [Symbol.asyncDispose]: () => turns[Symbol.asyncDispose](),
      };
    },
  };
}

export const acp = agentTarget('AcpAgent, with the output stored', acpWires, 'acp', openAcp);
export const claude = agentTarget(
  'openClaude, with the output stored',
  claudeWires,
  'claude',
  openClaudeWire,
);
export const codex = agentTarget(
  'AppServer and openCodex, with the output stored',
  codexWires,
  'codex',
  openCodexWire,
);
