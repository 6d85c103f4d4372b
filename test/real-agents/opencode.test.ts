import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { asked, decide } from '../support/providers/calls.ts';
import { WatchedSession } from '../support/providers/provider-harness.ts';
import { startServer, untilNothingCarries } from '../support/server.ts';
import { tempDirectory } from '../support/temp.ts';
import { ofKind, openSession, runTurn } from '../support/turns.ts';
import { startModelServer } from './model-server.ts';
import { opencodeConfig } from './opencode-config.ts';
import type { OpencodeRule } from './opencode-env.ts';
import { type AgentServer, makePlaces, onServer } from './on-server.ts';

test('The agent opencode streams a text, and the turn has its usage.', async () => {
  await withOpencode('allow', async ({ client, work }) => {
    const session = await openSession(client, work);
    const { events, turn } = await runTurn(client, session.id, '@@say:the quick brown fox jumps');

    expect(turn).toMatchObject({ status: 'completed', text: 'the quick brown fox jumps' });
    expect(ofKind(events, 'message.delta').length).toBeGreaterThan(1);
    expect(ofKind(events, 'message.completed')[0]?.payload.text).toBe('the quick brown fox jumps');
    expect(turn.usage).toMatchObject({
      input_tokens: 100,
      cached_input_tokens: 11,
      output_tokens: 22,
      context_tokens: 111,
      context_window: 100_000,
    });
    expect(turn.usage?.cost_usd).toBeCloseTo(0.000144, 9);
  });
});

test('A shell command of opencode runs, and the tool has its whole output.', async () => {
  await withOpencode('allow', async ({ client, work }) => {
    const session = await openSession(client, work);
    const script = '@@tool:bash:{"command":"echo it $((6*7))","description":"counts"}';
    const { events, turn } = await runTurn(client, session.id, script);

    expect(turn.status).toBe('completed');
    expect(turn.text).toContain('RESULT[it 42');
    const [tool] = ofKind(events, 'tool.completed');
    expect(tool?.payload).toMatchObject({
      status: 'completed',
      text: 'it 42\n',
      tool: { kind: 'execute' },
    });
    expect(ofKind(events, 'tool.started')).toHaveLength(1);
  });
});

test('A request of opencode for permission fails the turn with the command, and the session continues.', async () => {
  await withOpencode('ask', async ({ client, work }) => {
    const session = await openSession(client, work);
    const { turn } = await runTurn(
      client,
      session.id,
      '@@tool:bash:{"command":"touch asked","description":"makes a file"}',
    );
    expect(turn.error).toMatchObject({ code: 'permission_required' });
    expect(turn.error?.message).toContain('touch asked');

    const { turn: next } = await runTurn(client, session.id, '@@say:still here');
    expect(next).toMatchObject({ status: 'completed', text: 'still here' });
  });
});

test('A request of opencode is shown whole, and opencode does not ask again once it is accepted for the session.', async () => {
  await withOpencode('ask', async ({ client, work }) => {
    const session = await openSession(client, work, { permission_mode: 'require_approval' });
    const watched = new WatchedSession(client, session.id, 60_000);
    await using watch = watched.watch;
    const filePath = join(work, 'plover.txt');
    const calls = [
      ['bash', { command: 'touch asked', description: 'makes a file' }],
      ['write', { filePath, content: 'a plover is a bird\n' }],
    ] as const;
    const shown = [
      { type: 'command', command: 'touch asked' },
      { type: 'diff', path: filePath, diff: expect.stringContaining('+a plover is a bird') },
    ];
    for (const [at, [tool, input]] of calls.entries()) {
      const script = `@@tool:${tool}:${JSON.stringify(input)}`;
      const turnId = await watched.send(script);
      const approval = await asked(watch, turnId);
      expect(approval.details).toContainEqual(expect.objectContaining(shown[at] ?? {}));
      expect(approval.scopes).toEqual(['once', 'session']);
      await decide(client, approval, 'accept', 'session');
      await watch.end(turnId);
      // The request is the same only if its diff is the same.
      rmSync(filePath, { force: true });
      const { turn_id } = await watched.run(script);
      expect(ofKind(watch.of(turn_id), 'approval.requested')).toEqual([]);
    }
  });
});

test('A SIGKILL of the server ends opencode, and the next turn resumes its session.', async () => {
  await using model = await startModelServer();
  await using directory = tempDirectory('opencode');
  const places = makePlaces(directory.path);
  const config = opencodeConfig(places.home, model, 'allow');
  const before = await startServer(places.server, { config });
  const session = await openSession(before.client, places.work);
  await runTurn(before.client, session.id, '@@say:first');
  await before.end('SIGKILL');
  await untilNothingCarries(directory.path);

  const after = await startServer(places.server, { config });
  try {
    const { turn } = await runTurn(after.client, session.id, '@@say:second');
    expect(turn).toMatchObject({ status: 'completed', text: 'second' });
    expect(model.requests.at(-1)?.script).toBe('say:second');
  } finally {
    await after.end('SIGTERM');
    await untilNothingCarries(directory.path);
  }
});

test('A failed model request of opencode fails the turn with provider_error.', async () => {
  await withOpencode('allow', async ({ client, work }) => {
    const session = await openSession(client, work);
    const { turn } = await runTurn(client, session.id, '@@err:400');
    expect(turn.error?.code).toBe('provider_error');
  });
});

function withOpencode(
  rule: OpencodeRule,
  use: (server: AgentServer) => Promise<void>,
): Promise<void> {
  return onServer((home, model) => opencodeConfig(home, model, rule), use);
}
