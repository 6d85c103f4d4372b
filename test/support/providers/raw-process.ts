import { readFileSync } from 'node:fs';
import type net from 'node:net';
import { onceGone } from './puppet.ts';
import type { Actor, Hello, LogWakeup } from './theatre.ts';

/** What an agent of a test is sent, and sends. */
export type Fields = Record<string, unknown>;

/** The test's end of one agent's process: it writes and ends as the test orders. */
export abstract class RawProcess<Message extends object = Fields> implements Actor {
  readonly pid: number;
  readonly cwd: string;
  /** All messages that cadre has sent to it, oldest first. */
  readonly heard: Message[] = [];
  /** What else became of it: its end of file, signals, its child. */
  readonly fate: Omit<LogWakeup, 'line'>[] = [];
  /** Whether the process is gone, and cadre, its parent, was told so. */
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
