import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Approval } from '../../src/api/approvals.ts';
import { endpoints } from '../../src/api/index.ts';
import type { Session, Turn } from '../../src/api/sessions.ts';
import { settle } from '../../src/client/settle.ts';
import { startServer, type TestServer, untilNothingCarries } from '../support/server.ts';
import { tempDirectory } from '../support/temp.ts';
import { openSession, send } from '../support/turns.ts';
import { endOf, kinds, Watch } from '../support/sessions/stage.ts';
import type { UntypedEvent } from '../support/untyped-events.ts';
import { scaled } from '../support/patience.ts';

/** What is pending when the server ends, and the server that comes after it. */
interface After {
  server: TestServer;
  watch: Watch;
  session: Session;
  approval: Approval;
  before: Turn;
  /** The session's events since the new start, without the deltas of closed items. */
  news: () => UntypedEvent[];
  turn: () => Promise<Turn>;
  sessionNow: () => Promise<Session>;
  decide: (decision: 'accept' | 'decline') => Promise<Approval>;
}

/** A real server whose agent asks, ended by a signal while it waits, and started again. */
async function whileItWaits(
  signal: 'SIGKILL' | 'SIGTERM',
  test: (after: After) => Promise<void>,
): Promise<void> {
  await using directory = tempDirectory('killed');
  const first = await startServer(directory.path);
  const watchFirst = new Watch(first);
  const more = { permission_mode: 'require_approval' };
  const session = await openSession(first.client, directory.path, more);
  const script = 'say I want to write; ask write the file; say never said';
  const { turn_id } = await send(first.client, session.id, script);
  const asked = await watchFirst.until(({ kind }) => kind === 'approval.requested');
  const params = { session_id: session.id, turn_id };
  const before = await first.client.call(endpoints.getTurn, { params });
  await watchFirst.end();
  await first.end(signal);

  const server = await startServer(directory.path);
  const watch = new Watch(server);
  const { seq: started } = await watch.until(
    ({ kind, seq }) => kind === 'runtime.recovered' && seq > asked.seq,
  );
  const approval = asked.payload.approval as Approval;
  try {
    await test({
      server,
      watch,
      session,
      approval,
      before,
      news: () =>
        settle(
          watch.events.filter(({ seq, session_id }) => seq > started && session_id === session.id),
        ),
      turn: () => server.client.call(endpoints.getTurn, { params }),
      sessionNow: () =>
        server.client.call(endpoints.getSession, { params: { session_id: session.id } }),
      decide: (decision) =>
        server.client.call(endpoints.decideApproval, {
          params: { session_id: session.id, approval_id: approval.id },
          body: { decision },
        }),
    });
  } finally {
    await watch.end();
    await server.end('SIGKILL');
    await untilNothingCarries(directory.path);
  }
}

