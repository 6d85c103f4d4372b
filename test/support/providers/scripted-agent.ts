import { readFileSync, existsSync } from 'node:fs';
import net from 'node:net';
import { once } from 'node:events';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { createInterface } from 'node:readline';
import { signal } from '../../../src/core/children/identity.ts';
import { systemClock, type Clock } from '../../../src/core/lib/clock.ts';
import { endpoints } from '../../../src/api/index.ts';
import type { ProviderDiagnostics } from '../../../src/api/providers.ts';
import type { Approval } from '../../../src/api/approvals.ts';
import type { RecoverySummary } from '../../../src/api/runtime.ts';
import type { Turn } from '../../../src/api/sessions.ts';
import type { Client } from '../../../src/client/client.ts';
import { openRuntime, type TestRuntime } from '../runtime.ts';
import { untilNothingCarries } from '../server.ts';
import { type WithResource, openForTest, shared } from '../shared.ts';
import { tempDirectory } from '../temp.ts';
import { type Input, until } from './calls.ts';
import { WatchedSession } from './provider-harness.ts';

/** A message to or from a scripted agent. */
export type Fields = Record<string, unknown>;

/** The test's side of one agent process, which writes and exits by order of the test. */
export abstract class ScriptedProcess<
  Message extends object = Fields,
> implements ControlledProcess {
  readonly pid: number;
  readonly cwd: string;
  /** All messages that cadre has sent to the process, oldest first. */
  readonly received: Message[] = [];
  /** The other reports of the process: end of its stdin, signals, its child. */
  readonly reports: Omit<ProcessReport, 'line'>[] = [];
  /** Whether the process has ended, and cadre, its parent, has received the exit. */
  gone = false;
  readonly #socket: net.Socket;

  constructor(socket: net.Socket, { pid, cwd }: Hello) {
    this.#socket = socket;
    this.pid = pid;
    this.cwd = cwd;
    socket.once('close', () => onceGone(pid, () => (this.gone = true)));
  }

  /** Handles a message from cadre, which is in `received` already. */
  protected abstract handle(message: Message): void;

  /** Writes a text to the stdout of the process. */
  write(text: string): void {
    this.#order({ write: text });
  }

  /** Writes so many letters to the stdout of the process, so that a long text need not pass through the test. */
  fill(letters: number): void {
    this.#order({ fill: letters });
  }

  stderr(text: string): void {
    this.#order({ stderr: text });
  }

  exit(code: number): void {
    this.#order({ exit: code });
  }

  /** Closes the stdout of the process, which keeps running. */
  hangUp(): void {
    this.#order({ hangUp: true });
  }

  /** Makes the process and a new child ignore everything but a SIGKILL. */
  outlive(): void {
    this.#order({ outlive: true });
  }

  receive({ line, ...reports }: ProcessReport): void {
    if (line === undefined) {
      this.reports.push(reports);
      return;
    }
    const message = JSON.parse(line) as Message;
    this.received.push(message);
    this.handle(message);
  }

  #order(order: object): void {
    if (!this.#socket.destroyed) this.#socket.write(`${JSON.stringify(order)}\n`);
  }
}

/** Returns the environment with which a running process was started. */
export function envOf(pid: number): Readonly<Record<string, string>> {
  const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean);
  return Object.fromEntries(variables.map((one) => one.split(/=(.*)/s))) as Record<string, string>;
}

/** The first message of a scripted agent's process. */
export interface Hello {
  pid: number;
  cwd: string;
}

/** A later message of a scripted agent's process. */
interface ProcessReport {
  /** A line of its stdin. */
  line?: string;
  eof?: boolean;
  signal?: string;
  child?: number;
}

/** The test's side of a scripted agent's process. */
export interface ControlledProcess {
  receive(report: ProcessReport): void;
}

