import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type Identity, isAlive } from '../../../src/core/children/identity.ts';
import {
  controlFrame,
  FrameReader,
  inputFrame,
  SHIM_VERSION,
  type ShimMessage,
} from '../../../src/core/children/shim/frames.ts';
import { KEPT_BYTES } from '../../../src/core/children/shim/outputs.ts';
import { socketPathOf } from '../../../src/core/children/shim/shim.ts';
import type { Clock } from '../../../src/core/lib/clock.ts';
import type { Child } from '../../../src/core/children/supervisor.ts';
import { endpoints } from '../../../src/api/index.ts';
import { remaining, untilNothingRemains } from '../../campaigns/crash/leftovers.ts';
import { stubbornAgent, stubbornProcesses } from '../../campaigns/stubborn-agent.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { scaled } from '../../support/patience.ts';
import { withRuntime } from '../../support/runtime.ts';
import { startServer, startServerWithAgent } from '../../support/server.ts';
import { keeperDirectory, LIMIT_MS, poll, sayUntil } from './keeper.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { testDirectory } from '../../support/temp.ts';
import {
  findKeeper,
  type Host,
  identified,
  keeperOfShim,
  openHost,
  ServerProcess,
} from './shim.ts';

/** Longer than any test, in milliseconds. */
const HOUR_MS = 3_600_000;
/** A grandchild that has left the group of the script, and ignores signals. `$DIR/grandchild` has its pid. */
const GRANDCHILD =
  'setsid /bin/sh -c \'trap "" TERM HUP; echo $$ > grandchild.new; mv grandchild.new grandchild; while :; do sleep 1; done\' &';

async function testHost(
  directory = testDirectory('shim'),
  ...more: [graceMs?: number, clock?: Clock]
): Promise<Host> {
  const host = await openHost(directory, ...more);
  onTestFinished(() => host[Symbol.asyncDispose]());
  return host;
}

async function testServer(
  directory: string,
  script: string,
  options: { graceMs?: number; env?: Record<string, string> } = {},
): Promise<{ server: ServerProcess; child: Identity; shim: Identity }> {
  const server = new ServerProcess(directory, script, options);
  onTestFinished(() => server.kill());
  const [child, shim] = await Promise.all([server.child, server.shim]);
  onTestFinished(() => {
    if (isAlive(shim)) process.kill(shim.pid, 'SIGKILL');
  });
  return { server, child, shim };
}

async function grandchildIn(directory: string): Promise<Identity> {
  const file = path.join(directory, 'grandchild');
  await expectEventually(() => fs.existsSync(file)).toBe(true);
  return identified(Number(fs.readFileSync(file, 'utf8')));
}

async function expectGone(...processes: Identity[]): Promise<void> {
  await expectEventually(() => processes.filter(isAlive)).toEqual([]);
}

/** The output of a child up to so many bytes. */
async function read(child: Child, bytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let count = 0;
  for await (const part of child.stdout.iterator({
    destroyOnReturn: false,
  }) as AsyncIterable<Buffer>) {
    parts.push(part);
    count += part.length;
    if (count >= bytes) break;
  }
  return Buffer.concat(parts);
}

const numbered = (lines: number): string =>
  Array.from({ length: lines }, (_, n) => `line ${n}\n`).join('');
const printing = (lines: number): string =>
  `i=0; while [ $i -lt ${lines} ]; do echo "line $i"; i=$((i+1)); done`;

test('A child in the shim has its own input, outputs, exit code and signal.', async () => {
  const { run, shim } = await testHost();
  expect(shim.process).toBeNull();
  const child = await run('read a; echo "out $a"; echo "error $a" >&2; cat; exit 7');
  expect(isAlive(shim.process?.identity as Identity)).toBe(true);
  child.stdin.write('one\ntwo');
  child.stdin.end();
  expect(await Promise.all([text(child.stdout), text(child.stderr)])).toEqual([
    'out one\ntwo',
    'error one\n',
  ]);
  expect(await child.exited).toEqual({ code: 7, signal: null });
  expect(await child.rest).toEqual([]);
  const killed = await run('kill -9 $$');
  expect(await killed.exited).toEqual({ code: null, signal: 'SIGKILL' });
  const wrong = await run('if; then');
  expect(await text(wrong.stderr)).toMatch(/syntax error/i);
});

