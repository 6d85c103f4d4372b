import fs from 'node:fs';
import os from 'node:os';
import { prepareDirectory, withDataDirectory } from '../../core/config/data-directory.ts';
import { findRegistration } from '../../core/config/registration.ts';
import { AppError, type ErrorCode, conflictError } from '../../api/errors.ts';
import { readSmallFile } from '../../core/lib/foreign-file.ts';
import { logFile, MAX_LOG_BYTES, setAside } from '../../core/lib/own-log.ts';
import { selfCommand } from '../../core/lib/self.ts';
import { serverOnceItAnswers } from './answering.ts';
import { exitCodes } from './exit.ts';
import { commandOn } from './command-on.ts';
import { type ServeOptions, serveWords } from './serve-options.ts';
import type { CommandIo } from './command-io.ts';

/** The maximum time to wait for the first answer: a migration of much data takes minutes. */
const START_MS = 10 * 60_000;

export interface StartedServer {
  url: string;
  pid: number;
  version: string;
  token_file: string | null;
  data_dir: string;
  log: string;
}

/** Starts a server that outlives this program. */
export class ServerStart {
  readonly log: string;
  readonly #io: CommandIo;
  readonly #options: ServeOptions;
  readonly #directory: string;

  constructor(io: CommandIo, options: ServeOptions, directory: string) {
    this.#io = io;
    this.#options = options;
    this.#directory = directory;
    this.log = logFile(directory);
  }

  /**
   * Resolves once the server answers. Throws what it ended with if it ends before, `timeout` if it does neither within ten
   * minutes, and `conflict` where a server runs already.
   */
  async run(isDemo: boolean): Promise<StartedServer> {
    const { clock } = this.#io;
    const found = findRegistration(this.#directory);
    if (found?.runs) throw alreadyRuns(this.#directory, found.server, this.#options);
    const printed = withDataDirectory(this.#directory, () => {
      // Before the log is there: with a file that is not its own, the directory would be refused by the server.
      prepareDirectory(this.#directory);
      setAside(this.log);
      return sizeOf(this.log);
    });
    const child = await this.#start(isDemo);
    const server = await serverOnceItAnswers(this.#directory, {
      clock,
      signal: this.#io.interrupted(),
      limitMs: START_MS,
      look: () => {
        if (child.end) throw this.#failure(child.end, printed);
      },
    });
    if (server === null)
      throw new AppError('timeout', `the server is still starting: see the log ${this.log}`);
    const { url, pid, version, token_file } = server;
    return { url, pid, version, token_file, data_dir: this.#directory, log: this.log };
  }

  /** Starts it; `end` is there once it has ended. */
  async #start(isDemo: boolean): Promise<{ end?: Ended }> {
    const { startDetached } = await import('../../core/children/detached.ts');
    const { withoutManager } = await import('../service/notifier.ts');
    const { env, cwd } = this.#io;
    const { file, args } = selfCommand();
    const options = { ...this.#options, dataDir: this.#directory, demo: isDemo };
    const words = serveWords(options, cwd());
    const child: { end?: Ended } = {};
    const start = {
      file,
      args: [...args, ...words],
      env: withoutManager(env),
      log: this.log,
      cwd: fs.existsSync(os.homedir()) ? os.homedir() : '/',
    };
    withDataDirectory(this.#directory, () => startDetached(start)).then(
      (code) => (child.end = { code }),
      (error: unknown) => (child.end = { code: null, why: (error as Error).message }),
    );
    return child;
  }

  /** The error that the last printed line describes. */
  #failure({ code, why }: Ended, before: number): AppError {
    const { text } = readSmallFile(this.log, { maxBytes: 2 * MAX_LOG_BYTES });
    const lines = Buffer.from(text).subarray(before).toString().trim().split('\n');
    const reason = lines.findLast((line) => line.startsWith('cadre: '))?.slice('cadre: '.length);
    const last = why ?? reason ?? (lines.at(-1) || `see ${this.log}`);
    return new AppError(errorOf(code), reason ?? `the server exited: ${last}`);
  }
}

interface Ended {
  /** Null where a signal ended it, or it could not be started. */
  code: number | null;
  why?: string;
}

function alreadyRuns(
  directory: string,
  { url, pid }: { url: string; pid: number },
  options: ServeOptions,
): AppError {
  return conflictError(
    `a server is already running on ${directory}, at ${url} (pid ${pid}): stop that server with ${commandOn('stop', options)}`,
  );
}

/** The error that ends a command with that exit code. */
function errorOf(code: number | null): ErrorCode {
  if (code === exitCodes.usage) return 'invalid';
  if (code === exitCodes.conflict) return 'conflict';
  if (code === exitCodes.auth) return 'unauthorized';
  if (code === exitCodes.refused) return 'too_many';
  return 'internal';
}

function sizeOf(file: string): number {
  return fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
