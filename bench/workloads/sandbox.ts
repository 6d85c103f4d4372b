import fs from 'node:fs';
import path from 'node:path';
import { Ends, runOne, spawnOne } from '../client/commands.ts';
import { ask } from '../client/http.ts';
import { followNewest } from '../client/stream.ts';
import { together } from '../client/together.ts';
import { type Server, withServer } from '../subject.ts';
import { type Measures, workload } from '../workload.ts';

/** So many commands start at once. */
const AT_ONCE = 50;

/** The sandbox of a session, by the name of its measures. A session without one is the first. */
const sandboxes: Record<string, object | undefined> = {
  'no sandbox': undefined,
  sandbox: { network: 'none' },
  'sandbox with hosts': { network: 'hosts' },
};

/** Commands in sandboxes, from the request to their end. */
export const sandbox = workload({
  about: `the time in which the command \`true\` runs as a process of a session, until the event stream reports its end: without a sandbox, in a sandbox without a network, and in one with a list of hosts. The baseline starts /bin/sh`,
  needs: 'server',
  units: Object.fromEntries(
    Object.keys(sandboxes).flatMap((name) => [
      [`${name}, one`, 'ms'],
      [`${name}, ${AT_ONCE} at once`, 'ms'],
    ]),
  ),
  sizes: { short: { alone: 20 }, full: { alone: 100 } },
  server: (context, { alone }) =>
    withServer(context, async (server) => {
      const cwd = path.join(context.directory, 'work');
      fs.mkdirSync(cwd);
      const ends = new Ends();
      const stream = await followNewest(server, (frame) => ends.take(frame));
      const measures: Measures = {};
      for (const [name, chosen] of Object.entries(sandboxes)) {
        const session = await openSession(server, cwd, chosen);
        const run =
          session === null ? null : () => runOne(server, ends, 'true', { session_id: session });
        Object.assign(measures, await measure(name, run, alone));
      }
      stream.close();
      return measures;
    }),
  bare: async (_directory, { alone }) => {
    const measures: Measures = {};
    for (const name of Object.keys(sandboxes))
      Object.assign(measures, await measure(name, () => spawnOne('true'), alone));
    return measures;
  },
});

/** Measures one kind of session. Null: the build has no sandbox of this kind. */
async function measure(
  name: string,
  run: (() => Promise<void>) | null,
  alone: number,
): Promise<Measures> {
  const [one, all] = [`${name}, one`, `${name}, ${AT_ONCE} at once`];
  if (run === null) return { [one]: Number.NaN, [all]: Number.NaN };
  await run();
  const single = await together(1, alone, run);
  const before = performance.now();
  await together(AT_ONCE, AT_ONCE, run);
  return { [one]: single.p50, [all]: performance.now() - before };
}

/** Resolves with the id of a session; null if the build does not know its sandbox. */
async function openSession(
  server: Server,
  cwd: string,
  chosen: object | undefined,
): Promise<string | null> {
  try {
    const body = { provider: 'acp', cwd, ...(chosen && { sandbox: chosen }) };
    return (await ask<{ id: string }>(server, 'POST', '/v1/sessions', body)).id;
  } catch (error) {
    if (chosen === undefined) throw error;
    return null;
  }
}