test('A command that cannot be started in the shim is refused with the reason.', async () => {
  const { supervisor } = await testHost();
  const command = { command: '/bin/true', args: [], env: {}, what: 'nothing', outlives: true };
  const refused = supervisor.start({ ...command, cwd: '/no/such/directory' });
  await expect(refused).rejects.toThrow('cannot start the process "nothing"');
});

test('An end gives a child in the shim and its group time, and then kills them.', async () => {
  const { run, supervisor } = await testHost();
  const polite = await run(
    'trap "echo bye; exit 3" TERM; echo ready; while :; do sleep 0.05; done',
  );
  await read(polite, 6);
  expect(await polite.end(HOUR_MS)).toEqual([]);
  expect(await polite.exited).toEqual({ code: 3, signal: null });
  const stubborn = await run('trap "" TERM; sleep 1000 & echo $!; wait');
  const member = identified(Number(await read(stubborn, 1)));
  expect(supervisor.owns(member.pid)).toBe(true);
  expect(await stubborn.end(1)).toEqual([]);
  expect(await stubborn.exited).toEqual({ code: null, signal: 'SIGKILL' });
  expect(isAlive(member)).toBe(false);
  await stubborn.rest;
  await expectEventually(() => supervisor.live).toBe(0);
});

test('After a SIGKILL of its server, a child keeps running, and the next server gets each byte once.', async () => {
  const directory = testDirectory('shim');
  const script = `${printing(6000)}; read x; echo "got $x" >&2; exit 3`;
  const { server, child } = await testServer(directory, script);
  const expected = Buffer.from(numbered(6000));
  await server.report(({ bytes = 0 }) => bytes >= 40_000);
  server.order({ acknowledge: 40_000 });
  server.order({ write: ['', 'read'] });
  await server.report(({ took }) => took === 'read');
  await server.kill();

  const next = await testHost(directory);
  const [held] = next.shim.held;
  expect(held).toMatchObject({ pid: child.pid, started_ticks: child.startedTicks, exit: null });
  expect(held?.stdout.oldest).toBe(40_000);
  expect(held?.about.what).toBe('a script');
  expect(next.supervisor.attach(child.pid, 39_999)).toBeNull();
  expect(next.supervisor.attach(child.pid + 1, 40_000)).toBeNull();
  const from = 40_123;
  const attached = next.supervisor.attach(child.pid, from) as Child;
  expect(next.supervisor.attach(child.pid, from)).toBeNull();
  expect(next.supervisor.owns(child.pid)).toBe(true);
  attached.stdin.write('it\n');
  const [out, error] = await Promise.all([text(attached.stdout), text(attached.stderr)]);
  expect(out).toBe(expected.subarray(from).toString());
  expect(error).toBe('got it\n');
  expect(await attached.exited).toEqual({ code: 3, signal: null });
});

test('A child that exits while there is no server is reported to the next one, with its output.', async () => {
  const directory = testDirectory('shim');
  const script = 'sleep 1000 & echo $!; until [ -e go ]; do sleep 0.01; done; echo bye; exit 4';
  const { server, child } = await testServer(directory, script);
  const { text: said } = await server.report(({ text: whole }) => whole?.endsWith('\n') === true);
  const member = identified(Number(said));
  await server.kill();
  fs.writeFileSync(path.join(directory, 'go'), '');
  await expectGone(child, member);
  const next = await testHost(directory);
  await expectEventually(() => next.shim.held[0]?.exit).toEqual({ code: 4, signal: null });
  const attached = next.supervisor.attach(child.pid, 0) as Child;
  expect(await text(attached.stdout)).toBe(`${member.pid}\nbye\n`);
  expect(await attached.exited).toEqual({ code: 4, signal: null });
  expect(await attached.rest).toEqual([]);
});

