import { DurableAgent } from '../baselines/durable-agent.ts';
import { createSession, sendTurn } from '../client/http.ts';
import { endsTurn, Stream } from '../client/stream.ts';
import { median } from '../report/statistics.ts';
import { withServer } from '../subject.ts';
import { type Measures, workload } from '../workload.ts';

const APART_MS = 20;

/** On the clock that all processes share. */
const now = () => Number(process.hrtime.bigint()) / 1e6;

/** One turn as the client saw it. */
interface Turn {
  sent: number;
  /** Each word: when the agent had received the prompt, when it wrote the word, and when the client had it. */
  words: { received: number; written: number; seen: number }[];
  ended: number;
}

interface Talk {
  create(): Promise<unknown>;
  turn(text: string): Promise<Turn>;
}

/** Waits of one client: for a session, a turn, its first word, and each later word. */
export const turn = workload({
  about: `the time in which one client creates a session, and completes turns with one word and with ten words. The baseline runs the same agent on pipes, and writes the prompt and the words to a file on disk. The second baseline is a minimal HTTP server that does the same`,
  needs: 'server',
  servers: ['bare-server'],
  units: {
    'create a session': 'ms',
    'turn of one word': 'ms',
    'from the request to the agent': 'ms',
    "from the word to the turn's end": 'ms',
    'turn of ten words': 'ms',
    'first word of ten': 'ms',
    [`word ${APART_MS} ms after another`]: 'ms',
  },
  sizes: { short: { turns: 50 }, full: { turns: 200 } },
  server: (context, { turns }) =>
    withServer(context, async (server) => {
      const create = () => createSession(server, context.directory);
      const session = await create();
      let words: Turn['words'] = [];
      const path = `/v1/sessions/${session}/events/stream?after_seq=0`;
      const stream = await Stream.open(server, path, ({ data }) => note(words, data));
      const measures = await measure(turns, {
        create,
        async turn(text) {
          words = [];
          const over = stream.next(endsTurn);
          const sent = now();
          await sendTurn(server, session, text);
          await over;
          return { sent, words, ended: now() };
        },
      });
      stream.close();
      return measures;
    }),
  async bare(directory, { turns }) {
    const agent = await DurableAgent.start(directory);
    const measures = await measure(turns, {
      create: () => agent.createSession(),
      async turn(text) {
        const words: Turn['words'] = [];
        const sent = now();
        await agent.prompt(text, (word) => note(words, word));
        return { sent, words, ended: now() };
      },
    });
    await agent.end();
    return measures;
  },
});

/** Notes the words in a text that have not been seen before. */
function note(words: Turn['words'], text: string): void {
  const seen = now();
  for (const [, r, a] of text.matchAll(/r=([\d.]+) a=([\d.]+)/g)) {
    const word = { received: Number(r), written: Number(a), seen };
    if (!words.some(({ written }) => written === word.written)) words.push(word);
  }
}

async function measure(count: number, talk: Talk): Promise<Measures> {
  await repeat(count, () => talk.turn('words 10'));
  const created = await repeat(count, async () => {
    const asked = now();
    await talk.create();
    return now() - asked;
  });
  const one = await repeat(count, () => talk.turn('words 1'));
  const ten = await repeat(count, () => talk.turn('words 10'));
  const late = await repeat(count, () => talk.turn(`late ${APART_MS}`));
  return {
    'create a session': median(created),
    'turn of one word': medianOf(one, ({ sent, ended }) => ended - sent),
    'from the request to the agent': medianOf(
      one,
      ({ sent, words }) => first(words).received - sent,
    ),
    "from the word to the turn's end": medianOf(
      one,
      ({ words, ended }) => ended - last(words).written,
    ),
    'turn of ten words': medianOf(ten, ({ sent, ended }) => ended - sent),
    'first word of ten': medianOf(ten, ({ sent, words }) => first(words).seen - sent),
    [`word ${APART_MS} ms after another`]: medianOf(
      late,
      ({ words }) => last(words).seen - last(words).written,
    ),
  };
}

async function repeat<T>(count: number, run: () => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let n = 0; n < count; n++) results.push(await run());
  return results;
}

function medianOf(turns: readonly Turn[], of: (one: Turn) => number): number {
  return median(turns.map(of));
}

function first(words: Turn['words']) {
  const [word] = words;
  if (!word) throw new Error('no event of the turn had its words');
  return word;
}

function last(words: Turn['words']) {
  return words.at(-1) ?? first(words);
}
