import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { anError } from '../support/an-error.ts';
import { endpoints } from '../../src/api/index.ts';
import { asked, decide, until } from '../support/providers/calls.ts';
import { WatchedSession } from '../support/providers/provider-harness.ts';
import { tempDirectory } from '../support/temp.ts';
import { ofKind, openSession, runTurn } from '../support/turns.ts';
import { expectApprovedAfterRestart } from './approved-after-restart.ts';
import { claudeConfig, type ClaudeOptions } from './claude-env.ts';
import { bash } from './claude-fixture.ts';
import { type AgentServer, onServer } from './on-server.ts';

test('The cost of a turn excludes earlier turns, even after its session was resumed.', async () => {
  await withClaude({ idle: 1 }, async ({ client, work }) => {
    const session = await openSession(client, work, { provider: 'claude' });
    const costs = [];
    for (let turn = 0; turn < 3; turn++)
      costs.push((await runTurn(client, session.id, '@@say:one')).turn.usage?.cost_usd ?? 0);
    expect(costs[0]).toBeGreaterThan(0);
    for (const cost of costs) expect(cost).toBeCloseTo(costs[0] ?? 0, 9);
    const { usage } = await client.call(endpoints.getSession, {
      params: { session_id: session.id },
    });
    expect(usage?.cost_usd).toBeCloseTo(3 * (costs[0] ?? 0), 9);
  });
});

test('A failed model request of Claude fails the turn, a refused login fails it with auth_required, and the session continues.', async () => {
  await withClaude({}, async ({ client, work }) => {
    const session = await openSession(client, work, { provider: 'claude' });
    for (const [script, text, code] of [
      ['err:401', null, 'auth_required'],
      ['err:400', null, 'provider_error'],
      ['err:500', null, 'provider_error'],
      ['fail:overloaded_error', 'it begins ', 'provider_error'],
    ]) {
      const { turn } = await runTurn(client, session.id, `@@${script}`);
      expect(turn).toMatchObject({ status: 'failed', text });
      expect(turn.error?.code).toBe(code);
    }
    const { turn } = await runTurn(client, session.id, '@@say:still here');
    expect(turn).toMatchObject({ status: 'completed', text: 'still here' });
  });
});

test('The model and the effort of a turn of Claude apply only to this turn.', async () => {
  await withClaude({}, async ({ client, work, model }) => {
    const session = await openSession(client, work, { provider: 'claude' });
    const params = { session_id: session.id };
    await using watch = new WatchedSession(client, session.id, 30_000).watch;
    for (const more of [{}, { model: 'sonnet', thinking_effort: 'low' }, {}]) {
      const body = { input: [{ type: 'text' as const, text: '@@say:x' }], ...more };
      await watch.end((await client.call(endpoints.sendTurn, { params, body })).turn_id);
    }
    const [usual, other, again] = model.requests;
    expect(other?.model).toContain('sonnet');
    expect(other?.effort).toBe('low');
    expect([again?.model, again?.effort]).toEqual([usual?.model, usual?.effort]);
    expect(usual?.model).not.toBe(other?.model);
    expect(usual?.effort).not.toBe(other?.effort);
    const body = { input: [{ type: 'text' as const, text: 'x' }], thinking_effort: 'enormous' };
    const refused = client.call(endpoints.sendTurn, { params, body });
    await expect(refused).rejects.toMatchObject({ code: 'invalid' });
  });
});

test('The request of Claude to change a file shows the diff, and the file changes only if the request is accepted.', async () => {
  await withClaude({}, async ({ client, work }) => {
    const more = { provider: 'claude', permission_mode: 'require_approval' };
    const session = await openSession(client, work, more);
    const watched = new WatchedSession(client, session.id, 30_000);
    await using watch = watched.watch;
    const file_path = join(work, 'plover.txt');
    writeFileSync(file_path, 'a plover is a fish\n');
    // It edits nothing that it has not read.
    await watched.run(`@@tool:Read:${JSON.stringify({ file_path })}`);
    const change = { old_string: 'a fish', new_string: 'a bird' };
    const prompt = `@@tool:Edit:${JSON.stringify({ file_path, ...change })}`;

    for (const [decision, text, status] of [
      ['decline', 'a plover is a fish\n', 'failed'],
      ['accept', 'a plover is a bird\n', 'completed'],
    ] as const) {
      const turnId = await watched.send(prompt);
      const approval = await asked(watch, turnId);
      expect(approval).toMatchObject({ kind: 'file_change', request: { input: change } });
      const diff = `--- ${file_path}\n+++ ${file_path}\n@@ -1,1 +1,1 @@\n-a plover is a fish\n+a plover is a bird\n`;
      expect(approval.details).toEqual([{ type: 'diff', path: file_path, diff }]);
      expect(approval.title).toContain(file_path);
      expect(readFileSync(file_path, 'utf8')).toBe('a plover is a fish\n');
      await decide(client, approval, decision);
      expect((await watch.end(turnId)).kind).toBe('turn.completed');
      expect(ofKind(watch.of(turnId), 'tool.completed')[0]?.payload.status).toBe(status);
      expect(readFileSync(file_path, 'utf8')).toBe(text);
    }
  });
});