test('The input of a child takes a message of each key once, also from another server.', async () => {
  const directory = testDirectory('shim');
  const { server, child } = await testServer(directory, 'cat');
  server.order({ write: ['one\n', '1'] });
  server.order({ write: ['again\n', '1'] });
  server.order({ write: ['two\n', '2'] });
  await server.report(({ took }) => took === '2');
  await server.report(({ text: said }) => said === 'one\ntwo\n');
  await server.kill();

  const next = await testHost(directory);
  const attached = next.supervisor.attach(child.pid, 0) as Child;
  await attached.writeInput('two again\n', '2');
  await attached.writeInput('three\n', '3');
  await attached.writeInput('without a key\n', '');
  await attached.writeInput('without a key\n', '');
  attached.stdin.end();
  expect(await text(attached.stdout)).toBe('one\ntwo\nthree\nwithout a key\nwithout a key\n');
});

test('A message reaches the input of a child whole or not at all.', async () => {
  const directory = testDirectory('shim');
  const { server, child } = await testServer(directory, 'cat');
  await server.kill();
  const raw = await connectRaw(directory);
  raw.send(controlFrame({ type: 'hello', version: SHIM_VERSION, grace_ms: HOUR_MS }));
  const { children } = await raw.welcome;
  const frame = inputFrame(children[0]?.child ?? 0, 'half', Buffer.from('a half message\n'));
  raw.send(frame.subarray(0, -4));
  await raw.close();

  const next = await testHost(directory);
  const attached = next.supervisor.attach(child.pid, 0) as Child;
  await attached.writeInput('a whole message\n', 'half');
  attached.stdin.end();
  expect(await text(attached.stdout)).toBe('a whole message\n');
});

test('A frame that is too long or unknown ends the connection, and leaves the children to the next server.', async () => {
  const directory = testDirectory('shim');
  const { server, child } = await testServer(directory, 'cat');
  await server.kill();
  for (const bad of ['ffffffff00', '0000000109', '00000003017b7d', '0000000201ff']) {
    const raw = await connectRaw(directory);
    raw.send(controlFrame({ type: 'hello', version: SHIM_VERSION, grace_ms: HOUR_MS }));
    await raw.welcome;
    raw.send(Buffer.from(bad, 'hex'));
    await raw.closed;
  }
  const next = await testHost(directory);
  expect(next.shim.held.map(({ pid }) => pid)).toEqual([child.pid]);
});

test('A child waits while 4 MiB of its output are kept, and continues after an acknowledgement.', async () => {
  const directory = testDirectory('shim');
  const total = 3 * KEPT_BYTES;
  const { server, child } = await testServer(
    directory,
    `until [ -e go ]; do sleep 0.01; done; head -c ${total} /dev/zero; : > written; sleep 1000`,
  );
  await server.kill();
  fs.writeFileSync(path.join(directory, 'go'), '');
  // Without a server the output grows up to the limit, and no further.
  const size = async () => {
    const raw = await connectRaw(directory);
    raw.send(controlFrame({ type: 'hello', version: SHIM_VERSION, grace_ms: HOUR_MS }));
    const { children } = await raw.welcome;
    await raw.close();
    return children[0]?.stdout.newest ?? 0;
  };
  await expect.poll(size, { timeout: 20_000 }).toBeGreaterThanOrEqual(KEPT_BYTES);
  for (let looks = 0; looks < 5; looks++) expect(await size()).toBeLessThan(KEPT_BYTES + 70_000);
  expect(fs.existsSync(path.join(directory, 'written'))).toBe(false);

  const next = await testHost(directory);
  const attached = next.supervisor.attach(child.pid, 0) as Child;
  let bytes = 0;
  attached.stdout.on('data', (chunk: Buffer) => attached.acknowledge((bytes += chunk.length)));
  await expectEventually(() => fs.existsSync(path.join(directory, 'written'))).toBe(true);
  await expectEventually(() => bytes).toBe(total);
});

