// Stores the data that this version makes, for the tests of all later ones: `make release-data`, once for each release.
// They are made by a server with the demo agent that was killed, started again and stopped in order.
import fs from 'node:fs';
import path from 'node:path';
import { endpoints } from '../../src/api/index.ts';
import type { CallInput, Client } from '../../src/client/client.ts';
import { streamEvents } from '../../src/client/stream.ts';
import { systemClock } from '../../src/core/lib/clock.ts';
import { version } from '../../src/core/lib/self.ts';
import { startServer } from '../support/server.ts';
import { openSession, runTurn, send } from '../support/turns.ts';
import { makeRepository, write } from '../support/worktrees/work.ts';
import { answersOf, pack } from './stored.ts';

// The paths in the data are the same wherever they were made.
const place = `/tmp/cadre-${version}-data`;
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

await main();

async function main(): Promise<void> {
  fs.mkdirSync(place, { mode: 0o700 });
  try {
    const directory = path.join(place, 'data');
    const first = await startServer(directory);
    const made = await make(first.client);
    await first.end('SIGKILL');
    const second = await startServer(directory);
    await leaveAnApproval(second.client);
    await second.end('SIGTERM');
    const third = await startServer(directory);
    const { headers } = await third.client.ask(endpoints.listSessions, { query: {} });
    const { epoch } = await third.client.call(endpoints.getVersion, {});
    const answers = {
      ...made,
      epoch,
      seq: Number(headers['x-seq']),
      records: await answersOf(third.client),
    };
    await third.end('SIGTERM');
    pack(version, directory, answers);
  } finally {
    fs.rmSync(place, { recursive: true });
  }
}

async function make(client: Client): Promise<{ token: string; session: string }> {
  const session = await conversations(client);
  await processes(client, session);
  const repository = makeRepository(path.join(place, 'repository'));
  await worktrees(client, session, repository);
  await teams(client, session);
  await plans(client, session);
  const { secret } = await client.call(endpoints.createToken, {
    body: { name: 'eyes', scope: 'read' },
  });
  const gone = await client.call(endpoints.createToken, { body: { name: 'gone', scope: 'admin' } });
  await client.call(endpoints.deleteToken, { params: { token_id: gone.id } });
  await cutOff(client);
  return { token: secret, session };
}

/** Creates sessions of several states, and returns a session that continues. */
async function conversations(client: Client): Promise<string> {
  const { id } = await openSession(client, '/', { title: 'goes on', metadata: { ticket: 'T-12' } });
  await runTurn(
    client,
    id,
    'think about it; plan read | write; tool read README.md => 12 lines; usage 900 200000; say Done.',
  );
  await client.call(endpoints.sendTurn, {
    params: { session_id: id },
    body: {
      input: [
        { type: 'text', text: 'say seen' },
        { type: 'image', data: PIXEL },
      ],
    },
  });
  await until(client, id, 'turn.completed', 2);
  await runTurn(client, id, 'fail on purpose');
  const params = { session_id: id };
  await client.call(endpoints.updateSession, {
    params,
    body: { pinned: true, muted: true, seen_seq: 3 },
  });

  const interrupted = await openSession(client, '/', { title: 'interrupted' });
  const { turn_id } = await send(client, interrupted.id, 'repeat 1000 50 tick');
  await until(client, interrupted.id, 'message.delta');
  await client.call(endpoints.interruptTurn, {
    params: { session_id: interrupted.id, turn_id },
    body: {},
  });
  await until(client, interrupted.id, 'turn.interrupted');

  const closed = await openSession(client, '/', { title: 'closed' });
  await runTurn(client, closed.id, 'say bye');
  await client.call(endpoints.closeSession, {
    params: { session_id: closed.id },
    body: { reason: 'done' },
  });

  for (const decision of ['accept', 'decline'] as const) {
    const asked = await openSession(client, '/', {
      title: decision,
      permission_mode: 'require_approval',
    });
    await send(client, asked.id, 'ask run: make clean');
    const { payload } = await until(client, asked.id, 'approval.requested');
    const { id: approval_id } = (payload as { approval: { id: string } }).approval;
    await client.call(endpoints.decideApproval, {
      params: { session_id: asked.id, approval_id },
      body: { decision },
    });
    await until(client, asked.id, 'turn.completed');
  }
  return id;
}

