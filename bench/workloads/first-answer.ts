import fs from 'node:fs';
import path from 'node:path';
import { PipedAgent } from '../baselines/piped-agent.ts';
import { Terminal } from '../client/terminal.ts';
import { median } from '../report/statistics.ts';
import { workload } from '../workload.ts';

const AGENT = path.join(import.meta.dirname, '../baselines/agent.ts');
/** The word that the agent says. */
const WORD = 'word r=';

/** Measures one command in a home where cadre has never run. */
export const firstAnswer = workload({
  about:
    'the time in which `cadre run` in an empty home starts a server, opens a session, and shows the first word of the agent. The baseline starts the same agent on pipes, until its first word',
  needs: 'program',
  units: { 'first answer': 'ms' },
  sizes: { short: { homes: 3 }, full: { homes: 10 } },
  async server({ subject, directory }, { homes }) {
    const words = subject.program ?? [];
    const times: number[] = [];
    for (let n = 0; n < homes; n++) {
      const home = fs.mkdtempSync(path.join(directory, 'home-'));
      const env = {
        HOME: home,
        CADRE_SERVER_BIND_ADDRESS: '127.0.0.1:0',
        CADRE_PROVIDERS_ACP_COMMAND: process.execPath,
        CADRE_PROVIDERS_ACP_ARGS: JSON.stringify([AGENT]),
      };
      const started = performance.now();
      const terminal = new Terminal([...words, 'run', 'words 1'], env, home);
      times.push((await terminal.until(WORD)) - started);
      await terminal.end();
      const stop = new Terminal([...words, 'stop', '--now'], env, home);
      await stop.until('Stopped the server');
      await stop.end();
    }
    return { 'first answer': median(times) };
  },
  async bare(_directory, { homes }) {
    const times: number[] = [];
    for (let n = 0; n < homes; n++) {
      const started = performance.now();
      const agent = await PipedAgent.start();
      const { promise, resolve } = Promise.withResolvers<number>();
      const over = agent.prompt('words 1', () => resolve(performance.now()));
      times.push((await promise) - started);
      await over;
      await agent.end();
    }
    return { 'first answer': median(times) };
  },
});
