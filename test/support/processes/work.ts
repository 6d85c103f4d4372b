import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import type { BodyInputOf, QueryInputOf } from '../../../src/api/endpoint.ts';
import { endpoints } from '../../../src/api/index.ts';
import type { createProcess, getProcessLogs, Process } from '../../../src/api/processes.ts';
import type { Client } from '../../../src/client/client.ts';
import type { UntypedEvent } from '../untyped-events.ts';

/** The client of a server that runs commands. */
export interface Server {
  client: Client;
}

type More = Omit<BodyInputOf<typeof createProcess>, 'command'>;

/** Runs a command; returns its first record. */
export async function run({ client }: Server, command: string, more: More = {}): Promise<Process> {
  return (await client.call(endpoints.createProcess, { body: { command, ...more } })).process;
}

export function get({ client }: Server, { process_id }: { process_id: string }): Promise<Process> {
  return client.call(endpoints.getProcess, { params: { process_id } });
}

/** Resolves with the record of a process that has ended. */
export async function ended(server: Server, { process_id }: { process_id: string }) {
  const params = { process_id };
  const { process, matched } = await server.client.call(endpoints.waitForProcess, { params });
  if (!matched) throw new Error(`it did not end: ${JSON.stringify(process)}`);
  return process;
}

/** Runs a command to its end. */
export async function ranTo(server: Server, command: string, more?: More): Promise<Process> {
  return ended(server, await run(server, command, more));
}

/** Resolves once a process has printed a text. */
export async function printed(server: Server, { process_id }: Process, text: string) {
  const query = { for: `log:${text}` };
  const params = { process_id };
  const { matched } = await server.client.call(endpoints.waitForProcess, { params, query });
  if (!matched) throw new Error(`it did not print "${text}"`);
}

export async function kill(server: Server, { process_id }: Process, reason?: string) {
  const body = reason === undefined ? {} : { reason };
  const params = { process_id };
  return (await server.client.call(endpoints.killProcess, { params, body })).process;
}

export function logs(
  { client }: Server,
  { process_id }: { process_id: string },
  query: QueryInputOf<typeof getProcessLogs> = {},
) {
  return client.call(endpoints.getProcessLogs, { params: { process_id }, query });
}

/** Returns the output of a process in one response. */
export async function stdout(server: Server, process: { process_id: string }): Promise<string> {
  const bounds = { tail_lines: 10_000, max_bytes: 4 * 1024 * 1024 };
  return (await logs(server, process, bounds)).stdout?.content ?? '';
}

export function eventsOf({ client }: Server, { process_id }: { process_id: string }) {
  const query = { limit: 10_000 };
  return client.call(endpoints.replayProcessEvents, { params: { process_id }, query });
}

const endings = new Set([
  'process.completed',
  'process.failed',
  'process.timed_out',
  'process.killed',
]);

/** Returns the events that report the end of a process. There must be exactly one. */
export function endingsIn(events: readonly UntypedEvent[]): UntypedEvent[] {
  return events.filter(({ kind }) => endings.has(kind));
}

/** Returns the kinds of events without output chunks, whose number depends on the timing. */
export function kindsOf(events: readonly UntypedEvent[]): string[] {
  return events.map(({ kind }) => kind).filter((kind) => kind !== 'process.output');
}

let gates = 0;

/** Commands wait until the test releases them, one at a time. */
export class Gate implements Disposable {
  readonly #path: string;
  readonly #fd: number;

  constructor(directory: string) {
    // Each test has its own path, so that a late command of another test does not use it.
    this.#path = path.join(directory, `gate-${(gates += 1)}`);
    execFileSync('mkfifo', [this.#path]);
    // Both ends stay open, so that no reader sees an end of file, and a word waits for a later reader.
    this.#fd = fs.openSync(this.#path, fs.constants.O_RDWR | fs.constants.O_NONBLOCK);
  }

  /** Returns shell code that makes a command wait for the test. */
  get wait(): string {
    return `read -r _ <> '${this.#path}'`;
  }

  /** Releases so many commands that wait now or later. */
  open(count = 1): void {
    fs.writeSync(this.#fd, '\n'.repeat(count));
  }

  [Symbol.dispose](): void {
    fs.closeSync(this.#fd);
  }
}
