import { describe, expect, test } from 'vitest';
import type { RuntimeEventRecord } from '../../src/api/events.ts';
import { byAttention, emptyOverview, type Overview, withEvent } from '../../src/tui/overview.ts';
import { choicesOf, linesAround, linesOf } from '../../src/tui/top-lines.ts';
import { delta, event } from '../support/tui/events.ts';

const session = (id: string, more = {}) => ({
  id,
  provider: 'acp',
  title: id,
  cwd: '/',
  status: 'ready',
  active_turn_id: null,
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

describe('the overview', () => {
  test('has the status of a session by the moves of its turns and approvals.', () => {
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
      session: { status: 'ready', active_turn_id: null },
      since: null,
    });
  });

  test('says what a session does: its words as they grow, each once, or its tool.', () => {
    const said = after(created('sess_1'), delta(2, 'm', 0, 'one '), delta(3, 'm', 4, 'two'));
    expect(first(withEvent(said, delta(3, 'm', 4, 'two')))?.doing?.text).toBe('one two');
    const tool = event(4, 'tool.completed', {
      item_id: 't',
      status: 'completed',
      tool: { title: 'npm test' },
    });
    expect(first(withEvent(said, tool))?.doing).toMatchObject({ isTool: true, text: 'npm test' });
  });

  test('forgets what is closed, has ended, or was never listed.', () => {
    const closed = event(9, 'session.closed', { session: { status: 'closed' } });
    expect(after(created('sess_1'), closed).sessions.size).toBe(0);
    expect(after(closed, turn('completed')).sessions.size).toBe(0);
    const process = (status: string, more = {}) =>
      event(9, `process.${status}`, { process: { status, ...more } }, { process_id: 'proc_1' });
    const runs = after(
      process('queued', { command: 'ls' }),
      process('started', { status: 'running' }),
    );
    expect(runs.processes.get('proc_1')).toMatchObject({ command: 'ls', status: 'running' });
    expect(withEvent(runs, process('completed')).processes.size).toBe(0);
    expect(after(process('completed')).processes.size).toBe(0);
  });

  test('lists who needs somebody first.', () => {
    const overview = after(
      ...['ready', 'works', 'asks'].map(created),
      turn('accepted', 'works'),
      turn('accepted', 'asks'),
      asked('apr', 'asks'),
    );
    expect(byAttention(overview).map(({ session }) => session.id)).toEqual([
      'asks',
      'works',
      'ready',
    ]);
    const lines = linesOf(overview);
    expect(choicesOf(lines).map(({ key }) => key)).toEqual(['apr', 'asks', 'works', 'ready']);
    expect(linesAround(lines, 'ready', 2)).toEqual(lines.slice(-2));
    expect(linesAround(lines, undefined, 3)).toEqual(lines.slice(0, 3));
  });
});