test('A reader gets a line that is longer than what is kept, although it acknowledges only whole lines.', async () => {
  const { run } = await testHost();
  const child = await run(`head -c ${3 * KEPT_BYTES} /dev/zero | tr '\\0' x; echo`);
  expect((await text(child.stdout)).length).toBe(3 * KEPT_BYTES + 1);
});

test('When no server comes within the grace, nothing is left.', async () => {
  const directory = testDirectory('shim');
  const script = `${GRANDCHILD} echo; cat; sleep 1000`;
  const { server, child, shim } = await testServer(directory, script, { graceMs: 200 });
  const [grandchild, keeper] = [await grandchildIn(directory), keeperOfShim(shim)];
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.kill(shim.pid, name);
  await server.kill();
  await expectGone(child, grandchild, shim, keeper);
  expect(fs.existsSync(await socketPathOf(directory))).toBe(false);
});

test('A shim without children ends with its server.', async () => {
  const directory = testDirectory('shim');
  const { server, child, shim } = await testServer(directory, 'read x');
  server.order({ write: ['\n', ''] });
  await server.report(({ isOver }) => isOver === true);
  expect([isAlive(child), isAlive(shim)]).toEqual([false, true]);
  await server.kill();
  await expectGone(shim);
});

test('A SIGKILL of the shim ends its children, also those that left their group, and the next child gets another shim.', async () => {
  const directory = testDirectory('shim');
  const { run, shim, supervisor } = await testHost(directory);
  const child = await run(`${GRANDCHILD} echo $$; sleep 1000`);
  await read(child, 1);
  const first = shim.process?.identity as Identity;
  const killed = [identified(child.pid), await grandchildIn(directory), keeperOfShim(first)];
  process.kill(first.pid, 'SIGKILL');
  expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' });
  await child.writeInput('to nobody', 'key');
  await expectGone(first, ...killed);
  await expectEventually(() => supervisor.live).toBe(0);
  const next = await run('echo again');
  expect(await text(next.stdout)).toBe('again\n');
  expect(shim.process?.identity.pid).not.toBe(first.pid);
});

test('A SIGKILL of the shim and its keeper leaves nothing, because the server ends what they leave.', async () => {
  const directory = testDirectory('shim');
  const { run, shim } = await testHost(directory);
  const child = await run(`${GRANDCHILD} sleep 1000`);
  const first = shim.process?.identity as Identity;
  const left = [identified(child.pid), await grandchildIn(directory)];
  const keeper = keeperOfShim(first);
  process.kill(first.pid, 'SIGSTOP');
  for (const { pid } of [keeper, first]) process.kill(pid, 'SIGKILL');
  expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' });
  await expectGone(first, keeper, ...left);
});

test('A keeper that replaces a killed one knows the children of the shim.', async () => {
  const directory = testDirectory('shim');
  const { run, shim } = await testHost(directory);
  const child = await run(`${GRANDCHILD} sleep 1000`);
  const first = shim.process?.identity as Identity;
  const left = [identified(child.pid), await grandchildIn(directory)];
  const keeper = keeperOfShim(first);
  process.kill(keeper.pid, 'SIGKILL');
  const second = await poll('another keeper', () => {
    const found = findKeeper(first);
    return found?.pid !== keeper.pid && found;
  });
  expect(left.map(isAlive)).toEqual([true, true]);
  process.kill(first.pid, 'SIGKILL');
  await expectGone(...left, second);
});

test('A SIGKILL of the server and the shim together leaves nothing.', async () => {
  const directory = testDirectory('shim');
  const { server, child, shim } = await testServer(directory, `${GRANDCHILD} sleep 1000`);
  const left = [child, await grandchildIn(directory), keeperOfShim(shim)];
  process.kill(shim.pid, 'SIGSTOP');
  const killed = server.kill();
  process.kill(shim.pid, 'SIGKILL');
  await killed;
  await expectGone(shim, ...left);
});