test('Claude does not ask again for a request that was accepted for the session, and asks again in another session.', async () => {
  await withClaude({}, async ({ client, work }) => {
    const more = { provider: 'claude', permission_mode: 'require_approval' };
    const open = async () => {
      const session = await openSession(client, work, more);
      return new WatchedSession(client, session.id, 30_000);
    };
    const first = await open();
    await using watch = first.watch;
    const run = bash('python3 -c "print(6*7)"', 'prints a number');
    const write = (name: string) => {
      const input = { file_path: join(work, name), content: `${name}\n` };
      return `@@tool:Write:${JSON.stringify(input)}`;
    };
    for (const prompt of [run, write('one')]) {
      const turnId = await first.send(prompt);
      const approval = await asked(watch, turnId);
      expect(approval.scopes).toEqual(['once', 'session']);
      expect(approval.session_allows).toEqual(expect.any(String));
      await decide(client, approval, 'accept', 'session');
      expect((await watch.end(turnId)).kind).toBe('turn.completed');
    }
    // Each in a turn of its own: what was accepted has to outlast the turn that asked.
    for (const prompt of [run, write('two')]) {
      const { turn_id } = await first.run(prompt);
      expect(ofKind(watch.of(turn_id), 'approval.requested')).toEqual([]);
      expect(ofKind(watch.of(turn_id), 'tool.completed')[0]?.payload.status).toBe('completed');
    }
    expect(readFileSync(join(work, 'two'), 'utf8')).toBe('two\n');

    const other = await open();
    await using otherWatch = other.watch;
    const turnId = await other.send(write('three'));
    await decide(client, await asked(otherWatch, turnId), 'decline');
    await otherWatch.end(turnId);
    expect(existsSync(join(work, 'three'))).toBe(false);
  });
});

test('A command of Claude that is approved after a restart runs once, without another request.', () =>
  expectApprovedAfterRestart({
    configure: claudeConfig,
    more: { provider: 'claude', permission_mode: 'require_approval' },
    prompt: bash('echo once >> approved', 'writes a line'),
  }));

test('The context is the size of the last request, and the usage is the sum of all requests.', async () => {
  await withClaude({ allow: ['Bash'] }, async ({ client, work }) => {
    const session = await openSession(client, work, { provider: 'claude' });
    const { turn } = await runTurn(client, session.id, bash('true', 'does nothing'));
    expect(turn.usage).toMatchObject({
      input_tokens: 200,
      cached_input_tokens: 22,
      output_tokens: 44,
      total_tokens: 266,
      context_tokens: 133,
    });
  });
});

test('The answer of a person to a question of Claude reaches the model.', async () => {
  await withClaude({}, async ({ client, work }) => {
    const session = await openSession(client, work, { provider: 'claude' });
    const watched = new WatchedSession(client, session.id, 30_000);
    await using watch = watched.watch;
    const options = [
      { label: 'Red', description: 'r' },
      { label: 'Blue', description: 'b' },
    ];
    const questions = [{ question: 'Which one?', header: 'Pick', multiSelect: false, options }];
    const prompt = `@@tool:AskUserQuestion:${JSON.stringify({ questions })}`;
    const turnId = await watched.send(prompt, { permission_mode: 'require_approval' });
    const approval = await asked(watch, turnId);
    expect(approval).toMatchObject({ kind: 'question', title: 'Which one?' });
    const params = { session_id: session.id, approval_id: approval.id };
    const answers = { 'Which one?': ['Blue'] };
    await client.call(endpoints.decideApproval, { params, body: { decision: 'accept', answers } });
    await watch.end(turnId);
    expect((await watched.turn(turnId)).text).toContain('Blue');
  });
});

