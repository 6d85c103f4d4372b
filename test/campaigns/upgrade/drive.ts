import path from 'node:path';
import { makeRepository, write } from '../../support/worktrees/work.ts';
import type { OldServer } from './old-server.ts';

const say = (text: string) => ({ input: [{ type: 'text', text }] });

/** Writes data of all kinds that a version knows, up to a kill of its server. Returns a session that can continue. */
export async function writeData(server: OldServer, place: string): Promise<string> {
  const session = await conversations(server);
  await approvals(server);
  await processes(server, session);
  await worktrees(server, session, place);
  await team(server, session);
  await plans(server, session);
  await later(server, place);
  await server.send('POST', '/v1/tokens', { name: 'eyes', scope: 'read' });
  await cutOff(server);
  return session;
}

/** Leaves work in progress: what is written here is not compared, but a start has to deal with it. */
export async function cutOff(server: OldServer): Promise<void> {
  const id = await open(server, { title: 'cut off' });
  const { turn_id } = await server.post(`/v1/sessions/${id}/turns`, say('say begun; wait 60000'));
  await server.until(
    `/v1/sessions/${id}/turns/${turn_id}/items`,
    (items: unknown[]) => items.length > 0,
  );
  await server.post('/v1/processes', { command: 'sleep 60', cwd: '/' });
}

export async function leaveAnApproval(server: OldServer): Promise<void> {
  const id = await open(server, { title: 'waits', permission_mode: 'require_approval' });
  await server.post(`/v1/sessions/${id}/turns`, say('ask run: rm -rf build'));
  await pending(server, id);
}

async function open(server: OldServer, more: object): Promise<string> {
  return (await server.post('/v1/sessions', { provider: 'acp', cwd: '/', ...more })).id;
}

async function turn(server: OldServer, id: string, body: object): Promise<void> {
  const { turn_id } = await server.post(`/v1/sessions/${id}/turns`, body);
  await server.until(
    `/v1/sessions/${id}/turns/${turn_id}`,
    ({ ended_at }: { ended_at: unknown }) => ended_at !== null,
  );
}

/** Waits for the nth turn of a session to end. */
async function turns(server: OldServer, id: string, nth: number): Promise<void> {
  await server.until(
    `/v1/sessions/${id}/turns`,
    (all: { ended_at: unknown }[]) => all.filter(({ ended_at }) => ended_at !== null).length >= nth,
  );
}

async function conversations(server: OldServer): Promise<string> {
  const id = await open(server, { title: 'goes on', metadata: { ticket: 'T-12' } });
  const words = 'think about it; plan read | write; tool read README.md => 12 lines';
  await turn(server, id, say(`${words}; usage 900 200000; say Done.`));
  const image = { type: 'image', data: PIXEL };
  await turn(server, id, { input: [{ type: 'text', text: 'say seen' }, image] });
  await turn(server, id, say('fail on purpose'));
  await server.send('PATCH', `/v1/sessions/${id}`, { pinned: true, seen_seq: 3 });
  const closed = await open(server, { title: 'closed' });
  await turn(server, closed, say('say bye'));
  await server.post(`/v1/sessions/${closed}/close`, { reason: 'done' });
  return id;
}

async function pending(server: OldServer, id: string): Promise<string> {
  const found = await server.until(
    `/v1/sessions/${id}/approvals?status=pending`,
    (all: unknown[]) => all.length > 0,
  );
  return (found as { id: string }[])[0]?.id ?? '';
}

async function approvals(server: OldServer): Promise<void> {
  const id = await open(server, { title: 'asks', permission_mode: 'require_approval' });
  for (const [at, decision] of ['accept', 'decline'].entries()) {
    await server.post(`/v1/sessions/${id}/turns`, say('ask run: make clean'));
    await server.post(`/v1/sessions/${id}/approvals/${await pending(server, id)}`, { decision });
    await turns(server, id, at + 1);
  }
}

async function processes(server: OldServer, session_id: string): Promise<void> {
  const run = async (command: string, more: object = {}) => {
    const { process } = await server.post('/v1/processes', { command, cwd: '/', ...more });
    await server.get(`/v1/processes/${process.process_id}/wait`);
  };
  await run('echo out; echo err >&2', { session_id });
  await run('exit 3');
  await run('sleep 60', { timeout_ms: 50 });
}

async function worktrees(server: OldServer, session: string, place: string): Promise<void> {
  const repo_root = makeRepository(path.join(place, 'repository'));
  const create = (worktree_name: string) =>
    server.post('/v1/worktrees', { source_session_id: session, repo_root, worktree_name });
  await create('kept');
  const archived = await create('archived');
  write(archived.path, { 'new.txt': 'not committed\n' });
  await server.post(`/v1/worktrees/${archived.id}/release`, {
    session_id: session,
    cleanup_if_last_claim: true,
  });
}

async function team(server: OldServer, lead_agent_id: string): Promise<void> {
  const member = await open(server, { title: 'member' });
  const made = await server.post('/v1/teams', {
    name: 'shop',
    lead_agent_id,
    member_agent_ids: [member],
  });
  const input = { type: 'text', text: 'say understood' };
  const said = { sender_agent_id: lead_agent_id, input };
  await server.post(`/v1/teams/${made.team.id}/messages`, {
    ...said,
    recipient_agent_id: member,
  });
  await turns(server, member, 1);
  await server.post(`/v1/teams/${made.team.id}/broadcasts`, said);
  await turns(server, member, 2);
}

/** Rules, budgets and queue entries, none of which is due while the data are used. */
async function plans(server: OldServer, session_id: string): Promise<void> {
  const queue = `/v1/sessions/${session_id}/queue`;
  const far = { name: 'far', at: Date.UTC(2120, 0), input: { type: 'text', text: 'say later' } };
  await server.send('POST', queue, far);
  const nightly = { name: 'nightly', every: '0 3 1 1 *', time_zone: 'Europe/Berlin' };
  await server.send('POST', queue, { ...far, at: undefined, ...nightly });
  const rules = '/v1/approval-rules';
  await server.send('POST', rules, { effect: 'allow', command: 'ls docs', directory: '/' });
  await server.send('POST', rules, { effect: 'deny', path: '**/*.key', reason: 'secret' });
  await server.send('POST', '/v1/budgets', { turns: 1_000_000 });
  await server.send('POST', '/v1/budgets', { session_id, tokens: 1_000_000_000 });
}

/** Writes records that only the newest formats can store. */
async function later(server: OldServer, place: string): Promise<void> {
  const cwd = path.join(place, 'repository');
  const id = await open(server, { title: 'later', cwd });
  await turn(server, id, say('say before'));
  await server.send('POST', `/v1/sessions/${id}/review/comments`, {
    path: 'a.txt',
    first_line: 1,
    text: 'why?',
    lines: ['+one'],
  });
  await server.send('POST', `/v1/sessions/${id}/goal`, { command: 'true', max_rounds: 3 });
  await server.send('POST', `/v1/sessions/${id}/watch`, {
    command: 'echo same',
    every_ms: 86_400_000,
  });
  await server.send('POST', `/v1/sessions/${id}/fork`, {});
  const contenders = [{ provider: 'acp' }, { provider: 'acp' }];
  const race = { prompt: 'say raced', name: 'two', cwd, contenders };
  const begun = await server.send('POST', '/v1/races', race);
  if (begun)
    await server.until(
      `/v1/races/${begun.id}`,
      ({ status }: { status: string }) => status !== 'running',
    );
}

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
