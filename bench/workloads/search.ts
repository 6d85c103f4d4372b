import fs from 'node:fs';
import path from 'node:path';
import { ask, createSession, sendTurn } from '../client/http.ts';
import { cpuMilliseconds, ownCpu } from '../client/process.ts';
import { endsTurn, Stream } from '../client/stream.ts';
import { median } from '../report/statistics.ts';
import { dataOf, type Server, withServer } from '../subject.ts';
import { type Measures, workload } from '../workload.ts';

const QUERIES = {
  'a rare word': 'rare7',
  'a common word': 'words',
  'two words': 'common rare7',
  'a phrase': '"common rare7"',
  'a prefix': 'rar*',
};
const ASKED = 15;

/** Turns before anybody has searched and after that, and searches. */
export const search = workload({
  about:
    'the time of turns with ten words, without and with a search index, and the time of searches in the texts of these turns. The baseline writes prompts to a file, and reads the whole file for each search',
  needs: 'process',
  units: {
    'CPU of a turn': 'ms',
    'CPU of a turn, indexed': 'ms',
    ...Object.fromEntries(Object.keys(QUERIES).map((name) => [name, 'ms'])),
  },
  sizes: { short: { turns: 150 }, full: { turns: 5000 } },
  server: (context, { turns }) =>
    withServer(context, async (server) => {
      const session = await createSession(server, context.directory);
      const stream = await Stream.open(server, `/v1/sessions/${session}/events/stream?after_seq=0`);
      const talk = async () => {
        const over = stream.next(endsTurn);
        await sendTurn(server, session, 'words 10 common rare7');
        await over;
      };
      const cpu = () => cpuMilliseconds(server.pid);
      // Both sides are measured once the server is warm, or the second one would only look better.
      await cpuOf(talk, 3 * turns, cpu);
      const without = await cpuOf(talk, turns, cpu);
      await find(server, 'anything');
      while ((await ask<{ state: string }>(server, 'GET', '/v1/search/index')).state !== 'ready')
        await find(server, 'anything');
      return {
        'CPU of a turn': without,
        'CPU of a turn, indexed': await cpuOf(talk, turns, cpu),
        ...(await times((query) => find(server, query))),
      };
    }),
  async bare(directory, { turns }) {
    fs.mkdirSync(dataOf(directory), { recursive: true });
    const file = path.join(dataOf(directory), 'said');
    const fd = fs.openSync(file, 'a');
    const talk = async () => {
      fs.writeSync(fd, 'words 10 common rare7\n');
      fs.fdatasyncSync(fd);
    };
    const measures = {
      'CPU of a turn': await cpuOf(talk, turns, ownCpu),
      'CPU of a turn, indexed': await cpuOf(talk, turns, ownCpu),
      ...(await times(async (query) => {
        const words = query.replaceAll(/["*]/g, '').split(' ');
        const lines = fs.readFileSync(file, 'utf8').split('\n');
        return lines.filter((line) => words.every((word) => line.includes(word))).slice(-20);
      })),
    };
    fs.closeSync(fd);
    return measures;
  },
});

/** The CPU time of one of `count` turns, in milliseconds. */
async function cpuOf(talk: () => Promise<void>, count: number, cpu: () => number): Promise<number> {
  const before = cpu();
  for (let n = 0; n < count; n++) await talk();
  return (cpu() - before) / count;
}

async function times(run: (query: string) => Promise<unknown>): Promise<Measures> {
  const measures: Measures = {};
  for (const [name, query] of Object.entries(QUERIES)) {
    const took: number[] = [];
    for (let n = 0; n < ASKED; n++) {
      const asked = performance.now();
      await run(query);
      took.push(performance.now() - asked);
    }
    measures[name] = median(took);
  }
  return measures;
}

function find(server: Server, query: string): Promise<unknown> {
  return ask(server, 'GET', `/v1/search?${new URLSearchParams({ q: query }).toString()}`);
}
