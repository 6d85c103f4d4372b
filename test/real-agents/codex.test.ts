import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import { carriersOf } from '../../src/core/children/procfs.ts';
import { asked, decide, interrupt, sessionOf, turnOf, until } from '../support/providers/calls.ts';
import { WatchedSession } from '../support/providers/provider-harness.ts';
import { tempDirectory } from '../support/temp.ts';
import { ofKind, openSession, runTurn } from '../support/turns.ts';
import { makeRepository } from '../support/worktrees/work.ts';
import { expectApprovedAfterRestart } from './approved-after-restart.ts';
import { codexConfig, type CodexOptions, writeCatalog } from './codex-env.ts';
import { escalated, shell } from './codex-fixture.ts';
import { argumentsOf } from '../support/processes/command-line.ts';
import { signal } from './signal.ts';
import { type AgentServer, isSandboxed, onServer } from './on-server.ts';

const PATIENCE_MS = 30_000;
const asking = { provider: 'codex', permission_mode: 'require_approval' };

test('The default model of codex runs its tools from code, and the tool calls are reported all the same.', async () => {
  await withCodex({}, async ({ client, work, model }) => {
    const [first] = await client.call(endpoints.listModels, { params: { provider: 'codex' } });
    const session = await openSession(client, work, { provider: 'codex', model: first?.id });
    const { turn, events } = await runTurn(client, session.id, shell('echo $((6*7))'));
    expect(turn.status).toBe('completed');
    expect(model.requests.at(-1)?.tools).toContain('exec');
    const [tool] = ofKind(events, 'tool.completed');
    expect(tool?.payload).toMatchObject({ status: 'completed', text: '42\n' });

    await runTurn(client, session.id, patch('Add', 'out-of-code.txt', '+made'));
    expect(readFileSync(join(work, 'out-of-code.txt'), 'utf8')).toBe('made\n');
  });
});

test('A command of Codex in a worktree receives the ports of the worktree and the variables of the user.', async () => {
  const config = { shell_environment_policy: { set: { OWN_VARIABLE: 'own' } } };
  await withCodex({ config }, async ({ client, work }) => {
    const repo = makeRepository(join(work, 'repository'));
    const session = await client.call(endpoints.createSession, {
      body: { provider: 'codex', cwd: repo, worktree: { worktree_name: 'tree' } },
    });
    const [tree] = await client.call(endpoints.listWorktrees, { query: {} });
    const command = 'echo $CADRE_PORT_BASE $CADRE_PORT_COUNT $OWN_VARIABLE';
    const { events } = await runTurn(client, session.id, shell(command));
    const [tool] = ofKind(events, 'tool.completed');
    const text = `${tree?.port_base} ${tree?.port_count} own\n`;
    expect(tool?.payload).toMatchObject({ status: 'completed', text });
  });
});

test('The request of Codex to change a file shows the diff, and the file changes only if the request is accepted.', async () => {
  await withCodex({}, async ({ client, work }) => {
    const session = await openSession(client, work, asking);
    const watched = new WatchedSession(client, session.id, PATIENCE_MS);
    await using watch = watched.watch;
    const file = join(work, 'plover.txt');
    writeFileSync(file, 'a plover is a fish\n');
    const prompt = patch('Update', 'plover.txt', '-a plover is a fish', '+a plover is a bird');

    for (const [decision, text, status] of [
      ['decline', 'a plover is a fish\n', 'failed'],
      ['accept', 'a plover is a bird\n', 'completed'],
    ] as const) {
      const turnId = await watched.send(prompt);
      const approval = await asked(watch, turnId);
      expect(approval.kind).toBe('file_change');
      expect(approval.title).toContain('plover.txt');
      expect(approval.details).toMatchObject([
        {
          type: 'diff',
          path: file,
          diff: expect.stringMatching(
            /^--- .*\n\+\+\+ .*\n@@ .* @@\n-a plover is a fish\n\+a plover is a bird\n/,
          ) as string,
        },
      ]);
      const shown = JSON.stringify(approval.request);
      expect(shown).toContain('-a plover is a fish');
      expect(shown).toContain('+a plover is a bird');
      expect(readFileSync(file, 'utf8')).toBe('a plover is a fish\n');
      await decide(client, approval, decision);
      expect((await watch.end(turnId)).kind).toBe('turn.completed');
      expect(ofKind(watch.of(turnId), 'tool.completed')[0]?.payload.status).toBe(status);
      expect(readFileSync(file, 'utf8')).toBe(text);
    }
  });
});

