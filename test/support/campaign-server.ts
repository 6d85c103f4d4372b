import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from '../../src/client/client.ts';
import { readToken } from '../../src/config/token.ts';
import { selfCommand } from '../../src/lib/self.ts';
import type { TestServer } from './server.ts';
import { asDataDirectory } from './temp.ts';

/** What `[providers.acp]` is to start. */
export interface AgentCommand {
  command: string;
  args: readonly string[];
}

/** As `startServer`, with an agent of the test's own instead of the demo agent. */
export async function startServerWithAgent(
  directory: string,
  agent: AgentCommand,
  env: Record<string, string> = {},
): Promise<TestServer> {
  asDataDirectory(directory);
  const config = path.join(directory, 'config.toml');
  // A JSON string, and an array of them, is TOML too.
  const values = Object.entries(agent).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`);
  const state = JSON.stringify(path.join(directory, 'demo-agent'));
  fs.writeFileSync(
    config,
    `[providers.acp]\n${values.join('')}env = { CADRE_DEMO_STATE = ${state} }\n`,
  );
  const { file, args } = selfCommand();
  const serve = ['--json', '--data-dir', directory, 'serve', '--port', '0', '--config', config];
  const child = spawn(file, [...args, ...serve], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH ?? '',
      TMPDIR: process.env.TMPDIR ?? '/tmp',
      HOME: directory,
      ...env,
    },
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  const exited = once(child, 'exit').then(([code, signal]) => ({
    code,
    signal,
  })) as TestServer['exited'];
  const lines = createInterface({ input: child.stdout });
  const [ready] = (await Promise.race([once(lines, 'line'), exited.then(() => [''])])) as [string];
  if (ready === '') throw new Error(`the server ended: ${JSON.stringify(await exited)}\n${log}`);
  const { url, token_file: tokenFile } = JSON.parse(ready) as { url: string; token_file: string };
  const token = readToken(tokenFile);
  const client = new Client({ url, token });
  return {
    url,
    token,
    pid: child.pid ?? 0,
    directory,
    client,
    log: () => log,
    exited,
    end(signal) {
      child.kill(signal);
      return exited.finally(() => client.close());
    },
  };
}
