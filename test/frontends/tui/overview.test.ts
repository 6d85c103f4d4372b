import { expect, test } from 'vitest';
import type { RuntimeEventRecord } from '../../../src/api/events.ts';
import { emptyOverview, type Overview } from '../../../src/frontends/tui/overview.ts';
import { withEvent } from '../../../src/frontends/tui/overview-events.ts';
import { event } from '../../support/tui/events.ts';

const session = (id: string, more = {}) => ({
  id,
  provider: 'acp',
  title: id,
  cwd: '/',
  status: 'ready',
  active_turn_id: null,
  news_seq: 0,
  seen_seq: 0,
  updated_at: 1,
  ...more,
});
const created = (id: string) =>
  event(1, 'session.created', { session: session(id) }, { session_id: id });
const turn = (status: string, session_id = 'sess_1') =>
  event(5, `turn.${status}`, { turn: { status, accepted_at: 900 } }, { session_id });
const asked = (id: string, session_id = 'sess_1') =>
  event(6, 'approval.requested', { approval: { id, session_id, title: 'rm', status: 'pending' } });
const resolved = (id: string, session_id = 'sess_1') =>
  event(7, 'approval.resolved', {
    approval: { id, session_id, title: 'rm', status: 'declined', decided_by: 'api', reason: null },
  });
const after = (...events: RuntimeEventRecord[]) => events.reduce(withEvent, emptyOverview);
const first = (overview: Overview) => overview.sessions.get('sess_1');

test('The events of turns and approvals determine the status of a session.', () => {
  const running = after(created('sess_1'), turn('accepted'));
  expect(first(running)).toMatchObject({ session: { status: 'running' }, since: 900 });
  const waiting = [asked('a'), asked('b')].reduce(withEvent, running);
  expect(first(waiting)?.session.status).toBe('waiting_for_approval');
  const one = withEvent(waiting, resolved('a'));
  expect(first(one)?.session.status).toBe('waiting_for_approval');
  const none = withEvent(one, resolved('b'));
  expect(first(none)?.session.status).toBe('running');
  expect(none).toMatchObject({ resolved: { id: 'b', decided_by: 'api' } });
  expect(none.approvals.size).toBe(0);
  expect(first(withEvent(none, turn('completed')))).toMatchObject({
    session: { status: 'ready', active_turn_id: null, news_seq: 5 },
    since: null,
  });
});

test('The work of a session is its last complete message, or its tool call.', () => {
  const said = after(
    created('sess_1'),
    turn('accepted'),
    event(3, 'message.completed', { item_id: 'm', status: 'completed', text: 'one\ntwo' }),
  );
  expect(first(said)?.doing).toBe('one two');
  const tool = (kind: string, status: string) =>
    event(4, kind, { item_id: 't', status, tool: { title: 'npm test' }, text: 'ok' });
  const begun = withEvent(said, tool('tool.started', 'pending'));
  expect(first(begun)?.doing).toBe('npm test');
  expect(first(withEvent(begun, tool('tool.completed', 'completed')))?.doing).toBe('npm test: ok');
});

test('The overview keeps closed sessions and ended processes, and ignores those that were never listed.', () => {
  const closed = event(9, 'session.closed', { session: { status: 'closed' } });
  expect(first(after(created('sess_1'), closed))?.session.status).toBe('closed');
  expect(after(closed, turn('completed')).sessions.size).toBe(0);
  const process = (status: string, more = {}) =>
    event(9, `process.${status}`, { process: { status, ...more } }, { process_id: 'proc_1' });
  const runs = after(
    process('queued', { command: 'ls' }),
    process('started', { status: 'running' }),
  );
  expect(runs.processes.get('proc_1')).toMatchObject({ command: 'ls', status: 'running' });
  const ended = withEvent(runs, process('completed', { status: 'completed' }));
  expect(ended.processes.get('proc_1')).toMatchObject({ command: 'ls', status: 'completed' });
  expect(after(process('completed')).processes.size).toBe(0);
});

test('The overview has the teams that were not deleted, and the branch of a worktree.', () => {
  const team = (kind: string, deleted_at: number | null) =>
    event(2, kind, { team: { id: 'team_1', name: 'shop', deleted_at } });
  const made = after(team('team.created', null));
  expect(made.teams.get('team_1')?.name).toBe('shop');
  expect(withEvent(made, team('team.deleted', 9)).teams.size).toBe(0);
  const worktree = { id: 'wt_1', repo_root: '/home/ada/shop', branch: 'cadre/fix' };
  const known = after(event(3, 'worktree.created', { worktree }));
  expect(known.worktrees.get('wt_1')?.branch).toBe('cadre/fix');
});