test('Codex does not ask again to change a file that was accepted for the session, and asks in another session.', async () => {
  await withCodex({}, async ({ client, work }) => {
    const open = async () => {
      const session = await openSession(client, work, asking);
      return new WatchedSession(client, session.id, PATIENCE_MS);
    };
    const [first, other] = [await open(), await open()];
    await using watch = first.watch;
    await using otherWatch = other.watch;
    const turnId = await first.send(patch('Add', 'plover.txt', '+a fish'));
    const approval = await asked(watch, turnId);
    expect(approval.scopes).toEqual(['once', 'session']);
    await decide(client, approval, 'accept', 'session');
    expect((await watch.end(turnId)).kind).toBe('turn.completed');
    const { turn_id } = await first.run(patch('Update', 'plover.txt', '-a fish', '+a bird'));
    expect(ofKind(watch.of(turn_id), 'approval.requested')).toEqual([]);
    const read = () => readFileSync(join(work, 'plover.txt'), 'utf8');
    expect(read()).toBe('a bird\n');

    const otherId = await other.send(patch('Update', 'plover.txt', '-a bird', '+a fish'));
    await decide(client, await asked(otherWatch, otherId), 'decline');
    await otherWatch.end(otherId);
    expect(read()).toBe('a bird\n');
  });
});

test('A command of Codex that is approved after a restart runs once, without another request.', () =>
  expectApprovedAfterRestart({
    configure: (place) => codexConfig({ ...place, asks: true }),
    more: asking,
    prompt: escalated('echo once >> approved'),
  }));

test('A tool of an MCP server needs an approval, and then runs, whether the model calls it directly or from code.', async () => {
  const echo = { command: process.execPath, args: [join(import.meta.dirname, 'echo-server.ts')] };
  await withCodex({ config: { mcp_servers: { echo } } }, async ({ client, work }) => {
    const [first] = await client.call(endpoints.listModels, { params: { provider: 'codex' } });
    const code = "text(await tools.mcp__echo__say_again({ text: 'owl' }));";
    for (const [model, prompt] of [
      // It has to search for it first.
      [null, '@@tool:mcp__echo__say_again:{"text":"owl"}'],
      [first?.id, `@@tool:exec:${JSON.stringify(code)}`],
    ]) {
      const session = await openSession(client, work, { ...asking, model });
      const watched = new WatchedSession(client, session.id, PATIENCE_MS);
      await using watch = watched.watch;
      const turnId = await watched.send(prompt ?? '');
      const approval = await asked(watch, turnId);
      expect(approval).toMatchObject({ kind: 'tool', title: 'echo.say_again: {"text":"owl"}' });
      await decide(client, approval, 'accept');
      expect((await watch.end(turnId)).kind).toBe('turn.completed');
      const tools = ofKind(watch.of(turnId), 'tool.completed').map(({ payload }) => payload);
      expect(tools).toMatchObject([{ status: 'completed', text: 'again: owl' }]);
    }
  });
});

test('An interrupted command does not continue.', async () => {
  await withCodex({}, async ({ client, work, home }) => {
    const session = await openSession(client, work, { provider: 'codex' });
    const watched = new WatchedSession(client, session.id, PATIENCE_MS);
    await using watch = watched.watch;
    const sleepers = () => carriersOf(home).filter((pid) => argumentsOf(pid)[0] === 'sleep');
    const turnId = await watched.send(shell('sleep 300'));
    await until('it sleeps', () => sleepers().length === 1, PATIENCE_MS);
    await interrupt(client, session, turnId);
    expect((await watch.end(turnId)).kind).toBe('turn.interrupted');
    await until('nobody sleeps', () => sleepers().length === 0, PATIENCE_MS);
  });
});

test('The model and the effort of a turn of Codex apply only to this turn.', async () => {
  await withCodex({}, async ({ client, work, model }) => {
    const models = await client.call(endpoints.listModels, { params: { provider: 'codex' } });
    const other = models.find(({ id }) => id !== 'gpt-5.5')?.id;
    const session = await openSession(client, work, { provider: 'codex' });
    const params = { session_id: session.id };
    await using watch = new WatchedSession(client, session.id, PATIENCE_MS).watch;
    const last = [];
    for (const more of [{}, { model: other, thinking_effort: 'low' }, {}]) {
      const body = { input: [{ type: 'text' as const, text: '@@say:x' }], ...more };
      await watch.end((await client.call(endpoints.sendTurn, { params, body })).turn_id);
      // Not its only one: for another model codex has the conversation shortened by the one before.
      last.push(model.requests.at(-1));
    }
    const [usual, changed, again] = last.map((one) => [one?.model, one?.effort]);
    expect(usual).toEqual(['gpt-5.5', 'medium']);
    expect(changed).toEqual([other, 'low']);
    expect(again).toEqual(usual);
    const body = { input: [{ type: 'text' as const, text: 'x' }], thinking_effort: 'enormous' };
    const refused = client.call(endpoints.sendTurn, { params, body });
    await expect(refused).rejects.toMatchObject({ code: 'invalid' });
  });
});

