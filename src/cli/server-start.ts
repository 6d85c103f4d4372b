import fs from 'node:fs';
import path from 'node:path';
import { prepareDirectory } from '../config/data-directory.ts';
import { findRegistration } from '../config/registration.ts';
import { AppError } from '../errors.ts';
import { readSmallFile } from '../lib/foreign-file.ts';
import { selfCommand } from '../lib/self.ts';
import type { GlobalOptions } from './context.ts';
import type { World } from './world.ts';

/** Whether the server is there is looked at this often. */
const LOOK_MS = 50;
const MAX_LOG_BYTES = 16 * 1024 * 1024;

/** Starts a server that goes on after this program. */
export class ServerStart {
  /** The file with what the server prints. */
  readonly log: string;
  readonly #world: World;
  readonly #options: GlobalOptions;
  readonly #directory: string;

  constructor(world: World, options: GlobalOptions, directory: string) {
    this.#world = world;
    this.#options = options;
    this.#directory = directory;
    this.log = path.join(directory, 'serve.log');
  }

  /** Resolves once the server listens. Throws `unreachable`, with the end of its log, if it ends before. */
  async run(isDemo: boolean): Promise<void> {
    const { clock, env } = this.#world;
    const { startDetached } = await import('../children/detached.ts');
    const { file, args } = selfCommand();
    const place = this.#options.dataDir === undefined ? [] : ['--data-dir', this.#options.dataDir];
    // Before the log is there: with a file that is not its own, the directory would be refused by the server.
    prepareDirectory(this.#directory);
    const before = sizeOf(this.log);
    const last = findRegistration(this.#directory)?.server.pid;
    const words = [...args, ...place, 'serve', ...(isDemo ? ['--demo'] : [])];
    let isOver = false;
    const ended = startDetached({ file, args: words, env, log: this.log }).finally(
      () => (isOver = true),
    );
    // Nobody waits for the end of a server that runs.
    ended.catch(() => undefined);
    while (!this.#isRegistered(last)) {
      if (isOver) throw new AppError('unreachable', `the server ended: ${this.#lastLine(before)}`);
      await clock.sleep(LOOK_MS);
    }
  }

  /** Whether a server is registered that is not the last one, which may still be stopping. */
  #isRegistered(last: number | undefined): boolean {
    const found = findRegistration(this.#directory);
    return found?.runs === true && found.server.pid !== last;
  }

  /** What this start printed last. */
  #lastLine(before: number): string {
    const { text } = readSmallFile(this.log, { maxBytes: MAX_LOG_BYTES });
    const lines = Buffer.from(text).subarray(before).toString().trim().split('\n');
    return lines.at(-1) || `see ${this.log}`;
  }
}

function sizeOf(file: string): number {
  return fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
