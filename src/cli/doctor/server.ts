import { endpoints } from '../../api/index.ts';
import type { ProviderRecord } from '../../api/providers.ts';
import type { Client } from '../../client/client.ts';
import { AppError } from '../../errors.ts';
import { version } from '../../lib/self.ts';
import { commandFor } from '../hints.ts';
import { type Check, fail, type Given, ok, warn } from './given.ts';

/** A server that answers nothing for so long is stuck. */
const ANSWER_MS = 3000;
const UNKNOWN = 'cannot be told before the configuration is mended';

export const server: Check = async (given) => {
  if (!given.found.config) return warn(UNKNOWN);
  const found = await asked(given, async (client) => ({
    url: client.url,
    version: (await client.call(endpoints.getVersion, {})).version,
    health: await client.call(endpoints.getHealth, {}),
  }));
  if (!found) return warn('no server is running: start one with cadre serve');
  if (found.version !== version)
    return warn(`${found.url} is of version ${found.version}, this is ${version}: restart it`);
  const failing = Object.entries(found.health.checks).filter(
    ([, check]) => (check as { status: string }).status !== 'ok',
  );
  if (failing.length === 0) return ok(`${found.url} is well`);
  const names = failing.map(([name]) => name).join(', ');
  return warn(`${found.url} is degraded (${names}): see cadre status`);
};

export const providers: Check = async (given) => {
  if (!given.found.config) return warn(UNKNOWN);
  const asking = asked(given, (client) => client.call(endpoints.listProviders, {}));
  // A server that does not answer is told of by the check of it.
  const found =
    (await asking.catch(() => null)) ??
    (await import('../../providers/configured.ts')).describeProviders(given.config);
  const say = (some: ProviderRecord[]) =>
    some.map(({ id, detail }) => withCommand(`${id}: ${detail}`)).join('; ');
  const broken = found.filter(({ enabled, healthy }) => enabled && !healthy);
  if (broken.length > 0) return fail(say(broken));
  const usable = found.filter(({ enabled }) => enabled);
  return usable.length > 0 ? ok(say(usable)) : warn(say(found));
};

/** What is wrong, and the command that helps. */
function withCommand(message: string): string {
  const command = commandFor(message);
  return command === null ? message : `${message}, ${command}`;
}

/** The server's answer; null where none is known of. Throws what it refuses with, or that it does not answer. */
async function asked<T>(
  { options, world }: Given,
  ask: (client: Client) => Promise<T>,
): Promise<T | null> {
  let client: Client | undefined;
  const late = new AbortController();
  try {
    client = await world.connect(options);
    return await Promise.race([ask(client), tooLate(world, client.url, late.signal)]);
  } catch (error) {
    if (!client && error instanceof AppError && error.code === 'unreachable') return null;
    throw error;
  } finally {
    late.abort();
    client?.close();
  }
}

async function tooLate(
  { clock }: Given['world'],
  url: string,
  signal: AbortSignal,
): Promise<never> {
  await clock.sleep(ANSWER_MS, signal);
  throw new AppError(
    'timeout',
    `${url} has not answered for ${ANSWER_MS / 1000} s: stop its process and start it again`,
  );
}