test('The context of a turn is the size of its last request, and its window is the window of the model.', async () => {
  await using own = tempDirectory('catalog');
  const config = {
    model: 'scripted-mini',
    model_catalog_json: writeCatalog(own.path, 'scripted-mini', 20_000),
  };
  const more = { sandbox: { read: [own.path] } };
  await withCodex({ config, more }, async ({ client, work }) => {
    const session = await openSession(client, work, { provider: 'codex' });
    const both = {
      input_tokens: 200,
      cached_input_tokens: 22,
      output_tokens: 44,
      total_tokens: 266,
      context_tokens: 133,
      // It keeps a twentieth for itself.
      context_window: 19_000,
    };
    for (let turn = 0; turn < 2; turn++) {
      const { turn } = await runTurn(client, session.id, shell('true'));
      expect(turn.usage).toMatchObject(both);
    }
    const { usage } = await sessionOf(client, session);
    expect(usage).toMatchObject({ total_tokens: 532, context_tokens: 133, context_window: 19_000 });
  });
});

test('A failed model request of Codex fails the turn, a refused login fails it with auth_required, and the session continues.', async () => {
  await withCodex({}, async ({ client, work }) => {
    const session = await openSession(client, work, { provider: 'codex' });
    for (const script of ['err:401', 'err:429', 'err:500', 'fail:context_length_exceeded']) {
      const { turn } = await runTurn(client, session.id, `@@${script}`);
      const code = script === 'err:401' ? 'auth_required' : 'provider_error';
      expect([script, turn.status, turn.error?.code]).toEqual([script, 'failed', code]);
      expect(turn.error?.message).toMatch(/\w/);
    }
    const { turn } = await runTurn(client, session.id, '@@say:still here');
    expect(turn).toMatchObject({ status: 'completed', text: 'still here' });
  });
});

// In a sandbox, each session has a Codex server of its own.
test.skipIf(isSandboxed)(
  'Ten sessions of Codex share one process, and keep separate requests, models and agent sessions.',
  async () => {
    await withCodex({ asks: true }, async (server) => {
      const { client, home, model } = server;
      const models = await client.call(endpoints.listModels, { params: { provider: 'codex' } });
      const ten = await openTen(server, (number) => ({
        ...asking,
        model: models[number % models.length]?.id,
        thinking_effort: models[number % models.length]?.reasoning_levels.at(number % 2),
      }));
      await using _watches = watchesOf(ten);
      const turns = await Promise.all(
        ten.map(({ watched, number }) => watched.send(escalated(`echo ${number} > asked`))),
      );
      const approvals = await Promise.all(
        ten.map(({ watched }, at) => asked(watched.watch, turns[at] ?? '')),
      );
      expect(appServersIn(home)).toHaveLength(1);
      for (const [at, approval] of approvals.entries()) {
        expect(approval.session_id).toBe(ten[at]?.watched.id);
        expect(approval.title).toContain(`echo ${at} > asked`);
        await decide(client, approval, at % 2 === 0 ? 'accept' : 'decline');
      }
      for (const { watched, number, cwd } of ten) {
        expect((await watched.watch.end(turns[number] ?? '')).kind).toBe('turn.completed');
        expect(ofKind(watched.watch.events, 'approval.requested')).toHaveLength(1);
        expect(existsSync(join(cwd, 'asked'))).toBe(number % 2 === 0);
        const own = model.requests.filter(({ script }) => script?.includes(`echo ${number} >`));
        const { model: id, thinking_effort: effort } = await watched.record();
        for (const request of own) expect([request.model, request.effort]).toEqual([id, effort]);
        expect(own).toHaveLength(2);
      }
      const records = await Promise.all(ten.map(({ watched }) => watched.record()));
      expect(new Set(records.map((one) => one.provider_session_ref)).size).toBe(10);
    });
  },
);

