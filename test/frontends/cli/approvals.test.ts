import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { sharedDemo } from '../../support/demo-server.ts';
import { isDescribed } from '../../../src/api/events.ts';
import { streamEvents } from '../../../src/client/stream.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import { cadreOn } from '../../support/cli/cadre.ts';
import { send, withSession } from '../../support/turns.ts';

const server = sharedDemo();

/** Runs a script of the demo agent, and resolves with the id of its approval. */
async function asked(script: string) {
  const { client, session } = await withSession(server(), { permission_mode: 'require_approval' });
  await send(client, session.id, script);
  for await (const event of streamEvents({ client, clock: systemClock, sessionId: session.id }))
    if (isDescribed(event) && event.kind === 'approval.requested') return event.payload.approval.id;
  throw new Error('the events have ended before it asked');
}

it('An approval shows every line of a file change.', async () => {
  const before = Array.from({ length: 300 }, (_, at) => `old ${at}`);
  const after = before.map((line) => line.replace('old', 'new'));
  writeFileSync(join(server().directory, 'notes.txt'), `${before.join('\n')}\n`);
  const id = await asked(`edit notes.txt => ${after.join('\\n')}`);
  const { stdout } = await cadreOn(server())(['approvals', 'show', id]);
  const lines = stdout.split('\n');
  expect(lines.filter((line) => line.startsWith('-old'))).toHaveLength(300);
  expect(lines.filter((line) => line.startsWith('+new'))).toHaveLength(300);
});

it('An approval shows large changes in full, and accept needs nothing more.', async () => {
  const cadre = cadreOn(server());
  const line = 'x'.repeat(1_100_000);
  writeFileSync(join(server().directory, 'big.txt'), `${line}\n`);
  const id = await asked('edit big.txt => y');
  const { stdout } = await cadre(['approvals', 'show', id]);
  expect(stdout.split('\n').filter((one) => one === `-${line}`)).toHaveLength(1);
  const { stderr, code } = await cadre(['approvals', 'accept', id]);
  expect([code, stderr]).toEqual([0, '']);
});

it('An approval is accepted once by default, and for the session with --scope session.', async () => {
  const cadre = cadreOn(server());
  const [once, always] = [await asked('ask one'), await asked('ask two')];
  expect(await cadre(['approvals', 'accept', once.slice(-8)])).toMatchObject({
    code: 0,
    stdout: 'accepted: one\n',
  });
  const scope = ['--scope', 'session'];
  expect(await cadre(['approvals', 'accept', always.slice(-8), ...scope])).toMatchObject({
    code: 0,
    stdout: 'accepted for the session: two\n',
  });
  const shown = await cadre(['approvals', 'show', always, '--json']);
  expect(shown.json()).toMatchObject({ status: 'accepted', scope: 'session' });
});