/** Accepts scripted agents: `accept` makes a controlled process from the first message of each process that runs `program`. */
export async function listenForAgents<A extends ControlledProcess>(
  directory: string,
  accept: (process: net.Socket, hello: Hello) => A,
) {
  /** All controlled processes so far, oldest first. */
  const processes: A[] = [];
  const open = new Set<net.Socket>();
  const receive = (process: net.Socket): void => {
    open.add(process);
    process.once('close', () => open.delete(process));
    process.on('error', () => undefined);
    const lines = createInterface({ input: process });
    // readline passes on the errors of its input, and a killed process resets its connection.
    lines.on('error', () => undefined);
    lines.once('line', (first) => {
      const controlled = ifRunning(() => accept(process, JSON.parse(first) as Hello));
      if (!controlled) return;
      processes.push(controlled);
      lines.on('line', (line) => controlled.receive(JSON.parse(line) as ProcessReport));
    });
  };
  const socket = path.join(directory, 'socket');
  const server = net.createServer(receive);
  server.listen(socket);
  await once(server, 'listening');
  return {
    program: controlledProgramOn(socket),
    processes,
    /** The number of connected processes. */
    get open() {
      return open.size;
    },
    [Symbol.dispose]() {
      server.close();
      for (const process of open) process.destroy();
    },
  };
}

/** Null if the process was killed before its first message, because /proc no longer lists the process. */
function ifRunning<A>(accept: () => A): A | null {
  try {
    return accept();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return null;
    throw error;
  }
}

const PERL = '/usr/bin/perl';

/** The program of a scripted agent: the Perl version, or the Node version if Perl is not installed. */
export const controlledProgram = existsSync(PERL)
  ? { command: PERL, file: path.join(import.meta.dirname, 'controlled-program.pl') }
  : { command: process.execPath, file: path.join(import.meta.dirname, 'controlled-program.mjs') };

/** Returns the command for a scripted agent that connects to a socket. */
function controlledProgramOn(socket: string) {
  const { command, file } = controlledProgram;
  // Otherwise Perl warns on stderr if the locale of the user is not installed.
  return { command, args: [file], env: { CONTROL_SOCKET: socket, PERL_BADLANG: '0' } };
}

/** Calls the callback once a process is reaped: the kernel closes its files before its parent receives the exit. */
function onceGone(pid: number, onGone: () => void): void {
  if (signal(pid, 0) === 'gone') onGone();
  else systemClock.after(2, () => onceGone(pid, onGone));
}

/** The test's side of one agent process. */
interface ControlledAgent extends ControlledProcess {
  readonly gone: boolean;
  /** Ends an agent that outlives its sessions. */
  retire?(): void;
}

interface FirstApproval {
  session: WatchedSession;
  turnId: string;
  approval: Approval;
}

/** A runtime in this process with scripted agents. */
export interface AgentHarness<A extends ControlledAgent> {
  readonly given: TestRuntime;
  readonly client: Client;
  /** The working directory of the sessions. */
  readonly cwd: string;
  /** All agent processes that were started, oldest first. */
  readonly agents: readonly A[];
  /** Opens a session, and watches it from its first event. */
  open(more?: object): Promise<WatchedSession>;
  /** Opens a session and runs its first turn. */
  firstTurn(input: Input, more?: object): Promise<{ session: WatchedSession; turn: Turn }>;
  /** Opens a session and waits for the first approval of its first turn. */
  firstApproval(input: Input, more?: object): Promise<FirstApproval>;
  diagnostics(): Promise<ProviderDiagnostics>;
  /** Waits until no agent process is left. */
  noAgents(): Promise<void>;
  /** Resolves with the recovery summary of the last start once recovery is done. */
  recovered(): Promise<RecoverySummary>;
  /** Closes all sessions, waits until their agents are gone, and forgets them. */
  clear(): Promise<void>;
  /** Stops the runtime and starts another on the same data. The watches of the sessions end. */
  restart(): Promise<void>;
}

export interface AgentHarnessOptions {
  /** More keys of `[providers]`. */
  providers?: Fields;
  /** The section `[gateway]`. */
  gateway?: Fields;
  clock?: Clock;
  /** Time within which an agent has to list the tools after a turn (default: no limit). */
  toolsWithinMs?: number;
}

/** Returns a provider section that sets HOME to the directory of the harness; `env` adds variables. */
export function inHome({ env, ...settings }: Fields & { env: Record<string, string> | undefined }) {
  return (program: ReturnType<typeof controlledProgramOn>, home: string): Fields => ({
    ...program,
    ...settings,
    env: { ...program.env, HOME: home, ...env },
  });
}

