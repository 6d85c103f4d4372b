import { expect, test } from 'vitest';
import { testDemo } from '../../support/demo-server.ts';
import { endpoints } from '../../../src/api/index.ts';
import { openSession } from '../../support/turns.ts';
import { cadreOn } from '../../support/cli/cadre.ts';

test('cadre top is one document with the server, open sessions, approvals and running processes.', async () => {
  const { given: server, client, directory } = await testDemo();
  const { id } = await openSession(client, directory, { title: 'the job' });
  const closed = await openSession(client, directory);
  await client.call(endpoints.closeSession, { params: { session_id: closed.id }, body: {} });
  const { process } = await client.call(endpoints.createProcess, {
    body: { command: 'sleep 60' },
  });
  const json = await cadreOn(server)(['--json', 'top']);
  expect(json.code).toBe(0);
  expect(json.json()).toMatchObject({
    url: server.url,
    server: { health: { status: 'ok' } },
    sessions: [{ id, title: 'the job' }],
    approvals: [],
    processes: [{ process_id: process.process_id }],
  });
  const { stdout } = await cadreOn(server)(['top']);
  expect(stdout).toMatch(/^server +http/);
  expect(stdout).toMatch(new RegExp(`${id.slice(-8)} +acp +ready +\\d+s +\\d+s +the job`));
  expect(stdout).toMatch(/sleep 60/);
});