test.skipIf(isSandboxed)(
  'The death of the process under ten turns fails all ten turns, and all ten sessions continue in another process.',
  async () => {
    await withCodex({}, async (server) => {
      const ten = await openTen(server, () => ({ provider: 'codex' }));
      await using _watches = watchesOf(ten);
      for (const { watched, number } of ten) await watched.run(`@@say:number ${number}`);
      const turns = await Promise.all(ten.map(({ watched }) => watched.send('@@slow:3000:40')));
      await Promise.all(
        ten.map(({ watched }, at) => watched.watch.kind('message.delta', turns[at] ?? '')),
      );
      const [killed, ...others] = appServersIn(server.home);
      expect(others).toEqual([]);
      signal('SIGKILL')([killed ?? 0]);
      for (const { watched, number } of ten) {
        await watched.watch.end(turns[number] ?? '');
        const turn = await turnOf(server.client, watched, turns[number] ?? '');
        expect(turn).toMatchObject({ status: 'failed', error: { code: 'provider_exited' } });
        expect(turn.error?.message).toContain('SIGKILL');
      }
      const again = await Promise.all(
        ten.map(({ watched, number }) => watched.run(`@@say:again ${number}`)),
      );
      for (const [at, turn] of again.entries())
        expect(turn).toMatchObject({ status: 'completed', text: `again ${at}` });
      expect(appServersIn(server.home)).toHaveLength(1);
    });
  },
);

test('A key in a private home authenticates Codex at the model, stays out of the log, and can be removed.', async () => {
  await using own = tempDirectory('home');
  const more = { home: join(own.path, 'private') };
  await withCodex({ login: true, more }, async ({ client, work, model, log }) => {
    const status = () => client.call(endpoints.getCodexAuthStatus, {});
    expect(await status()).toMatchObject({ authenticated: false, mode: 'not_configured' });
    const session = await openSession(client, work, { provider: 'codex' });
    const { turn } = await runTurn(client, session.id, '@@err:401');
    expect(turn.status).toBe('failed');
    expect(turn.error?.message).toContain('run cadre providers login codex');

    const body = { api_key: 'sk-of-a-test' };
    const set = await client.call(endpoints.setCodexApiKey, { body });
    expect(set).toMatchObject({ authenticated: true, mode: 'api_key' });
    const said = await runTurn(client, session.id, '@@say:y');
    expect(said.turn.text).toBe('y');
    expect(model.requests.at(-1)?.authorization).toBe(`Bearer ${body.api_key}`);

    expect(await client.call(endpoints.endCodexLogin, {})).toMatchObject({ authenticated: false });
    expect(await status()).toMatchObject({ authenticated: false });
    const auth_json = { OPENAI_API_KEY: 'sk-brought-along' };
    const brought = await client.call(endpoints.importCodexLogin, { body: { auth_json } });
    expect(brought).toMatchObject({ authenticated: true, mode: 'api_key' });
    await runTurn(client, session.id, '@@say:z');
    expect(model.requests.at(-1)?.authorization).toBe('Bearer sk-brought-along');
    expect(log()).not.toMatch(/sk-of-a-test|sk-brought-along/);
  });
});

/** A session with a directory of its own. */
interface OneOfTen {
  number: number;
  cwd: string;
  watched: WatchedSession;
}

async function openTen(
  { client, work }: AgentServer,
  more: (number: number) => object,
): Promise<OneOfTen[]> {
  const ten = [];
  for (let number = 0; number < 10; number++) {
    const cwd = join(work, `work-${number}`);
    mkdirSync(cwd);
    const { id } = await openSession(client, cwd, more(number));
    ten.push({ number, cwd, watched: new WatchedSession(client, id, PATIENCE_MS) });
  }
  return ten;
}

function watchesOf(ten: readonly OneOfTen[]): AsyncDisposable {
  const stack = new AsyncDisposableStack();
  for (const { watched } of ten) stack.use(watched.watch);
  return stack;
}

function appServersIn(home: string): number[] {
  return carriersOf(home).filter((pid) => argumentsOf(pid).includes('app-server'));
}

/** A prompt that has codex change a file. */
function patch(how: 'Add' | 'Update', name: string, ...lines: string[]): string {
  const text = ['*** Begin Patch', `*** ${how} File: ${name}`, ...lines, '*** End Patch', ''];
  return `@@tool:apply_patch:${JSON.stringify(text.join('\n'))}`;
}

function withCodex(
  options: Partial<CodexOptions>,
  use: (server: AgentServer) => Promise<void>,
): Promise<void> {
  return onServer((home, { url }) => codexConfig({ home, modelUrl: url, ...options }), use);
}
