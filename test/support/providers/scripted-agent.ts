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
import type { RecoverySummary } from '../../../src/api/runtime.ts';
import type { Client } from '../../../src/client/client.ts';
import { openRuntime, type TestRuntime } from '../runtime.ts';
import { untilNothingCarries } from '../server.ts';
import { type Lend, openForTest, shared } from '../shared.ts';
import { tempDirectory } from '../temp.ts';
import { until } from './calls.ts';
import { WatchedSession } from './contract-stage.ts';

/** What an agent of a test is sent, and sends. */
export type Fields = Record<string, unknown>;

/** The test's end of one agent's process: it writes and ends as the test orders. */
export abstract class ScriptedProcess<Message extends object = Fields> implements Actor {
  readonly pid: number;
  readonly cwd: string;
  /** All messages that cadre has sent to it, oldest first. */
  readonly heard: Message[] = [];
  /** What else became of it: its end of file, signals, its child. */
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

  /** Writes to its stdout, whatever it is. */
  write(text: string): void {
    this.#order({ write: text });
  }

  /** Writes a letter so many times to its stdout: what is long does not go through the test. */
  fill(letters: number): void {
    this.#order({ fill: letters });
  }

  stderr(text: string): void {
    this.#order({ stderr: text });
  }

  exit(code: number): void {
    this.#order({ exit: code });
  }

  /** Closes its stdout, and lives on. */
  hangUp(): void {
    this.#order({ hangUp: true });
  }

  /** Makes it, and a child of it, live on whatever happens but a SIGKILL. */
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

/** The arguments of a process that runs. */
export function argsOf(pid: number): readonly string[] {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').filter(Boolean);
}

/** The environment of a process that runs, as it was started with. */
export function envOf(pid: number): Readonly<Record<string, string>> {
  const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean);
  return Object.fromEntries(variables.map((one) => one.split(/=(.*)/s))) as Record<string, string>;
}

/** What a process of a puppet says of itself first. */
export interface Hello {
  pid: number;
  cwd: string;
}

/** And then what becomes of it. */
interface LogWakeup {
  /** What it was told on its stdin. */
  line?: string;
  eof?: boolean;
  signal?: string;
  child?: number;
}

/** The test's end of a process of a puppet. */
export interface Actor {
  take(news: LogWakeup): void;
}

/** Where puppets are played: each process that is started with `program` becomes what `enter` makes of its first word. */
export async function openTheatre<A extends Actor>(
  directory: string,
  enter: (process: net.Socket, hello: Hello) => A,
) {
  /** All that came, oldest first. */
  const actors: A[] = [];
  const open = new Set<net.Socket>();
  const receive = (process: net.Socket): void => {
    open.add(process);
    process.once('close', () => open.delete(process));
    process.on('error', () => undefined);
    const lines = createInterface({ input: process });
    // It has the errors of its input, too: one that is killed resets the connection.
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
    /** How many are connected. */
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

/** The program of an agent that a test plays: its file, of which there are two that do the same, and what runs it. */
export const puppet = existsSync(PERL)
  ? { command: PERL, file: path.join(import.meta.dirname, 'puppet.pl') }
  : { command: process.execPath, file: path.join(import.meta.dirname, 'puppet.mjs') };

/** How cadre is to start it; it speaks with the test through that socket. */
function puppetOn(socket: string) {
  const { command, file } = puppet;
  // Where the locale of the user is not installed, Perl says so on stderr.
  return { command, args: [file], env: { PUPPET_SOCKET: socket, PERL_BADLANG: '0' } };
}

/** Calls `told` once a process is gone and its parent knows: what it has open is closed before its parent hears of it. */
function onceGone(pid: number, told: () => void): void {
  if (signal(pid, 0) === 'gone') told();
  else systemClock.after(2, () => onceGone(pid, told));
}

/** The test's end of one process of an agent. */
interface Played extends Actor {
  readonly gone: boolean;
  /** Has it go, where it outlives its sessions. */
  retire?(): void;
}

/** A runtime in this process whose agents are played by the test. */
export interface PlayedStage<A extends Played> {
  readonly given: TestRuntime;
  readonly client: Client;
  /** Where sessions work. */
  readonly cwd: string;
  /** Every process that was started, oldest first. */
  readonly agents: readonly A[];
  /** Opens a session, which is watched from its beginning. */
  open(more?: object): Promise<WatchedSession>;
  diagnostics(): Promise<ProviderDiagnostics>;
  /** Waits until no agent's process is left. */
  noAgents(): Promise<void>;
  /** What the last start found, once it is done with it. */
  recovered(): Promise<RecoverySummary>;
  /** Closes all sessions, and forgets them and their agents. */
  clear(): Promise<void>;
  /** Stops the runtime and starts another on the same data. Sessions have to be watched again. */
  restart(): Promise<void>;
}

export interface PlayedGiven {
  /** More of `[providers]`. */
  providers?: Fields;
  /** `[gateway]`. */
  gateway?: Fields;
  clock?: Clock;
  /** The time that agents have to ask for the tools, after a turn; without it nobody is told. */
  toolsWithinMs?: number;
}

/** A provider's section whose agents have the home of the stage as theirs; `env` is more of their environment. */
export function inHome({ env, ...settings }: Fields & { env: Record<string, string> | undefined }) {
  return (program: ReturnType<typeof puppetOn>, home: string): Fields => ({
    ...program,
    ...settings,
    env: { ...program.env, HOME: home, ...env },
  });
}

/** How the agents of a provider are played. */
export interface PlayedOptions<A extends Played> extends PlayedGiven {
  provider: 'acp' | 'claude' | 'codex';
  /** The provider's section, by the program that its agents are to run, and a home for them. */
  section: (program: ReturnType<typeof puppetOn>, home: string) => Fields;
  play: (socket: net.Socket, hello: Hello) => A;
}

/** Runs `test` with agents that `play` makes, and ends everything whatever happens. */
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
  test: (stage: PlayedStage<A>) => Promise<void>,
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
  const noAgents = () =>
    until('no agent is left', () => theatre.open === 0 && agents.every(({ gone }) => gone));
  const stop = async () => {
    await leave();
    given.client.close();
    await given.runtime.stop(AbortSignal.abort());
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
      async open(more = {}) {
        const body = { provider, cwd: own.path, ...more };
        const { id } = await given.client.call(endpoints.createSession, { body });
        const session = new WatchedSession(given.client, id);
        sessions.push(session);
        return session;
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

/** The two ways to play the agents of a provider, by the options for a role and for what a test gives. */
export function playing<Role extends object, A extends Played, Given extends PlayedGiven>(
  optionsOf: (role: Role, given: Partial<Given>) => PlayedOptions<A>,
) {
  const lend = (role: Role, given: Partial<Given>): Lend<PlayedStage<A>> => {
    const options = optionsOf(role, given);
    return (use) => withPlayed(options, use);
  };
  return {
    /** Plays a role for the rest of a test. */
    forTest: (role: Role, given: Partial<Given> = {}) => openForTest(lend(role, given)),
    /**
     * One runtime for all tests of a file or `describe`, whose agents play another role in each. No test may restart it,
     * or count on what a provider remembers or has counted.
     */
    shared(given: Partial<Given> = {}) {
      const current: Partial<Role> = {};
      const stage = shared('runtime', lend(current as Role, given));
      return (role: Role): PlayedStage<A> => {
        for (const part of Object.keys(current)) delete current[part as keyof Role];
        Object.assign(current, role);
        onTestFinished(() => stage().clear());
        return stage();
      };
    },
  };
}
