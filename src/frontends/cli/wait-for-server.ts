import fs from 'node:fs';
import path from 'node:path';
import { endpoints } from '../../api/index.ts';
import { AppError } from '../../api/errors.ts';
import { type GlobalOptions, namedServers, serverDirectory } from './context.ts';
import type { World } from './world.ts';

/** The time between two tries, in ms. */
const RETRY_MS = 500;

/**
 * Waits, after `error`, until the one server that the options name answers, for at most `limitMs`; absent: for ever. Returns
 * false where somebody ended the wait, which sets the exit code. Throws the last error after the limit, and `error` at once
 * where there is nothing to wait for: it is another error, several servers are asked, or no server was ever there.
 */
export async function waitForServer(
  world: World,
  global: GlobalOptions,
  error: unknown,
  limitMs = Number.POSITIVE_INFINITY,
): Promise<boolean> {
  if (!isUnreachable(error) || !(await mayCome(global, world.env))) throw error;
  const { clock, stderr } = world;
  const until = clock.monotonic() + limitMs;
  const signal = world.interrupted();
  let last = error;
  for (let isFirst = true; ; isFirst = false) {
    const left = until - clock.monotonic();
    if (left <= 0) throw last;
    if (isFirst) stderr.write(`cadre: ${last.message}: waiting for the server\n`);
    await clock.sleep(Math.min(RETRY_MS, left), signal).catch(() => undefined);
    if (signal.aborted) {
      world.exit(Number(signal.reason));
      return false;
    }
    const missing = await tried(world, global);
    if (missing === null) break;
    last = missing;
  }
  stderr.write('cadre: connected\n');
  return true;
}

/** Returns why the server cannot be reached; null where it answers. Throws every other error. */
async function tried(world: World, global: GlobalOptions): Promise<AppError | null> {
  try {
    const client = await world.connect(global);
    try {
      if (!client.servers) await client.call(endpoints.getVersion, {});
      return null;
    } finally {
      client.close();
    }
  } catch (error) {
    if (isUnreachable(error)) return error;
    throw error;
  }
}

/** Whether one server is named by an address, or has been on this machine. */
async function mayCome(global: GlobalOptions, env: NodeJS.ProcessEnv): Promise<boolean> {
  const isOfFleet = global.fleet !== undefined || Boolean(env.CADRE_FLEET);
  const addresses = global.url ?? (env.CADRE_URL ? [env.CADRE_URL] : []);
  if (isOfFleet || addresses.length > 1) return false;
  const named = (await namedServers(global, env)) ?? [];
  if (named.length > 1 && global.on === undefined) return false;
  if (addresses.length === 1 || named.some(({ url }) => url !== null)) return true;
  return fs.existsSync(path.join(await serverDirectory(global, env), 'events.cadre'));
}

function isUnreachable(error: unknown): error is AppError {
  return error instanceof AppError && error.code === 'unreachable';
}
