import { expect, test } from 'vitest';
import type { RuntimeEventRecord } from '../../src/api/events.ts';
import { endpoints } from '../../src/api/index.ts';
import { EPOCH_KIND } from '../../src/fleet/mirrored.ts';
import { NodeView } from '../../src/fleet/node-view.ts';
import { sharedDemo } from '../support/demo-server.ts';
import { expectEventually } from '../support/expect-eventually.ts';
import { openSession, runTurn, send, withSession } from '../support/turns.ts';

const server = sharedDemo();

function take(view: NodeView, kind: string, text: string, at: number): void {
  const message = { streamSeq: at, node: 'n1', kind, epoch: 'e', seq: at, prev: 0, id: null, text };
  view.apply({ message, at });
}

function viewOf(events: readonly RuntimeEventRecord[]): NodeView {
  const view = new NodeView();
  for (const event of events) take(view, event.kind, JSON.stringify(event), event.seq);
  return view;
}

test('The view of a node is made from its events: sessions in every state, pending approvals, and processes.', async () => {
  const { client, directory, session: idle } = await withSession(server(), { title: 'idle' });
  await runTurn(client, idle.id, 'say hello');
  const closed = await openSession(client, directory, { title: 'closed' });
  await client.call(endpoints.closeSession, { params: { session_id: closed.id }, body: {} });
  const waiting = await openSession(client, directory, { permission_mode: 'require_approval' });
  await send(client, waiting.id, 'ask may I');
  const list = () => client.call(endpoints.listSessions, { query: {} });
  await expectEventually(async () => (await list()).map(({ status }) => status)).toContain(
    'waiting_for_approval',
  );
  await client.call(endpoints.createProcess, { body: { command: 'sleep 60', cwd: directory } });
  const processes = () => client.call(endpoints.listProcesses, { query: {} });
  await expectEventually(async () => (await processes())[0]?.status).toBe('running');
  const events = await client.call(endpoints.replayEvents, { query: {} });
  const view = viewOf(events);
  expect(view.known).toMatchObject({
    at: events.at(-1)?.seq,
    sessions: (await list()).map(({ id, title, status, cwd, last_words, active_turn_id }) => ({
      id,
      title,
      status,
      cwd,
      last_words,
      active_turn_id,
    })),
    approvals: [{ session_id: waiting.id, status: 'pending' }],
    processes: await processes(),
  });
  const mark = (after: number) =>
    JSON.stringify({ from: { epoch: 'e', seq: 1 }, to: { epoch: 'f', after } });
  take(view, EPOCH_KIND, mark(5), 99);
  expect(view.known?.sessions).toHaveLength(3);
  take(view, EPOCH_KIND, mark(0), 100);
  expect(view.known).toEqual({ at: 100, sessions: [], approvals: [], processes: [] });
});

test('The view of a node without events is empty.', () => {
  expect(new NodeView().known).toBeNull();
});
