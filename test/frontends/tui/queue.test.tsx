import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import type { Client } from '../../../src/client/client.ts';
import { testDemo } from '../../support/demo-server.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { keys, testScreen } from './test-screen.tsx';
import { openSession, send } from '../../support/turns.ts';

const start = { page: 'top' } as const;

/** Opens a session with a running turn and queued prompts. */
async function busyWith(client: Client, directory: string, texts: readonly string[]) {
  const { id } = await openSession(client, directory, { title: 'the job' });
  await send(client, id, 'silent');
  const entries: string[] = [];
  for (const text of texts) {
    const body = { input: { type: 'text' as const, text } };
    const added = await client.call(endpoints.addToQueue, { params: { session_id: id }, body });
    entries.push(added.id);
  }
  const said = async () => {
    const queue = await client.call(endpoints.getSessionQueue, { params: { session_id: id } });
    return queue.entries.map(({ input: [first] }) => (first as { text: string }).text);
  };
  const drop = (entry_id: string) =>
    client.call(endpoints.dropQueueEntry, { params: { entry_id } });
  return { entries, said, drop };
}

test('The queue of a session is moved, paused, changed and dropped with keys.', async () => {
  const { client, directory } = await testDemo();
  const { said } = await busyWith(client, directory, ['one', 'two', 'three']);
  const { expectShows, press } = testScreen(client, start);
  await expectShows(/◐ +the job/);
  await press('w').shows('Queue: 3 entries');
  await press('J');
  await expectEventually(said).toEqual(['two', 'one', 'three']);
  await expectShows(/two\n.*▌.*one/);
  await press('J');
  await expectEventually(said).toEqual(['two', 'three', 'one']);
  await expectShows(/three\n.*▌.*one/);
  await press('p').shows(/▌.*paused +one/);
  await press('p').hides('paused');
  await press('e', ' more', keys.enter);
  await expectEventually(said).toEqual(['two', 'three', 'one more']);
  await expectShows(/▌.*one more/);
  await press('x').shows('Drop "one more" from the queue?  y yes  n no');
  await press('y');
  await expectEventually(said).toEqual(['two', 'three']);
  await expectShows('Queue: 2 entries');
});

test('A question about an entry keeps its entry when the queue changes.', async () => {
  const { client, directory } = await testDemo();
  const { entries, said, drop } = await busyWith(client, directory, [
    'one',
    'two',
    'three',
    'four',
  ]);
  const { expectShows, press } = testScreen(client, start);
  await expectShows(/◐ +the job/);
  await press('w').shows('Queue: 4 entries');
  await press('j').shows(/▌.*two/);
  await press('x');
  await drop(entries[0] ?? '');
  await expectShows('Queue: 3 entries');
  await press('y');
  await expectEventually(said).toEqual(['three', 'four']);
  await expectShows(/▌.*four/);
  await press('e');
  await drop(entries[2] ?? '');
  await expectShows('Queue: 1 entry');
  await press('!', keys.enter);
  await expectEventually(said).toEqual(['four!']);
});

test('Enter in the composer while a turn runs offers to queue the prompt: y queues it, another key keeps the draft.', async () => {
  const { client, directory } = await testDemo();
  const { said } = await busyWith(client, directory, []);
  const { expectShows, press } = testScreen(client, start);
  await expectShows(/◐ +the job/);
  await press('i', 'say more', keys.enter).shows('A turn is running. Queue the prompt?  y yes');
  await press('n').hides('Queue the prompt?');
  expect(await said()).toEqual([]);
  await press('i').shows('> say more');
  await press(keys.enter).shows('Queue the prompt?');
  await press('y');
  await expectEventually(said).toEqual(['say more']);
  await expectShows('Queued: sent when the turn ends');
  await press('i').hides('> say more');
});