/** Describes the scripted agents of a provider. */
export interface AgentHarnessDefinition<A extends ControlledAgent> extends AgentHarnessOptions {
  provider: 'acp' | 'claude' | 'codex';
  /** Returns the provider section for the program and home directory of the agents. */
  section: (program: ReturnType<typeof controlledProgramOn>, home: string) => Fields;
  connect: (socket: net.Socket, hello: Hello) => A;
}

/** Runs `test` with agents that `connect` makes; always ends them afterwards. */
async function withAgentHarness<A extends ControlledAgent>(
  {
    provider,
    section,
    connect,
    providers,
    gateway = {},
    clock,
    toolsWithinMs = Infinity,
  }: AgentHarnessDefinition<A>,
  test: (harness: AgentHarness<A>) => Promise<void>,
): Promise<void> {
  await using own = tempDirectory('raw');
  using listener = await listenForAgents(own.path, connect);
  const agents = listener.processes;
  const sessions: WatchedSession[] = [];
  const config = {
    gateway,
    providers: { ...providers, [provider]: section(listener.program, own.path) },
  };
  const start = () =>
    openRuntime(path.join(own.path, 'data'), { config, toolsWithinMs, ...(clock && { clock }) });
  let given = await start();
  const leave = () =>
    Promise.all(sessions.splice(0).map(({ watch }) => watch[Symbol.asyncDispose]()));
  const open = async (more: object = {}) => {
    const body = { provider, cwd: own.path, ...more };
    const { id } = await given.client.call(endpoints.createSession, { body });
    const session = new WatchedSession(given.client, id);
    sessions.push(session);
    return session;
  };
  const noAgents = () =>
    until('no agent is left', () => listener.open === 0 && agents.every(({ gone }) => gone));
  const stop = async () => {
    await leave();
    await given.stop(AbortSignal.abort());
    await untilNothingCarries(own.path);
  };
  try {
    await test({
      get given() {
        return given;
      },
      get client() {
        return given.client;
      },
      cwd: own.path,
      agents,
      open,
      async firstTurn(input, more) {
        const session = await open(more);
        return { session, turn: await session.run(input) };
      },
      async firstApproval(input, more) {
        const session = await open(more);
        return { session, ...(await session.asks(input)) };
      },
      async diagnostics() {
        const all = await given.client.call(endpoints.getProviderDiagnostics, {});
        const found = all.find(({ id }) => id === provider);
        if (!found) throw new Error(`there is no ${provider}`);
        return found;
      },
      noAgents,
      async recovered() {
        const read = () => given.client.call(endpoints.getRecovery, {});
        await until('recovery is done', async () => (await read()).status === 'done');
        return read();
      },
      async clear() {
        const ids = sessions.map(({ id }) => id);
        await leave();
        try {
          for (const session_id of ids)
            await given.client.call(endpoints.closeSession, { params: { session_id }, body: {} });
          for (const agent of agents) agent.retire?.();
          await noAgents();
        } finally {
          agents.length = 0;
        }
      },
      async restart() {
        await stop();
        given = await start();
      },
    });
  } finally {
    await stop();
  }
}

/** Returns functions that open a harness for a provider. `optionsOf` combines a behavior with the settings of a test. */
export function agentHarnesses<
  Behavior extends object,
  A extends ControlledAgent,
  Given extends AgentHarnessOptions,
>(optionsOf: (behavior: Behavior, given: Partial<Given>) => AgentHarnessDefinition<A>) {
  const withBehavior = (
    behavior: Behavior,
    given: Partial<Given>,
  ): WithResource<AgentHarness<A>> => {
    const options = optionsOf(behavior, given);
    return (use) => withAgentHarness(options, use);
  };
  return {
    /** Opens a harness whose agents have this behavior until the test has finished. */
    forTest: (behavior: Behavior, given: Partial<Given> = {}) =>
      openForTest(withBehavior(behavior, given)),
    /**
     * One runtime for all tests of a file or `describe`; each test sets their behavior. No test may restart the
     * runtime, or depend on counts and state of the provider.
     */
    shared(given: Partial<Given> = {}) {
      const current: Partial<Behavior> = {};
      const harness = shared('runtime', withBehavior(current as Behavior, given));
      return (behavior: Behavior): AgentHarness<A> => {
        for (const part of Object.keys(current)) delete current[part as keyof Behavior];
        Object.assign(current, behavior);
        onTestFinished(() => harness().clear());
        return harness();
      };
    },
  };
}
