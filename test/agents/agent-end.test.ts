import { PassThrough, Readable, Writable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import type { Child, Supervisor } from '../../src/core/children/supervisor.ts';
import {
  agentEndOf,
  answered,
  lossOf,
  runProgram,
  tailOf,
} from '../../src/agents/agent-process.ts';
import {
  type ReadProgress,
  readJsonLines,
  NonProtocolOutput,
} from '../../src/agents/json-lines.ts';
import { ManualClock } from '../support/manual-clock.ts';

/** A child that exits when the test calls `exit`. */
function child(): Child & { exit: (code: number) => void; endings: number[] } {
  const { promise: exited, resolve } = Promise.withResolvers<Awaited<Child['exited']>>();
  const endings: number[] = [];
  return {
    outlives: false,
    sandbox: null,
    pid: 1,
    stdin: new Writable(),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    exited,
    rest: exited.then(() => []),
    writeInput: async () => undefined,
    acknowledge: () => undefined,
    endOutputs: () => false,
    forget: () => undefined,
    exit: (code) => resolve({ code, signal: null }),
    endings,
    async end(graceMs) {
      endings.push(graceMs);
      resolve({ code: null, signal: 'SIGKILL' });
      return [];
    },
  };
}

const untilIdle = async () => {
  for (let rounds = 0; rounds < 20; rounds++) await new Promise((resolve) => setImmediate(resolve));
};

const stderr = () => '';

test('Only the beginning of the output of a command is kept.', async () => {
  const given = child();
  const stdout = Readable.from(Array.from({ length: 100 }, () => Buffer.alloc(65_536, 'x')));
  stdout.once('end', () => given.exit(0));
  given.stderr.push(null);
  const supervisor = { start: () => Promise.resolve({ ...given, stdout }) };
  const program = { command: 'claude', args: [], env: {}, clock: new ManualClock() };
  const options = { ...program, supervisor: supervisor as unknown as Supervisor };
  const ended = await runProgram('claude', ['auth', 'status'], options, 1000);
  expect(ended).toEqual({ code: 0, stdout: 'x'.repeat(65_536), stderr: '' });
});

test('The reason is the error in the output of the agent, even if the exit was seen long before.', async () => {
  const clock = new ManualClock();
  const given = child();
  const ended = Promise.withResolvers<string | null>();
  let count = 0;
  const heard: ReadProgress = { ended: ended.promise, progress: () => count };
  const how = agentEndOf(given, { heard, stderr, clock });
  given.exit(0);
  for (let seconds = 0; seconds < 30; seconds++) {
    await untilIdle();
    count++;
    clock.advance(1000);
  }
  await untilIdle();
  ended.resolve('a line is too long');
  expect(await how).toBe('broke the protocol and was stopped: a line is too long');
});

test('The reason is the exit with the end of stderr if the output has no error.', async () => {
  const given = child();
  const heard = { ended: Promise.resolve(null), progress: () => 0 };
  const how = agentEndOf(given, { heard, stderr: () => 'no key', clock: new ManualClock() });
  given.exit(3);
  expect(await how).toBe('exited with code 3: no key');
  expect(given.endings).toEqual([]);
});

test('The reason is the exit if another process holds the output open and writes nothing.', async () => {
  const clock = new ManualClock();
  const given = child();
  const heard = { ended: new Promise<null>(() => undefined), progress: () => 0 };
  const how = agentEndOf(given, { heard, stderr, clock });
  given.exit(3);
  for (let seconds = 0; seconds < 3; seconds++) {
    await untilIdle();
    clock.advance(1000);
  }
  expect(await how).toBe('exited with code 3');
});

test('The reason is the closed output if the agent keeps running, and the agent is killed.', async () => {
  const clock = new ManualClock();
  const given = child();
  const heard = { ended: Promise.resolve(null), progress: () => 0 };
  const how = agentEndOf(given, { heard, stderr, clock });
  await untilIdle();
  clock.advance(1000);
  expect(await how).toBe('closed its output and was stopped');
  expect(given.endings).toEqual([0]);
});

test.each(['its output ends', 'it exits'])(
  'An agent is lost as soon as %s, before it is gone.',
  async (why) => {
    const given = child();
    const output = Promise.withResolvers<string | null>();
    const heard = { ended: output.promise, progress: () => 0 };
    const isLost = lossOf(given, heard);
    let isGone = false;
    void agentEndOf(given, { heard, stderr: () => '', clock: new ManualClock() }).then(
      () => (isGone = true),
    );
    await untilIdle();
    expect(isLost()).toBe(false);
    if (why === 'it exits') given.exit(0);
    else output.resolve(null);
    await untilIdle();
    expect([isLost(), isGone]).toEqual([true, false]);
  },
);

test('Reading makes progress while a line is handled, and ends with the first error.', async () => {
  const output = new PassThrough();
  const handled = Promise.withResolvers<void>();
  const heard = readJsonLines(output, (line) => {
    if (line.text === 'bad') throw new Error('it is bad');
    return handled.promise;
  });
  output.end('good\nbad\n');
  await untilIdle();
  expect(heard.progress()).toBeLessThan(heard.progress());
  handled.resolve();
  expect(await heard.ended).toBe('it is bad');
  expect(heard.progress()).toBe(heard.progress());
});

test('An agent is stopped after a thousand lines in a row that are not JSON.', () => {
  const nonProtocol = new NonProtocolOutput();
  for (let line = 1; line < 5000; line++) {
    nonProtocol.note(`hello ${line}`);
    if (line % 999 === 0) nonProtocol.reset();
  }
  nonProtocol.reset();
  const storm = () => {
    for (let line = 1; line <= 1000; line++) nonProtocol.note(`line ${line}`);
  };
  expect(storm).toThrow('the agent sent 1000 lines in a row that are not JSON: line 1000');
});

test('The last lines of stderr are returned without terminal control sequences.', async () => {
  const stderr = new PassThrough();
  const tail = tailOf(stderr);
  stderr.end('\u001B[31mred\u001B[0m\u0007\nlast\n');
  await untilIdle();
  expect(tail()).toBe('red | last');
});

test('The responses to requests are not kept in memory until the agent is gone.', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const end = Promise.withResolvers<string>();
  const limits = { ms: 1000, clock: new ManualClock(), gone: end.promise };
  const asked = async () => new WeakRef(await answered(Promise.resolve({ text: 'long' }), limits));
  const responses: WeakRef<object>[] = [];
  for (let nth = 0; nth < 20; nth++) responses.push(await asked());
  await untilIdle();
  collect();
  // The engine may keep some for itself.
  expect(responses.filter((one) => one.deref()).length).toBeLessThan(10);
  const never = new Promise(() => undefined);
  const waiting = [answered(never, limits), answered(never, limits)];
  end.resolve('exited with code 0');
  for (const one of waiting) await expect(one).rejects.toThrow('the agent exited with code 0');
  await expect(answered(never, limits)).rejects.toThrow('the agent exited with code 0');
});