test('The next start ends what a server, its shim and the keeper of the shim left when they died together.', async () => {
  const directory = testDirectory('shim');
  const { server, child, shim } = await testServer(directory, `${GRANDCHILD} sleep 1000`);
  const grandchild = await grandchildIn(directory);
  const { pid: keeper } = keeperOfShim(shim);
  for (const pid of [keeper, shim.pid]) process.kill(pid, 'SIGSTOP');
  await server.kill();
  for (const pid of [keeper, shim.pid]) process.kill(pid, 'SIGKILL');
  await expectGone(shim);
  expect([child, grandchild].map(isAlive)).toEqual([true, true]);
  const next = await testHost(directory);
  expect(next.shim.process).toBeNull();
  const killed = await next.ledger.sweep(next.log, null);
  expect(killed).toEqual(expect.arrayContaining([child.pid, grandchild.pid]));
  await expectGone(child, grandchild);
});

test('A sweep spares the shim that is connected, and the children that were taken over.', async () => {
  const directory = testDirectory('shim');
  const { server, child, shim } = await testServer(directory, `${GRANDCHILD} cat`);
  const grandchild = await grandchildIn(directory);
  await server.kill();
  const next = await testHost(directory);
  const attached = next.supervisor.attach(child.pid, 0) as Child;
  expect(await next.ledger.sweep(next.log, next.shim.process, [child])).toEqual([]);
  expect([child, shim, grandchild].map(isAlive)).toEqual([true, true, true]);
  await attached.writeInput('still here', '');
  expect((await read(attached, 10)).toString()).toBe('still here');
});

test('Children of an earlier server that the next one does not take over are ended.', async () => {
  const directory = testDirectory('shim');
  const { server, child, shim } = await testServer(directory, 'trap "" TERM; sleep 1000');
  await server.kill();
  const next = await testHost(directory);
  await next.supervisor.endUnattached();
  expect([child, shim].filter(isAlive)).toEqual([]);
  expect([next.supervisor.live, next.shim.held, next.shim.process]).toEqual([0, [], null]);
  const later = await next.run('echo later');
  expect(await text(later.stdout)).toBe('later\n');
});

test('The end of a child that is not taken over spares those that are.', async () => {
  const directory = testDirectory('shim');
  const first = await openHost(directory);
  const [kept, ended] = await Promise.all(
    ['cat', `${GRANDCHILD} sleep 1000`].map((script) => first.run(script)),
  );
  const left = [identified(ended?.pid ?? 0), await grandchildIn(directory)];
  first.shim.setGrace(HOUR_MS);
  await first.shim.leave();
  await first.db.close();
  const next = await testHost(directory);
  const attached = next.supervisor.attach(kept?.pid ?? 0, 0) as Child;
  await next.supervisor.endUnattached();
  await expectGone(...left);
  await attached.writeInput('still here', '');
  expect((await read(attached, 10)).toString()).toBe('still here');
});

test('A child at the spawn barrier ends with its server, and its command never runs.', async () => {
  const directory = testDirectory('shim');
  const env = { CADRE_FAILPOINTS: 'child.gated=kill' };
  const server = new ServerProcess(directory, 'echo > it-ran', { env });
  await server.exited;
  const socketPath = await socketPathOf(directory);
  await expectEventually(() => fs.existsSync(socketPath)).toBe(false);
  const next = await testHost(directory);
  expect(next.shim.process).toBeNull();
  expect(fs.existsSync(path.join(directory, 'it-ran'))).toBe(false);
});

test('A server ends a shim of another version.', async () => {
  const directory = testDirectory('shim');
  const said: unknown[] = [];
  const shim = net.createServer((socket) => {
    const reader = new FrameReader();
    socket.on('data', (chunk) => {
      for (const frame of reader.read(chunk)) {
        if (frame.type !== 'control') continue;
        said.push(frame.message.type);
        if (frame.message.type === 'end_all') socket.end();
        if (frame.message.type !== 'hello') continue;
        const welcome = { type: 'welcome', version: SHIM_VERSION + 1, pid: process.pid };
        socket.write(controlFrame(welcome as ShimMessage));
      }
    });
  });
  const socketPath = await socketPathOf(directory);
  const mask = process.umask(0o077);
  shim.listen(socketPath);
  process.umask(mask);
  onTestFinished(() => void shim.close());
  await once(shim, 'listening');
  const { shim: found } = await testHost(directory);
  expect(found.process).toBeNull();
  expect(said).toEqual(['hello', 'end_all']);
});