async function processes(client: Client, session_id: string): Promise<void> {
  const run = (command: string, more: object = {}) =>
    client.call(endpoints.createProcess, { body: { command, cwd: '/', ...more } });
  const wait = ({ process: { process_id } }: { process: { process_id: string } }) =>
    client.call(endpoints.waitForProcess, { params: { process_id }, query: {} });
  await wait(await run('echo out; echo err >&2', { session_id }));
  await wait(await run('exit 3'));
  await wait(await run('sleep 60', { timeout_ms: 50 }));
  const killed = await run('sleep 60');
  const params = { process_id: killed.process.process_id };
  await client.call(endpoints.killProcess, { params, query: {}, body: { reason: 'enough' } });
  await wait(killed);
}

async function worktrees(client: Client, session: string, repo_root: string): Promise<void> {
  const create = (worktree_name: string) =>
    client.call(endpoints.createWorktree, {
      body: { source_session_id: session, repo_root, worktree_name },
    });
  const kept = await create('kept');
  await client.call(endpoints.claimWorktree, {
    params: { worktree_id: kept.id },
    body: { session_id: session, claim_role: 'owner' },
  });
  const archived = await create('archived');
  write(archived.path, { 'new.txt': 'not committed\n' });
  await client.call(endpoints.releaseWorktree, {
    params: { worktree_id: archived.id },
    body: { session_id: session, cleanup_if_last_claim: true },
  });
}

async function teams(client: Client, lead_agent_id: string): Promise<void> {
  const member = await openSession(client, '/', { title: 'member' });
  const { team } = await client.call(endpoints.createTeam, {
    body: { name: 'shop', lead_agent_id, member_agent_ids: [member.id] },
  });
  const params = { team_id: team.id };
  const input = { type: 'text' as const, text: 'say understood' };
  await client.call(endpoints.sendMessage, {
    params,
    body: {
      sender_agent_id: lead_agent_id,
      recipient_agent_id: member.id,
      input,
      priority: 'high',
    },
  });
  await until(client, member.id, 'turn.completed');
  await client.call(endpoints.broadcast, {
    params,
    body: { sender_agent_id: lead_agent_id, input },
  });
  await until(client, member.id, 'turn.completed', 2);
  const other = await client.call(endpoints.createTeam, { body: { name: 'gone', lead_agent_id } });
  await client.call(endpoints.deleteTeam, { params: { team_id: other.team.id } });
}

/** Rules for approvals, budgets, and entries of the queue that are not due while these data are used. */
async function plans(client: Client, session_id: string): Promise<void> {
  const rule = (body: CallInput<typeof endpoints.addApprovalRule>['body']) =>
    client.call(endpoints.addApprovalRule, { body });
  await rule({ effect: 'allow', command: 'ls docs', directory: '/' });
  await rule({ effect: 'deny', path: '**/*.key', reason: 'keys are secret' });
  await rule({ effect: 'ask', tool: 'Bash', provider: 'claude' });
  await client.call(endpoints.setBudget, { body: { turns: 1_000_000 } });
  await client.call(endpoints.setBudget, { body: { session_id, tokens: 1_000_000_000 } });
  const params = { session_id };
  const input = { type: 'text' as const, text: 'say later' };
  const add = (body: object) =>
    client.call(endpoints.addToQueue, { params, body: { input, ...body } });
  await add({ name: 'far', at: Date.UTC(2120, 0) });
  const nightly = await add({ name: 'nightly', every: '0 3 1 1 *', time_zone: 'Europe/Berlin' });
  await client.call(endpoints.pauseQueueEntry, { params: { entry_id: nightly.id }, body: {} });
}

/** A turn and a process in the middle of which the server is killed. */
async function cutOff(client: Client): Promise<void> {
  const { id } = await openSession(client, '/', { title: 'cut off' });
  await send(client, id, 'say begun; wait 60000');
  await until(client, id, 'message.delta');
  await client.call(endpoints.createProcess, { body: { command: 'sleep 60', cwd: '/' } });
}

async function leaveAnApproval(client: Client): Promise<void> {
  const { id } = await openSession(client, '/', {
    title: 'waits',
    permission_mode: 'require_approval',
  });
  await send(client, id, 'ask run: rm -rf build');
  await until(client, id, 'approval.requested');
}

/** The event of a kind of a session, or the nth of them. */
async function until(client: Client, sessionId: string, kind: string, nth = 1) {
  let left = nth;
  for await (const event of streamEvents({ client, clock: systemClock, sessionId, kinds: [kind] }))
    if (--left === 0) return event;
  throw new Error(`the stream ended before ${kind}`);
}
