import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import type { Session } from '../../../../src/api/sessions.ts';
import type { Child, Supervisor } from '../../../../src/children/supervisor.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { codexProvider } from '../../../../src/providers/codex/provider.ts';
import type { AgentSink } from '../../../../src/providers/provider.ts';

interface Asked {
  id?: number;
  method: string;
  params: Record<string, unknown>;
}

/** An app-server without a process, that answers what opening a thread needs. */
function fakeServer(heard: Asked[]): Child {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  createInterface({ input: stdin }).on('line', (line) => {
    const asked = JSON.parse(line) as Asked;
    heard.push(asked);
    const result = { userAgent: 'x/1.0.0', data: [], thread: { id: 'thread-1' } };
    if (asked.id !== undefined) stdout.write(`${JSON.stringify({ id: asked.id, result })}\n`);
  });
  const exited = once(stdin, 'end').then(() => {
    stdout.end();
    return { code: 0, signal: null };
  });
  return { pid: 1, stdin, stdout, stderr, exited, end: async () => void stdin.end() };
}

const sink: AgentSink = {
  update: () => undefined,
  ask: () => Promise.resolve({ decision: 'cancelled' }),
};

test('the MCP servers of a session are said at its start and at each resume, and need no permission', async () => {
  const heard: Asked[] = [];
  const supervisor = { start: async () => fakeServer(heard) } as unknown as Supervisor;
  const settings = { enabled: null, command: process.execPath, args: [], env: {}, home: null };
  const server = { command: 'cadre', args: ['mcp'], env: { A: 'b' } };
  const provider = codexProvider({
    settings,
    supervisor,
    clock: systemClock,
    mcpServersFor: ({ id }) => ({ [`of_${id}`]: server }),
  });
  const session = { id: 's1', cwd: '/w', provider_session_ref: null } as unknown as Session;
  const { signal } = new AbortController();
  for (const ref of [null, 'thread-1']) {
    const agent = await provider.open({ ...session, provider_session_ref: ref }, sink, signal);
    await agent.end(0);
  }
  const opened = heard.filter(({ method }) => /^thread\/(start|resume)$/.test(method));
  const config = {
    mcp_servers: { of_s1: { ...server, default_tools_approval_mode: 'approve' } },
  };
  expect(opened.map(({ method, params }) => [method, params.config])).toEqual([
    ['thread/start', config],
    ['thread/resume', config],
  ]);
});