test('A shim obeys a server of another version that ends it.', async () => {
  const directory = testDirectory('shim');
  const { server, child, shim } = await testServer(directory, 'sleep 1000');
  await server.kill();
  const raw = await connectRaw(directory);
  raw.send(controlFrame({ type: 'hello', version: SHIM_VERSION + 1, grace_ms: HOUR_MS }));
  expect(await raw.welcome).toMatchObject({ version: SHIM_VERSION, pid: shim.pid });
  raw.send(controlFrame({ type: 'end_all' }));
  await raw.closed;
  await expectGone(child, shim);
});

test('A second server is refused while one is connected.', async () => {
  const directory = testDirectory('shim');
  const { server, child } = await testServer(directory, 'cat');
  const raw = await connectRaw(directory);
  raw.send(controlFrame({ type: 'hello', version: SHIM_VERSION, grace_ms: 0 }));
  await expect(raw.welcome).rejects.toThrow('ended the connection');
  server.order({ write: ['still yours\n', '1'] });
  await server.report(({ text: said }) => said === 'still yours\n');
  expect(isAlive(child)).toBe(true);
});

test('A server leaves its children and a note to the next one for a time, and its socket is private.', async () => {
  const directory = testDirectory('shim');
  const first = await openHost(directory, 0);
  const child = identified((await first.run('cat')).pid);
  first.shim.leaveNote('a sealed text');
  expect(fs.statSync(await socketPathOf(directory)).mode & 0o777).toBe(0o600);
  first.shim.setGrace(HOUR_MS);
  await first.shim.leave();
  await first.db.close();
  const next = await testHost(directory);
  expect(next.shim.note).toBe('a sealed text');
  const attached = next.supervisor.attach(child.pid, 0) as Child;
  attached.stdin.end('still here');
  expect(await text(attached.stdout)).toBe('still here');
});

test('Both outputs and the exit of a stored child are kept until the server has stored them.', async () => {
  const directory = testDirectory('shim');
  const first = await openHost(directory);
  const child = await first.run('echo out; echo error >&2; exit 4', {}, true);
  expect(await text(child.stderr)).toBe('error\n');
  await child.rest;
  await first.shim.leave();
  await first.db.close();

  const second = await openHost(directory);
  const attached = second.supervisor.attach(child.pid, 0, 0) as Child;
  const outputs = [attached.stdout, attached.stderr].map((output) => text(output));
  expect(await Promise.all(outputs)).toEqual(['out\n', 'error\n']);
  expect(await attached.exited).toEqual({ code: 4, signal: null });
  attached.forget();
  await second.shim.leave();
  await second.db.close();
  const third = await testHost(directory);
  expect(third.shim.process).toBeNull();
});

test('The outputs of a child end once they are quiet, although a process that left its group holds them.', async () => {
  const { run } = await testHost();
  const child = await run(`${GRANDCHILD} echo end`, {}, true);
  await child.rest;
  const end = text(child.stdout);
  expect(child.endOutputs()).toBe(true);
  expect(await end).toBe('end\n');
  child.forget();
});

test('The shim of a data directory with a long path is found by its runtime directory.', async () => {
  const runtime = testDirectory('run');
  vi.stubEnv('XDG_RUNTIME_DIR', runtime);
  onTestFinished(() => void vi.unstubAllEnvs());
  const directory = path.join(testDirectory('shim'), 'long'.repeat(30));
  fs.mkdirSync(directory);
  const env = { XDG_RUNTIME_DIR: runtime };
  const { server, child } = await testServer(directory, 'cat', { env });
  expect(path.dirname(await socketPathOf(directory))).toBe(path.join(runtime, 'cadre'));
  await server.kill();
  const next = await testHost(directory);
  expect(next.shim.held.map(({ pid }) => pid)).toEqual([child.pid]);
  fs.chmodSync(path.join(runtime, 'cadre'), 0o755);
  await expect(socketPathOf(directory)).rejects.toThrow('other users have access');
});

