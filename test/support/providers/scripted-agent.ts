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
export abstract class ScriptedProcess<Message extends object = Fields> implements Actor {
  readonly pid: number;
  readonly cwd: string;
  /** All messages that cadre has sent to the process, oldest first. */
  readonly heard: Message[] = [];
  /** The other reports of the process: end of its stdin, signals, its child. */
  readonly fate: Omit<LogWakeup, 'line'>[] = [];
  /** Whether the process has ended, and cadre, its parent, has received the exit. */
  gone = false;
  readonly #socket: net.Socket;

  constructor(socket: net.Socket, { pid, cwd }: Hello) {
    this.#socket = socket;
    this.pid = pid;
    this.cwd = cwd;
    socket.once('close', () => onceGone(pid, () => (this.gone = true)));
  }

  /** Handles a message from cadre, which is in `heard` already. */
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

  take({ line, ...fate }: LogWakeup): void {
    if (line === undefined) {
      this.fate.push(fate);
      return;
    }
    const message = JSON.parse(line) as Message;
    this.heard.push(message);
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
interface LogWakeup {
  /** A line of its stdin. */
  line?: string;
  eof?: boolean;
  signal?: string;
  child?: number;
}

/** The test's side of a scripted agent's process. */
export interface Actor {
  take(news: LogWakeup): void;
}

/** Accepts scripted agents: `enter` makes an actor from the first message of each process started with `program`. */
export async function openTheatre<A extends Actor>(
  directory: string,
  enter: (process: net.Socket, hello: Hello) => A,
) {
  /** All actors so far, oldest first. */
  const actors: A[] = [];
  const open = new Set<net.Socket>();
  const receive = (process: net.Socket): void => {
    open.add(process);
    process.once('close', () => open.delete(process));
    process.on('error', () => undefined);
    const lines = createInterface({ input: process });
    // readline passes on the errors of its input, and a killed process resets its connection.
    lines.on('error', () => undefined);
    lines.once('line', (first) => {
      const actor = entering(() => enter(process, JSON.parse(first) as Hello));
      if (!actor) return;
      actors.push(actor);
      lines.on('line', (line) => actor.take(JSON.parse(line) as LogWakeup));
    });
  };
  const socket = path.join(directory, 'socket');
  const server = net.createServer(receive);
  server.listen(socket);
  await once(server, 'listening');
  return {
    program: puppetOn(socket),
    actors,
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
function entering<A>(enter: () => A): A | null {
  try {
    return enter();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return null;
    throw error;
  }
}

const PERL = '/usr/bin/perl';

/** The program of a scripted agent: the Perl version, or the Node version if Perl is not installed. */
export const puppet = existsSync(PERL)
  ? { command: PERL, file: path.join(import.meta.dirname, 'controlled-program.pl') }
  : { command: process.execPath, file: path.join(import.meta.dirname, 'controlled-program.mjs') };

/** Returns the command for a scripted agent that connects to a socket. */
function puppetOn(socket: string) {
  const { command, file } = puppet;
  // Otherwise Perl warns on stderr if the locale of the user is not installed.
  return { command, args: [file], env: { PUPPET_SOCKET: socket, PERL_BADLANG: '0' } };
}

/** Calls the callback once a process is reaped: the kernel closes its files before its parent receives the exit. */
function onceGone(pid: number, told: () => void): void {
  if (signal(pid, 0) === 'gone') told();
  else systemClock.after(2, () => onceGone(pid, told));
}

/** The test's side of one agent process. */
interface Played extends Actor {
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
export interface PlayedStage<A extends Played> {
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

export interface PlayedGiven {
  /** More keys of `[providers]`. */
  providers?: Fields;
  /** The section `[gateway]`. */
  gateway?: Fields;
  clock?: Clock;
  /** Time within which an agent has to list the tools after a turn (default: no limit). */
  toolsWithinMs?: number;
}

/** Returns a provider section that sets HOME to the directory of the stage; `env` adds variables. */
export function inHome({ env, ...settings }: Fields & { env: Record<string, string> | undefined }) {
  return (program: ReturnType<typeof puppetOn>, home: string): Fields => ({
    ...program,
    ...settings,
    env: { ...program.env, HOME: home, ...env },
  });
}

/** Describes how a test plays the agents of a provider. */
export interface PlayedOptions<A extends Played> extends PlayedGiven {
  provider: 'acp' | 'claude' | 'codex';
  /** Returns the provider section for the program and home directory of the agents. */
  section: (program: ReturnType<typeof puppetOn>, home: string) => Fields;
  play: (socket: net.Socket, hello: Hello) => A;
}

/** Runs `test` with agents that `play` makes; always ends them afterwards. */
async function withPlayed<A extends Played>(
  {
    provider,
    section,
    play,
    providers,
    gateway = {},
    clock,
    toolsWithinMs = Infinity,
  }: PlayedOptions<A>,
  test: (harness: PlayedStage<A>) => Promise<void>,
): Promise<void> {
  await using own = tempDirectory('raw');
  using theatre = await openTheatre(own.path, play);
  const agents = theatre.actors;
  const sessions: WatchedSession[] = [];
  const config = {
    gateway,
    providers: { ...providers, [provider]: section(theatre.program, own.path) },
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
    until('no agent is left', () => theatre.open === 0 && agents.every(({ gone }) => gone));
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

/** Returns functions that play the agents of a provider. `optionsOf` combines a role with the settings of a test. */
export function playing<Role extends object, A extends Played, Given extends PlayedGiven>(
  optionsOf: (role: Role, given: Partial<Given>) => PlayedOptions<A>,
) {
  const lend = (role: Role, given: Partial<Given>): WithResource<PlayedStage<A>> => {
    const options = optionsOf(role, given);
    return (use) => withPlayed(options, use);
  };
  return {
    /** Plays a role until the test has finished. */
    forTest: (role: Role, given: Partial<Given> = {}) => openForTest(lend(role, given)),
    /**
     * One runtime for all tests of a file or `describe`; its agents play another role in each test. No test may restart the
     * runtime, or depend on counts and state of the provider.
     */
    shared(given: Partial<Given> = {}) {
      const current: Partial<Role> = {};
      const harness = shared('runtime', lend(current as Role, given));
      return (role: Role): PlayedStage<A> => {
        for (const part of Object.keys(current)) delete current[part as keyof Role];
        Object.assign(current, role);
        onTestFinished(() => harness().clear());
        return harness();
      };
    },
  };
}
