import { DurableAgent } from '../baselines/durable-agent.ts';
import { createSession, sendTurn } from '../client/http.ts';
import { cpuMilliseconds, ownCpu } from '../client/process.ts';
import { endsTurn, Stream } from '../client/stream.ts';
import { withServer } from '../subject.ts';
import { type Measures, workload } from '../workload.ts';

const SESSIONS = 8;

/** Turns of several sessions at once. */
export const turns = workload({
  about: `the rate and the CPU time of turns with ten words, in ${SESSIONS} sessions at the same time. The baseline runs ${SESSIONS} agents on pipes, and writes prompts and words to a file on disk. The second baseline is a minimal HTTP server that does the same. The side \`libraries\` is a server with only the libraries of cadre and the same events`,
  needs: 'server',
  servers: ['bare-server', 'libraries'],
  units: { turns: '/s', 'CPU of a turn': 'ms' },
  sizes: { short: { each: 60 }, full: { each: 300 } },
  server: (context, { each }) =>
    withServer(context, async (server) => {
      const talks = await Promise.all(
        Array.from({ length: SESSIONS }, async () => {
          const session = await createSession(server, context.directory);
          const path = `/v1/sessions/${session}/events/stream?after_seq=0`;
          const stream = await Stream.open(server, path);
          return async () => {
            const over = stream.next(endsTurn);
            await sendTurn(server, session, 'words 10');
            await over;
          };
        }),
      );
      return measure(talks, each, () => cpuMilliseconds(server.pid));
    }),
  async bare(directory, { each }) {
    const first = await DurableAgent.start(directory);
    const others = Array.from({ length: SESSIONS - 1 }, () => first.another());
    const agents = [first, ...(await Promise.all(others))];
    const talks = agents.map((agent) => () => agent.prompt('words 10', () => undefined));
    const measures = await measure(talks, each, ownCpu);
    await Promise.all(agents.map((agent) => agent.end()));
    return measures;
  },
});

async function measure(
  talks: readonly (() => Promise<void>)[],
  each: number,
  cpu: () => number,
): Promise<Measures> {
  const run = (count: number) =>
    Promise.all(
      talks.map(async (talk) => {
        for (let n = 0; n < count; n++) await talk();
      }),
    );
  await run(Math.ceil(each / 4));
  const before = cpu();
  const started = performance.now();
  await run(each);
  const count = talks.length * each;
  return {
    turns: count / ((performance.now() - started) / 1000),
    'CPU of a turn': (cpu() - before) / count,
  };
}