test('A shim that does not answer is killed.', async () => {
  const clock = new ManualClock();
  const directory = testDirectory('shim');
  const host = await testHost(directory, HOUR_MS, clock);
  const child = await host.run('sleep 1000');
  const shim = host.shim.process?.identity as Identity;
  process.kill(shim.pid, 'SIGSTOP');
  clock.advance(60_000);
  expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' });
  await expectGone(shim, identified(child.pid));
});

test('A server whose agents may outlive it runs turns as any other, and leaves nothing when it stops.', async () => {
  const directory = keeperDirectory();
  const server = await startServer(directory, { env: { CADRE_SERVER_REATTACH_MS: '60000' } });
  await sayUntil(server, 'say hello', /hello/);
  const { children } = await server.client.call(endpoints.getDiagnostics, {});
  const shim = identified(children.shim_pid ?? 0);
  const keeper = keeperOfShim(shim);
  expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null });
  expect([shim, keeper].filter(isAlive)).toEqual([]);
  expect(remaining(directory)).toEqual([]);
});

test('A server starts no shim by default.', async () => {
  const server = await startServer(keeperDirectory());
  await sayUntil(server, 'say hello', /hello/);
  const { children } = await server.client.call(endpoints.getDiagnostics, {});
  expect(children.shim_pid).toBeNull();
  expect(fs.existsSync(await socketPathOf(server.directory))).toBe(false);
  await server.end('SIGTERM');
});

test('After a SIGKILL of the server during a turn, a server without reattach_ms leaves nothing of it, and the turn fails.', async () => {
  const directory = keeperDirectory();
  const env = { CADRE_SERVER_REATTACH_MS: '60000' };
  const server = await startServerWithAgent(directory, stubbornAgent(directory), env);
  await sayUntil(server, 'say here; silent', /here/);
  const { children } = await server.client.call(endpoints.getDiagnostics, {});
  const shim = identified(children.shim_pid ?? 0);
  const agents = Object.values(stubbornProcesses(directory));
  await server.end('SIGKILL');
  expect(agents.every(isAlive)).toBe(true);
  await withRuntime(
    async ({ client }) => {
      expect(agents.filter(isAlive)).toEqual([]);
      expect(isAlive(shim)).toBe(false);
      const { turns_failed: failed } = await client.call(endpoints.getRecovery, {});
      expect(failed).toHaveLength(1);
    },
    { directory },
  );
  await expectGone(shim);
  expect(await untilNothingRemains(directory, scaled(LIMIT_MS))).toMatchObject({ left: [] });
});

interface RawConnection {
  send(bytes: Buffer): void;
  welcome: Promise<Extract<ShimMessage, { type: 'welcome' }>>;
  closed: Promise<unknown>;
  close(): Promise<unknown>;
}

/** A connection to the shim of a directory without the code of the server. A shim that refuses it is tried again. */
async function connectRaw(directory: string): Promise<RawConnection> {
  const socket = net.connect(await socketPathOf(directory));
  const closed = once(socket, 'close');
  socket.on('error', () => undefined);
  const welcome = Promise.withResolvers<Extract<ShimMessage, { type: 'welcome' }>>();
  const reader = new FrameReader();
  socket.on('data', (chunk) => {
    for (const frame of reader.read(chunk)) {
      if (frame.type === 'control' && frame.message.type === 'welcome')
        welcome.resolve(frame.message);
    }
  });
  void closed.then(() => welcome.reject(new Error('the shim has ended the connection')));
  await once(socket, 'connect');
  return {
    send: (bytes) => void socket.write(bytes),
    welcome: welcome.promise,
    closed,
    close: () => {
      socket.end();
      return closed;
    },
  };
}
