import fs from 'node:fs';
import path from 'node:path';
import { stringify } from 'smol-toml';
import { expect, it, vi } from 'vitest';
import type { Approval } from '../../../../src/api/approvals.ts';
import { endpoints } from '../../../../src/api/index.ts';
import type { Session, Turn } from '../../../../src/api/sessions.ts';
import { settle } from '../../../support/settle.ts';
import { withInProcessDemoAgent } from '../../../support/demo-agent/in-process.ts';
import { startServer, type TestServer, untilNothingCarries } from '../../../support/server.ts';
import { shared } from '../../../support/shared.ts';
import { tempDirectory } from '../../../support/temp.ts';
import { openSession, send } from '../../../support/turns.ts';
import { Watch } from '../../../support/providers/watch.ts';
import { kinds } from '../../../support/sessions/harness.ts';
import type { UntypedEvent } from '../../../support/untyped-events.ts';
import { scaled } from '../../../support/patience.ts';

// Before the tests of the killed server two servers are started.
vi.setConfig({ hookTimeout: scaled(30_000) });

/** A session with a pending approval, and the server that started after the kill. */
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

/** A session whose agent asks. */
type Asking = Pick<After, 'session' | 'approval' | 'before'>;

/** A real server whose agents ask in so many sessions, ended by a signal while they wait, and started again. */
async function whileTheyWait(
  signal: 'SIGKILL' | 'SIGTERM',
  sessions: number,
  test: (after: After[]) => Promise<void>,
): Promise<void> {
  await using directory = tempDirectory('killed');
  await withInProcessDemoAgent(directory.path, async (acp) => {
    const config = stringify({ providers: { acp } });
    const first = await startServer(directory.path, { config });
    const watchFirst = new Watch(first.client);
    const asking: Asking[] = [];
    while (asking.length < sessions) asking.push(await ask(first, watchFirst));
    const asked = watchFirst.events.at(-1)?.seq ?? 0;
    await watchFirst.stop();
    await first.end(signal);

    const server = await startServer(directory.path, { config });
    const watch = new Watch(server.client);
    const { seq: started } = await watch.until(
      'recovery',
      ({ kind, seq }) => kind === 'runtime.recovered' && seq > asked,
    );
    try {
      await test(asking.map((one) => afterOf(one, server, watch, started)));
    } finally {
      await watch.stop();
      await server.end('SIGKILL');
      await untilNothingCarries(directory.path);
    }
  });
}

async function ask({ client, directory }: TestServer, watch: Watch): Promise<Asking> {
  const session = await openSession(client, directory, { permission_mode: 'require_approval' });
  const script = 'say I want to write; ask write the file; say never said';
  const { turn_id } = await send(client, session.id, script);
  const asked = await watch.until(
    'request',
    ({ kind, session_id }) => kind === 'approval.requested' && session_id === session.id,
  );
  const params = { session_id: session.id, turn_id };
  const before = await client.call(endpoints.getTurn, { params });
  return { session, approval: asked.payload.approval as Approval, before };
}

function afterOf(asking: Asking, server: TestServer, watch: Watch, started: number): After {
  const { session, approval, before } = asking;
  const { client } = server;
  const params = { session_id: session.id, turn_id: before.turn_id };
  return {
    ...asking,
    server,
    watch,
    news: () =>
      settle(
        watch.events.filter(({ seq, session_id }) => seq > started && session_id === session.id),
      ),
    turn: () => client.call(endpoints.getTurn, { params }),
    sessionNow: () => client.call(endpoints.getSession, { params }),
    decide: (decision) =>
      client.call(endpoints.decideApproval, {
        params: { session_id: session.id, approval_id: approval.id },
        body: { decision },
      }),
  };
}

// The tests are in this order: the first sees all of them pending, and until the last no agent is started.
const all = shared<After[]>('server', (use) => whileTheyWait('SIGKILL', 5, use));
/** Returns the session of one test. */
const at = (index: number) => all()[index] ?? expect.unreachable();