describe(
  'an approval that is pending when the server is killed',
  { timeout: scaled(30_000) },
  () => {
    it('is kept with its turn and its session, and told in the summary', () =>
      whileItWaits('SIGKILL', async ({ server, approval, turn, before, sessionNow }) => {
        expect(await server.client.call(endpoints.listApprovals, {})).toEqual([approval]);
        expect(await turn()).toMatchObject({ ...before, provider_turn_ref: null });
        expect((await sessionNow()).status).toBe('waiting_for_approval');
        const recovery = await server.client.call(endpoints.getRecovery, {});
        expect(recovery).toMatchObject({
          previous_stop: 'unclean',
          approvals_kept: [approval.id],
          turns_failed: [],
          sessions_failed: [],
        });
      }));

    it('and accepted then: its session is resumed and prompted once, in the same turn', () =>
      whileItWaits('SIGKILL', async (after) => {
        const { approval, before, watch } = after;
        expect(await after.decide('accept')).toMatchObject({ status: 'accepted' });
        const ended = await watch.until(endOf(before.turn_id));
        expect(ended.kind).toBe('turn.completed');
        expect(kinds(after.news())).toEqual([
          'approval.resolved',
          'turn.started',
          // What the agent reports while it works, and what its answer adds.
          'usage.updated',
          'usage.updated',
          'message.completed',
          'turn.completed',
        ]);
        const turn = await after.turn();
        expect(turn).toMatchObject({ turn_id: before.turn_id, status: 'completed' });
        expect(turn.provider_turn_ref).not.toBe(before.provider_turn_ref);
        expect(turn.provider_turn_ref).not.toBeNull();
        expect((await after.sessionNow()).status).toBe('ready');
        const [, prompt = ''] = promptsOf(after.server);
        const [sentence = '', title, request = ''] = prompt.split(/\n+/);
        expect(sentence).toBe('The request below was approved while you were away; go on.');
        expect(title).toBe(approval.title);
        expect(JSON.parse(request)).toEqual(approval.request);
        expect(promptsOf(after.server)).toHaveLength(2);
      }));

    it('and declined then: its turn is interrupted, and nothing is started', () =>
      whileItWaits('SIGKILL', async (after) => {
        expect(await after.decide('decline')).toMatchObject({ status: 'declined' });
        await after.watch.until(endOf(after.before.turn_id));
        expect(kinds(after.news())).toEqual(['approval.resolved', 'turn.interrupted']);
        expect((await after.turn()).status).toBe('interrupted');
        expect((await after.sessionNow()).status).toBe('ready');
        expect(promptsOf(after.server)).toHaveLength(1);
        const [provider] = await after.server.client.call(endpoints.getProviderDiagnostics, {});
        expect(provider?.sessions).toBe(0);
      }));

    it('is cancelled when its turn is interrupted', () =>
      whileItWaits('SIGKILL', async (after) => {
        const params = { session_id: after.session.id, turn_id: after.before.turn_id };
        const turn = await after.server.client.call(endpoints.interruptTurn, { params, body: {} });
        expect(turn.status).toBe('interrupted');
        await after.watch.until(endOf(after.before.turn_id));
        expect(kinds(after.news())).toEqual([
          'turn.interrupt_requested',
          'approval.resolved',
          'turn.interrupted',
        ]);
        expect((await after.sessionNow()).status).toBe('ready');
        await expect(after.decide('accept')).rejects.toMatchObject({ code: 'approval_resolved' });
      }));

    it('is cancelled when its session is closed', () =>
      whileItWaits('SIGKILL', async (after) => {
        const params = { session_id: after.session.id };
        await after.server.client.call(endpoints.closeSession, { params, body: {} });
        await after.watch.until(({ kind }) => kind === 'session.closed');
        expect(kinds(after.news())).toEqual([
          'approval.resolved',
          'turn.interrupted',
          'session.closed',
        ]);
        expect((await after.turn()).status).toBe('interrupted');
      }));
  },
);

describe('an approval that is pending when the server is stopped in order', () => {
  it('is left for the next start, with its turn and its session', { timeout: scaled(30_000) }, () =>
    whileItWaits('SIGTERM', async ({ server, approval, turn, before, sessionNow }) => {
      expect(await server.client.call(endpoints.listApprovals, {})).toEqual([approval]);
      expect(await turn()).toMatchObject({ ...before, provider_turn_ref: null });
      expect((await sessionNow()).status).toBe('waiting_for_approval');
      const recovery = await server.client.call(endpoints.getRecovery, {});
      expect(recovery).toMatchObject({ previous_stop: 'clean', approvals_kept: [approval.id] });
    }),
  );
});

/** The prompts that the demo agent remembers of the one session it had. */
function promptsOf(server: TestServer): string[] {
  const directory = path.join(server.directory, 'demo-agent');
  const file = fs
    .readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .find((name) => name.endsWith('.json'));
  const history = JSON.parse(fs.readFileSync(path.join(directory, file ?? ''), 'utf8')) as {
    turns: { prompt: string }[];
  };
  return history.turns.map(({ prompt }) => prompt);
}
