import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { Server } from '../subject.ts';
import { ask } from './http.ts';
import type { Frame } from './stream.ts';

/** Runs a command as a process of the server, and resolves at its end. `more`: further fields of the request. */
export async function runOne(
  server: Server,
  ends: Ends,
  command: string,
  more: object = {},
): Promise<void> {
  const { process: made } = await ask<{ process: { process_id: string } }>(
    server,
    'POST',
    '/v1/processes',
    { command, ...more },
  );
  const kind = await ends.of(made.process_id);
  if (kind !== 'process.completed') throw new Error(`${command}: ${kind}`);
}

/** Runs a command in a shell without the server. */
export async function spawnOne(command: string): Promise<void> {
  const child = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [[code]] = await Promise.all([once(child, 'exit'), text(child.stdout), text(child.stderr)]);
  if (code !== 0) throw new Error(`${command} ended with ${code}`);
}

/** The ends of processes, which may be on the stream before the answer to the request has come. */
export class Ends {
  readonly #early = new Map<string, string>();
  readonly #waiting = new Map<string, (kind: string) => void>();

  take({ kind, data }: Frame): void {
    if (!/^process\.(completed|failed|killed|timed_out)$/.test(kind)) return;
    const { process_id: id } = JSON.parse(data) as { process_id: string };
    const resolve = this.#waiting.get(id);
    if (resolve) resolve(kind);
    else this.#early.set(id, kind);
    this.#waiting.delete(id);
  }

  async of(id: string): Promise<string> {
    const early = this.#early.get(id);
    this.#early.delete(id);
    return early ?? new Promise((resolve) => this.#waiting.set(id, resolve));
  }
}
