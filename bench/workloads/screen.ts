import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ask } from '../client/http.ts';
import { Terminal } from '../client/terminal.ts';
import { median, quantile } from '../report/statistics.ts';
import { withServer } from '../subject.ts';
import { type Measures, workload } from '../workload.ts';

const ECHO = [process.execPath, path.join(import.meta.dirname, '../baselines/key-echo.mjs')];
const AT_ONCE = 16;
/** The mark of the selected row, which each of the keys moves. */
const SELECTED = '▌';
const APART_MS = 60;

interface Size {
  sessions: number;
  keys: number;
}

/** Measures the time from a key to the frame that answers it. */
export const screen = workload<Size>({
  about:
    'the time from the start of the screen to its first list of 5,000 sessions, and from a key that moves the selection to its frame in the terminal. The baseline is a program in a terminal that writes a mark for each key',
  needs: 'program',
  units: { 'first list': 'ms', 'key to frame, median': 'ms', 'key to frame, p95': 'ms' },
  sizes: { short: { sessions: 5000, keys: 100 }, full: { sessions: 5000, keys: 500 } },
  async prepare(context, { sessions }) {
    await withServer(context, async (server) => {
      const body = { provider: 'acp', cwd: context.directory };
      let made = 0;
      await Promise.all(
        Array.from({ length: AT_ONCE }, async () => {
          while (made < sessions)
            await ask(server, 'POST', '/v1/sessions', { ...body, title: `session ${++made}` });
        }),
      );
    });
  },
  server: (context, { keys }) =>
    withServer(context, (server) => {
      const env = { HOME: context.directory, CADRE_URL: server.url, CADRE_TOKEN: server.token };
      return measure(
        [...(context.subject.program ?? []), 'top'],
        env,
        context.directory,
        keys,
        'session ',
      );
    }),
  bare: (directory, { keys }) => measure(ECHO, {}, directory, keys, 'ready'),
});

async function measure(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  cwd: string,
  keys: number,
  first: string,
): Promise<Measures> {
  const started = performance.now();
  const terminal = new Terminal(words, env, cwd);
  const shown = await terminal.until(first);
  // The start draws more frames, which do not answer a key.
  await pause(2000);
  const times: number[] = [];
  for (let n = 0; n < keys; n++) {
    const typed = performance.now();
    // Down, and up again: the frames are of one kind, and the list does not scroll.
    times.push((await terminal.until(SELECTED, n % 2 === 0 ? 'j' : 'k')) - typed);
    await pause(APART_MS);
  }
  await terminal.end();
  return {
    'first list': shown - started,
    'key to frame, median': median(times),
    'key to frame, p95': quantile(times, 0.95),
  };
}
