import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import { identify, isAlive } from '../../../../src/core/children/identity.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { testRuntime } from '../../../support/runtime.ts';
import { testDirectory } from '../../../support/temp.ts';
import { openSession, runTurn } from '../../../support/turns.ts';
import { SHELL_AGENT } from './shell-agent.ts';

it('A close also ends processes of the agent that have left its group.', async () => {
  const directory = testDirectory('escaped');
  const agent = path.join(directory, 'agent.mjs');
  fs.writeFileSync(agent, SHELL_AGENT);
  const acp = { command: process.execPath, args: [agent] };
  const { client } = await testRuntime({ directory, config: { providers: { acp } } });
  const { id: session_id } = await openSession(client, directory);
  const escape = 'setsid sleep 300 </dev/null >/dev/null 2>&1 & echo $!';
  const { turn } = await runTurn(client, session_id, escape);
  const escaped = identify(Number(turn.text));
  if (!escaped) throw new Error(`no process ${turn.text}`);
  expect(isAlive(escaped)).toBe(true);
  await client.call(endpoints.closeSession, { params: { session_id }, body: {} });
  await expectEventually(() => isAlive(escaped)).toBe(false);
});
