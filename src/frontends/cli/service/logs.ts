import { existsSync } from 'node:fs';
import { AppError, conflictError, notFoundError } from '../../../api/errors.ts';
import { logFile } from '../../../core/lib/own-log.ts';
import { lineForPeople } from '../../../core/lib/log-line.ts';
import { plain } from '../../../core/lib/plain.ts';
import { type Program, runAndFollow } from '../run-program.ts';
import type { World } from '../world.ts';
import { followedFile } from './log-program.ts';
import type { Manager } from './manager.ts';
import { whatRuns } from './status.ts';

export interface LogOptions {
  directory: string;
  /** How many of the newest lines are shown. */
  tail: number;
  isFollowed: boolean;
  isJson: boolean;
}

/**
 * Shows the log of the running server, of the service, or of the last background server, in this order. Throws
 * `conflict` if the server logs to a terminal, `not_found` if the service has no log.
 */
export async function showLog(
  world: World,
  manager: Manager | null,
  options: LogOptions,
): Promise<void> {
  const program = await programFor(world, manager, options);
  const form = options.isJson ? inJson : forPeople;
  const signal = world.interrupted();
  const { code, stderr } = await runAndFollow(
    program,
    (line) => void world.stdout.write(`${form(line)}\n`),
    signal,
  );
  if (signal.aborted) return world.exit(Number(signal.reason));
  if (code === 0) {
    // Such as that some of the journal may not be read.
    if (stderr.trim() !== '') world.stderr.write(`cadre: ${plain(stderr.trim())}\n`);
    return;
  }
  throw new AppError(
    'internal',
    `the command ${program.command} exited with code ${code}: ${plain(stderr.trim())}`,
  );
}

async function programFor(
  world: World,
  manager: Manager | null,
  { directory, tail, isFollowed }: LogOptions,
): Promise<Program> {
  const { server, state } = await whatRuns(directory, manager);
  const file = server?.log ?? logFile(directory);
  if (server?.started_by === 'foreground')
    throw conflictError(
      `cannot show the log of the server (pid ${server.pid}): a server in the foreground writes its log only to stderr`,
    );
  const isOfManager = server ? server.started_by === manager?.name : state !== null;
  if (manager && isOfManager) return manager.log(tail, isFollowed, file);
  if (!existsSync(file)) throw notFoundError(`no server log found in ${directory}`);
  return followedFile(file, tail, isFollowed, world.env);
}

function forPeople(line: string): string {
  return isRecord(line) ? lineForPeople(line).trimEnd() : plain(line);
}

/** A line as a record: any other line becomes the message of a record. */
function inJson(line: string): string {
  return isRecord(line) ? line : JSON.stringify({ msg: line });
}

function isRecord(line: string): boolean {
  try {
    const found = JSON.parse(line) as { msg?: unknown } | null;
    return found?.msg !== undefined;
  } catch {
    return false;
  }
}