test('A file is not written in the mode read_only, and is written in workspace_write.', async () => {
  await withClaude({}, async ({ client, work }) => {
    const write = `@@tool:Write:${JSON.stringify({ file_path: `${work}/w.txt`, content: 'x' })}`;
    const session = await openSession(client, work, { provider: 'claude' });
    const watched = new WatchedSession(client, session.id, 30_000);
    await using _watch = watched.watch;
    for (const [permission_mode, status] of [
      ['read_only', 'failed'],
      ['workspace_write', 'completed'],
      ['default', 'failed'],
    ] as const) {
      const { turn_id } = await watched.run(write.replace('w.txt', permission_mode), {
        permission_mode,
      });
      const [tool] = ofKind(watched.watch.of(turn_id), 'tool.completed');
      expect([permission_mode, tool?.payload.status]).toEqual([permission_mode, status]);
    }
    const turn = await watched.run('x', { permission_mode: 'bogus' });
    expect(turn.error).toMatchObject(anError('invalid_permission_mode', 'acceptEdits'));
  });
});

test('A turn with full_access runs a command without a request, and the next turn is restricted again.', async () => {
  // As root it would refuse.
  const more = { env: { IS_SANDBOX: '1' } };
  await withClaude({ more }, async ({ client, work, model }) => {
    const session = await openSession(client, work, { provider: 'claude' });
    const watched = new WatchedSession(client, session.id, 30_000);
    await using watch = watched.watch;
    await watched.run('@@say:first');
    const touch = '@@tool:Bash:{"command":"touch made","description":"makes a file"}';
    const { turn_id } = await watched.run(touch, { permission_mode: 'full_access' });
    expect(ofKind(watch.of(turn_id), 'tool.completed')[0]?.payload.status).toBe('completed');
    const declined = await watched.run(touch.replace('made', 'more'));
    expect(ofKind(watch.of(declined.turn_id), 'tool.completed')[0]?.payload.status).toBe('failed');
    expect(model.unexpected).toEqual([]);
  });
});

test.skipIf(process.getuid?.() !== 0)(
  'The mode full_access is refused as root, and the error has the reason.',
  async () => {
    await withClaude({}, async ({ client, work }) => {
      const session = await openSession(client, work, { provider: 'claude' });
      const params = { session_id: session.id };
      const body = {
        input: [{ type: 'text' as const, text: 'x' }],
        permission_mode: 'full_access',
      };
      const refused = anError('invalid', 'IS_SANDBOX');
      await expect(client.call(endpoints.sendTurn, { params, body })).rejects.toMatchObject(
        refused,
      );
      const settings = { provider: 'claude', permission_mode: 'full_access' } as const;
      await expect(openSession(client, work, settings)).rejects.toMatchObject(refused);
    });
  },
);

test('The next turn of a session fails with resume_failed if its transcript is gone.', async () => {
  await withClaude({ idle: 1 }, async ({ client, work, home }) => {
    const session = await openSession(client, work, { provider: 'claude' });
    await runTurn(client, session.id, '@@say:first');
    const { rm } = await import('node:fs/promises');
    await until('it has been unloaded', async () => {
      const all = await client.call(endpoints.getProviderDiagnostics, {});
      return all.find(({ id }) => id === 'claude')?.sessions === 0;
    });
    await rm(`${home}/claude/projects`, { recursive: true });
    const { turn } = await runTurn(client, session.id, '@@say:second');
    expect(turn.error?.code).toBe('resume_failed');
  });
});

test('A key in a private home authenticates Claude at the model, stays out of the log, and can be removed.', async () => {
  await using own = tempDirectory('home');
  const more = { home: `${own.path}/private`, env: { ANTHROPIC_API_KEY: '' } };
  await withClaude({ more }, async ({ client, work, model, log }) => {
    const status = () => client.call(endpoints.getClaudeAuthStatus, {});
    expect(await status()).toMatchObject({ authenticated: false, mode: 'not_configured' });
    const session = await openSession(client, work, { provider: 'claude' });
    const { turn } = await runTurn(client, session.id, '@@say:x');
    expect(turn.error?.message).toContain('run cadre providers login claude');

    const body = { api_key: 'sk-ant-of-a-test' };
    const set = await client.call(endpoints.setClaudeApiKey, { body });
    expect(set).toMatchObject({ authenticated: true, mode: 'api_key' });
    const other = await openSession(client, work, { provider: 'claude' });
    expect((await runTurn(client, other.id, '@@say:y')).turn.text).toBe('y');
    expect(model.requests.at(-1)?.authorization).toBe(body.api_key);
    expect(log()).not.toContain(body.api_key);
    expect(await client.call(endpoints.endClaudeLogin, {})).toMatchObject({ authenticated: false });
  });
});

function withClaude(
  { idle, ...options }: Partial<ClaudeOptions> & { idle?: number },
  use: (server: AgentServer) => Promise<void>,
): Promise<void> {
  const env = idle === undefined ? {} : { CADRE_PROVIDERS_IDLE_TIMEOUT_MS: String(idle) };
  return onServer((home, { url }) => claudeConfig({ home, modelUrl: url, ...options }), use, env);
}
