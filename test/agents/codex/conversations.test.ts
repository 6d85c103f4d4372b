import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { expectError } from '../../support/an-error.ts';
import { endpoints } from '../../../src/api/index.ts';
import type { Session } from '../../../src/api/sessions.ts';
import { Refusal } from '../../../src/agents/json-connection.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { hasProc } from '../../../src/core/lib/platform.ts';
import { scaled } from '../../support/patience.ts';
import { type CodexBehavior, testRawCodex } from '../../support/providers/raw-codex.ts';

const text = (said: string) => [{ type: 'text', text: said }];
const turn = (id: string, prompt: string, startedAt: number) => ({
  id,
  status: 'completed',
  startedAt,
  items: [
    { id: `${id}u`, type: 'userMessage', content: text(prompt) },
    { id: `${id}a`, type: 'agentMessage', text: `answer to ${prompt}` },
    {
      id: `${id}c`,
      type: 'commandExecution',
      command: 'ls',
      status: 'failed',
      aggregatedOutput: 'nothing',
    },
  ],
});

/** A codex with one thread, whose turns a test may change. */
function threadOf(directory: () => string) {
  const turns = [turn('t1', 'one', 100), turn('t2', 'two', 200)];
  const thread = () => ({
    id: 'thread-own',
    name: null,
    preview: 'plan it',
    cwd: directory(),
    createdAt: 100,
    updatedAt: 200,
    originator: 'codex-tui',
    status: { type: 'idle' },
  });
  const asked: unknown[] = [];
  const behavior: CodexBehavior = {
    requests: {
      'thread/list'(params) {
        asked.push(params);
        const subagent = { ...thread(), id: 'sub', parentThreadId: 'thread-own' };
        return { data: [thread(), subagent], nextCursor: null };
      },
      'thread/read'({ threadId }) {
        if (threadId !== 'thread-own') throw new Refusal('thread not found');
        return { thread: thread() };
      },
      'thread/turns/list': ({ cursor }) => {
        const newestFirst = turns.toReversed();
        const at = Number(cursor ?? 0);
        const isLast = at + 1 >= newestFirst.length;
        return { data: newestFirst.slice(at, at + 1), nextCursor: isLast ? null : String(at + 1) };
      },
    },
  };
  return { behavior, turns, asked };
}

it('Threads of all programs of codex are listed and imported with their turns, oldest first.', async () => {
  let cwd = '/';
  const { behavior, asked } = threadOf(() => cwd);
  const harness = await testRawCodex(behavior);
  cwd = harness.cwd;
  const params = { provider: 'codex' as const };
  const found = await harness.client.call(endpoints.listConversations, { params, query: {} });
  expect(found).toMatchObject([
    { ref: 'thread-own', title: 'plan it', program: 'codex-tui', begun_at: 100_000, in_use: null },
  ]);
  expect(found).toHaveLength(1);
  expect(asked[0]).toMatchObject({ sourceKinds: expect.arrayContaining(['exec']) as unknown });
  const body = { provider: 'codex' as const, import: { ref: 'thread-own' } };
  const { id }: Session = await harness.client.call(endpoints.createSession, { body });
  const at = { params: { session_id: id }, query: {} };
  const past = (await harness.client.call(endpoints.listPastTurns, at)).toReversed();
  expect(past.map(({ prompt, occurred_at }) => [prompt, occurred_at])).toEqual([
    ['one', 100_000],
    ['two', 200_000],
  ]);
  expect(past[0]?.items).toEqual([
    { kind: 'message', status: 'completed', title: null, text: 'answer to one' },
    { kind: 'tool', status: 'failed', title: 'ls', text: 'nothing' },
  ]);
});

it('An import of a thread that codex does not have is refused.', async () => {
  const { behavior } = threadOf(() => '/');
  const harness = await testRawCodex(behavior);
  const body = { provider: 'codex' as const, import: { ref: 'another' } };
  await expectError(harness.client.call(endpoints.createSession, { body }), 'not_found');
});

it.skipIf(!hasProc)(
  'An import of a thread whose writer lock another process holds is refused with its process id.',
  async () => {
    let cwd = '/';
    const { behavior } = threadOf(() => cwd);
    const harness = await testRawCodex(behavior);
    cwd = harness.cwd;
    const locks = path.join(harness.cwd, '.codex', 'thread-writer-locks');
    fs.mkdirSync(locks, { recursive: true });
    const file = path.join(locks, 'thread-own.lock');
    fs.writeFileSync(file, '');
    const { spawn } = await import('node:child_process');
    const holder = spawn('flock', ['--no-fork', file, 'sleep', '60'], { stdio: 'ignore' });
    let waiter: ReturnType<typeof spawn> | undefined;
    try {
      const params = { provider: 'codex' as const };
      const list = () => harness.client.call(endpoints.listConversations, { params, query: {} });
      const held = [{ in_use: { pid: holder.pid, program: 'codex' } }];
      await expectEventually(list, scaled(10_000)).toMatchObject(held);
      waiter = spawn('flock', ['--no-fork', file, 'true'], { stdio: 'ignore' });
      const locked = () => fs.readFileSync('/proc/locks', 'utf8');
      await expectEventually(locked, scaled(10_000)).toContain(`WRITE ${waiter.pid} `);
      expect(await list()).toMatchObject(held);
      const body = { provider: 'codex' as const, import: { ref: 'thread-own' } };
      await expectError(
        harness.client.call(endpoints.createSession, { body }),
        'conflict',
        `process ${holder.pid}`,
      );
    } finally {
      waiter?.kill('SIGKILL');
      holder.kill('SIGKILL');
    }
  },
);
