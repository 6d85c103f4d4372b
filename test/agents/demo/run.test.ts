import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { runDemoAgent } from '../../../src/agents/demo/index.ts';
import { selfCommand } from '../../../src/core/lib/self.ts';
import { testDirectory } from '../../support/temp.ts';
import { newSession, openWire, promptOf, run } from './wire.ts';

test('The agent ends when stdin ends, even during a turn.', async () => {
  const { wire, stdin, ended } = inProcess();
  const sessionId = await newSession(wire);
  wire.send('session/prompt', promptOf(sessionId, 'ignore-cancel; say ready; silent'));
  expect(await wire.line()).toContain('"ready"');
  stdin.end();
  await ended;
});

test.each(['before', 'after'])(
  'The agent ends if its signal aborts %s the start.',
  async (when) => {
    const stop = new AbortController();
    if (when === 'before') stop.abort();
    const { wire, ended } = inProcess(stop.signal);
    if (when === 'after') await newSession(wire);
    stop.abort();
    await expect(ended).resolves.toBeUndefined();
  },
);

test('The agent writes garbage as a separate line between its messages.', async () => {
  const { wire } = inProcess();
  const sessionId = await newSession(wire);
  wire.send('session/prompt', promptOf(sessionId, 'say a; garbage; say b'));
  expect(await wire.line()).toContain('"a"');
  expect(await wire.line()).toBe('this line is not JSON');
  expect(await wire.line()).toContain('"b"');
});

test('A request to close an unknown session is refused.', async () => {
  const { wire } = inProcess();
  await newSession(wire);
  // The client library would hide this error, because it treats "not found" as closed.
  const { error } = await wire.request('session/close', { sessionId: 'unknown' });
  expect(error).toMatchObject({ code: -32_002 });
});

test('The process exits when stdin ends.', async () => {
  const { wire, child, exit } = inChild(testDirectory());
  await newSession(wire);
  child.stdin.end();
  expect(await exit).toEqual([0, null]);
});

test('The process exits when its stdout is closed, although stdin stays open.', async () => {
  const { wire, child, exit } = inChild(testDirectory());
  await newSession(wire);
  child.stdout.destroy();
  wire.send('session/list', {});
  expect(await exit).toEqual([0, null]);
});

test('The process exits at once with the code of crash, and the next process knows the prompt.', async () => {
  const stateDir = testDirectory();
  const first = inChild(stateDir);
  const sessionId = await newSession(first.wire);
  first.wire.send('session/prompt', promptOf(sessionId, 'say ready; crash 7; say never'));
  expect(await first.wire.line()).toContain('"ready"');
  expect(await first.exit).toEqual([7, null]);
  await expect(first.wire.line()).rejects.toThrow('no more lines');

  const { wire } = inChild(stateDir);
  await wire.request('initialize', { protocolVersion: 1 });
  await wire.request('session/resume', { sessionId, cwd: '/work' });
  expect(await run(wire, sessionId, 'history')).toBe(
    'earlier turns: 1; last prompt: say ready; crash 7; say never',
  );
});

test('A spawned process survives the agent in a process group of its own.', async () => {
  const { wire, child, exit } = inChild(testDirectory());
  const sessionId = await newSession(wire);
  const said = await run(wire, sessionId, 'spawn 60000');
  const pid = Number(/^spawned (\d+)$/u.exec(said)?.[1]);
  onTestFinished(() => void process.kill(pid, 'SIGKILL'));
  child.stdin.end();
  expect(await exit).toEqual([0, null]);
  expect(process.kill(-pid, 0)).toBe(true); // throws if there is no such group
});

function inProcess(signal?: AbortSignal) {
  const stdin = new PassThrough();
  const stdout = new PassThrough();
  const stateDir = testDirectory();
  const ended = runDemoAgent({ stdin, stdout, stateDir, ...(signal && { signal }) });
  onTestFinished(() => void stdin.end());
  return { wire: openWire(stdin, stdout), stdin, ended };
}

function inChild(stateDir: string) {
  const { file, args } = selfCommand();
  const child = spawn(file, [...args, 'demo-agent'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'], CADRE_DEMO_STATE: stateDir },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { wire: openWire(child.stdin, child.stdout), child, exit: once(child, 'exit') };
}
