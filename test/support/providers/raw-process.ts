import { readFileSync } from 'node:fs';
import type net from 'node:net';
import { onceGone } from './puppet.ts';

/** What an agent of a test is sent, and sends. */
export type Fields = Record<string, unknown>;

/** The test's end of one agent's process: it writes and ends as the test orders. */
export abstract class RawProcess {
  readonly pid: number;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** All messages that cadre has sent to it, oldest first. */
  readonly heard: Fields[] = [];
  /** What else became of it. */
  readonly fate: { eof?: boolean; signal?: string }[] = [];
  /** Whether the process is gone, and cadre, its parent, was told so. */
  gone = false;
  readonly #socket: net.Socket;

  constructor(socket: net.Socket, pid: number) {
    this.#socket = socket;
    this.pid = pid;
    this.args = listIn(`/proc/${pid}/cmdline`);
    const variables = listIn(`/proc/${pid}/environ`).map((one) => one.split(/=(.*)/s));
    this.env = Object.fromEntries(variables) as Record<string, string>;
    socket.once('close', () => onceGone(pid, () => (this.gone = true)));
  }

  /** Handles a message from cadre, which is in `heard` already. */
  protected abstract handle(message: Fields): void;

  write(text: string): void {
    this.#order({ write: text });
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

  outlive(): void {
    this.#order({ outlive: true });
  }

  take({ line, ...fate }: { line?: string; eof?: boolean; signal?: string }): void {
    if (line === undefined) {
      this.fate.push(fate);
      return;
    }
    const message = JSON.parse(line) as Fields;
    this.heard.push(message);
    this.handle(message);
  }

  #order(order: object): void {
    if (!this.gone) this.#socket.write(`${JSON.stringify(order)}\n`);
  }
}

function listIn(file: string): string[] {
  return readFileSync(file, 'utf8').split('\0').filter(Boolean);
}