it('A pending approval is kept with its turn and its session, and the summary lists it.', async () => {
  const { server, turn, before, sessionNow } = at(0);
  const approvals = all().map(({ approval }) => approval);
  expect(await server.client.call(endpoints.listApprovals, {})).toEqual(approvals.toReversed());
  expect(await turn()).toMatchObject({ ...before, provider_turn_ref: null });
  expect((await sessionNow()).status).toBe('waiting_for_approval');
  const recovery = await server.client.call(endpoints.getRecovery, {});
  expect(recovery).toMatchObject({
    previous_stop: 'unclean',
    turns_failed: [],
    sessions_failed: [],
  });
  expect(recovery.approvals_kept.toSorted()).toEqual(approvals.map(({ id }) => id).toSorted());
});

it('Declining a kept approval interrupts its turn, and nothing is started.', async () => {
  const after = at(1);
  expect(await after.decide('decline')).toMatchObject({ status: 'declined' });
  await after.watch.end(after.before.turn_id);
  expect(kinds(after.news())).toEqual(['approval.resolved', 'turn.interrupted']);
  expect((await after.turn()).status).toBe('interrupted');
  expect((await after.sessionNow()).status).toBe('ready');
  expect(await promptsOf(after)).toHaveLength(1);
  const [provider] = await after.server.client.call(endpoints.getProviderDiagnostics, {});
  expect(provider?.sessions).toBe(0);
});

it('A kept approval is cancelled when its turn is interrupted.', async () => {
  const after = at(2);
  const params = { session_id: after.session.id, turn_id: after.before.turn_id };
  const turn = await after.server.client.call(endpoints.interruptTurn, { params, body: {} });
  expect(turn.status).toBe('interrupted');
  await after.watch.end(after.before.turn_id);
  expect(kinds(after.news())).toEqual([
    'turn.interrupt_requested',
    'approval.resolved',
    'turn.interrupted',
  ]);
  expect((await after.sessionNow()).status).toBe('ready');
  await expect(after.decide('accept')).rejects.toMatchObject({ code: 'approval_resolved' });
});

it('A kept approval is cancelled when its session is closed.', async () => {
  const after = at(3);
  const params = { session_id: after.session.id };
  await after.server.client.call(endpoints.closeSession, { params, body: {} });
  await after.watch.until(
    'close',
    ({ kind, session_id }) => kind === 'session.closed' && session_id === after.session.id,
  );
  expect(kinds(after.news())).toEqual(['approval.resolved', 'turn.interrupted', 'session.closed']);
  expect((await after.turn()).status).toBe('interrupted');
});

// This test is the last one, because it starts an agent.
it('Accepting a kept approval resumes its session and prompts the agent once, in the same turn.', async () => {
  const after = at(4);
  const { approval, before, watch } = after;
  expect(await after.decide('accept')).toMatchObject({ status: 'accepted' });
  const ended = await watch.end(before.turn_id);
  expect(ended.kind).toBe('turn.completed');
  expect(kinds(after.news())).toEqual([
    'approval.resolved',
    'turn.started',
    // The agent reports usage during the turn and with its answer.
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
  const [, prompt = '', ...others] = await promptsOf(after);
  const [sentence = '', title, request = ''] = prompt.split(/\n+/);
  expect(sentence).toBe('The request below was approved while you were not running. Continue.');
  expect(title).toBe(approval.title);
  expect(JSON.parse(request)).toEqual(approval.request);
  expect(others).toEqual([]);
});

it(
  'A pending approval is kept across an orderly stop, with its turn and its session.',
  { timeout: scaled(30_000) },
  () =>
    whileTheyWait('SIGTERM', 1, async (all) => {
      const { server, approval, turn, before, sessionNow } = all[0] ?? expect.unreachable();
      expect(await server.client.call(endpoints.listApprovals, {})).toEqual([approval]);
      expect(await turn()).toMatchObject({ ...before, provider_turn_ref: null });
      expect((await sessionNow()).status).toBe('waiting_for_approval');
      const recovery = await server.client.call(endpoints.getRecovery, {});
      expect(recovery).toMatchObject({ previous_stop: 'clean', approvals_kept: [approval.id] });
    }),
);

/** The prompts that the demo agent remembers of a session. */
async function promptsOf({ server, sessionNow }: After): Promise<string[]> {
  const { provider_session_ref: ref } = await sessionNow();
  const directory = path.join(server.directory, 'demo-agent');
  const file = fs
    .readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .find((name) => name.endsWith(`${ref}.json`));
  const history = JSON.parse(fs.readFileSync(path.join(directory, file ?? ''), 'utf8')) as {
    turns: { prompt: string }[];
  };
  return history.turns.map(({ prompt }) => prompt);
}
