import fs from 'node:fs';
import path from 'node:path';
import { beforeAll, expect, test, onTestFinished } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import type { Hook } from '../../../src/api/hooks.ts';
import { configSchema } from '../../../src/core/config/schema.ts';
import { pauseAfter } from '../../../src/server/hooks/runner.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { Receiver, type Received, signatureOf } from '../../support/hooks/receiver.ts';
import { scaled } from '../../support/patience.ts';
import { type TestRuntime, testRuntime } from '../../support/runtime.ts';
import { completed, scriptedProvider } from '../../support/scripted-provider.ts';
import { openStore } from '../../support/store.ts';
import { tempDirectory, testDirectory } from '../../support/temp.ts';
import { openSession } from '../../support/turns.ts';

const secret = 'a secret of a test, long enough';
const place = tempDirectory('hooks');
const secretFile = path.join(place.path, 'secret');

beforeAll(() => {
  fs.writeFileSync(secretFile, secret, { mode: 0o600 });
  return () => place[Symbol.asyncDispose]();
});

const provider = () => scriptedProvider((turn) => turn.end(completed));
const kinds = ['session.updated'];
/** A time limit, in ms, within which a receiver that answers has done so. */
const limit = scaled(500);

function posting(receiver: Receiver, more: object = {}) {
  return {
    name: 'post',
    kinds,
    url: receiver.url,
    secret_file: secretFile,
    timeout_ms: scaled(5000),
    ...more,
  };
}

/** Asks until it is so; seldom enough that the requests are not most of the work. */
function eventually<T>(ask: () => Promise<T>) {
  return expectEventually(ask, 10_000, 25);
}

/** Starts a receiver, and a server that has these hooks and a session. */
async function startWithHooks(
  hooksOf: (receiver: Receiver) => object[],
): Promise<[given: TestRuntime, receiver: Receiver, session: string]> {
  const receiver = await new Receiver().open();
  onTestFinished(() => receiver[Symbol.asyncDispose]());
  const config = { hooks: hooksOf(receiver) };
  const given = await testRuntime({ config, providers: [provider()] });
  await eventually(async () => (await hooksIn(given)).length).toBeGreaterThan(0);
  const { id } = await openSession(given.client, given.directory);
  return [given, receiver, id];
}

function rename({ client }: TestRuntime, session_id: string, title: string) {
  return client.call(endpoints.updateSession, { params: { session_id }, body: { title } });
}

const hooksIn = ({ client }: TestRuntime): Promise<Hook[]> => client.call(endpoints.listHooks, {});

async function hookIn(given: TestRuntime, name = 'post'): Promise<Hook> {
  const found = (await hooksIn(given)).find((one) => one.name === name);
  if (!found) throw new Error(`no hook ${name}`);
  return found;
}

const titles = (got: readonly Received[]) =>
  got.map(
    ({ body }) =>
      (JSON.parse(body) as { payload: { session: { title: string } } }).payload.session.title,
  );

async function eventsOf({ client }: TestRuntime, kind: string) {
  return client.call(endpoints.replayEvents, { query: { kind: [kind] } });
}

test('A POST has the event of the log, a signature, and no credential of the server.', async () => {
  const [given, receiver, session] = await startWithHooks((receiver) => [posting(receiver)]);
  await rename(given, session, 'one');
  await receiver.until(1);
  const [got] = receiver.got as [Received];
  const [event] = await eventsOf(given, 'session.updated');
  expect(JSON.parse(got.body)).toEqual(event);
  expect(got.headers).toMatchObject({
    'webhook-id': event?.id,
    'webhook-signature': signatureOf(got, secret),
    'cadre-hook': 'post',
    'cadre-event-kind': 'session.updated',
    'cadre-event-seq': String(event?.seq),
  });
  expect(JSON.stringify(got.headers)).not.toContain(given.token);
  await eventually(async () => hookIn(given)).toMatchObject({
    state: 'idle',
    waiting: 0,
    delivered: 1,
    target: new URL(receiver.url).origin,
  });
});

test.for([
  ['503', 503, []],
  ['a redirect to another place, which gets nothing', 307, ['Location: http://127.0.0.1:1/']],
] as const)(
  'A POST that is answered with %s is sent again, and the following events wait for it.',
  async ([, status, headers]) => {
    const [given, receiver, session] = await startWithHooks((receiver) => [posting(receiver)]);
    receiver.answer = (_got, reply) =>
      reply.send(receiver.got.length === 1 ? status : 200, '', headers);
    await rename(given, session, 'one');
    await rename(given, session, 'two');
    await receiver.until(1);
    await eventually(async () => hookIn(given)).toMatchObject({
      state: 'failing',
      waiting: 2,
      failure: {
        attempts: 1,
        error: expect.stringContaining(`responded with ${status}`) as string,
      },
    });
    await receiver.until(3);
    expect(titles(receiver.got)).toEqual(['one', 'one', 'two']);
    const ids = receiver.got.map(({ headers: { 'webhook-id': id } }) => id);
    expect(ids[0]).toBe(ids[1]);
    await eventually(async () => hookIn(given)).toMatchObject({
      state: 'idle',
      failure: null,
    });
  },
);

test('A POST without an answer in time, or with an endless answer, delays the hook only for its time limit.', async () => {
  const [given, receiver, session] = await startWithHooks((receiver) => [
    posting(receiver, { timeout_ms: limit }),
  ]);
  receiver.answer = ({ event }, reply) => {
    const nth = receiver.got.length;
    if (nth === 1) return;
    if (nth === 2) {
      reply.socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n');
      const flood = () => void reply.socket.write('x'.repeat(65_536), (error) => error ?? flood());
      return flood();
    }
    if (event) reply.send(204);
  };
  await rename(given, session, 'one');
  await receiver.until(1);
  await eventually(async () => hookIn(given)).toMatchObject({
    failure: { error: `the URL of the hook sent no response within ${limit} ms` },
  });
  await receiver.until(2);
  await rename(given, session, 'two');
  await receiver.until(3);
  // The status of the endless answer says that it was taken.
  expect(titles(receiver.got)).toEqual(['one', 'one', 'two']);
});

test('A POST is not sent to the server itself, nor with a secret that others may read.', async () => {
  const own = testDirectory('hooks');
  const open = path.join(own, 'open');
  fs.writeFileSync(open, secret, { mode: 0o644 });
  const [given, receiver, session] = await startWithHooks((receiver) => [
    posting(receiver, { secret_file: open }),
  ]);
  await rename(given, session, 'one');
  await eventually(async () => hookIn(given)).toMatchObject({
    failure: { error: expect.stringContaining('is readable for other users') as string },
  });
  expect(receiver.got).toEqual([]);
  const back = { name: 'back', kinds, url: `${given.url}/v1/hooks`, secret_file: secretFile };
  reload(given, { hooks: [back] });
  await eventually(async () => (await hooksIn(given)).map(({ name }) => name)).toEqual(['back']);
  await rename(given, session, 'two');
  await eventually(async () => hookIn(given, 'back')).toMatchObject({
    failure: {
      error: expect.stringContaining('is the address of this server itself') as string,
    },
  });
});

function reload({ runtime }: TestRuntime, config: object): void {
  runtime.reload(() =>
    configSchema.parse({ server: { bind_address: '127.0.0.1:0', drain_ms: 200 }, ...config }),
  );
}

test('The command of a hook gets the event on stdin, not in its arguments or environment.', async () => {
  const own = testDirectory('hooks');
  const out = path.join(own, 'out');
  const command = `{ cat; tr '\\0' '\\n' < /proc/$$/environ; tr '\\0' '\\n' < /proc/$$/cmdline; } > '${out}.new'; mv '${out}.new' '${out}'`;
  const [given, _receiver, session] = await startWithHooks(() => [
    { name: 'command', kinds, command },
  ]);
  const title = '$(touch /tmp/never) `id` "; rm -rf x';
  await rename(given, session, title);
  await expectEventually(() => fs.existsSync(out)).toBe(true);
  const [line = '', ...rest] = fs.readFileSync(out, 'utf8').split('\n');
  const [event] = await eventsOf(given, 'session.updated');
  expect(JSON.parse(line)).toEqual(event);
  expect(rest).toEqual(
    expect.arrayContaining([
      'CADRE_HOOK=command',
      `CADRE_EVENT_ID=${event?.id}`,
      `CADRE_EVENT_SEQ=${event?.seq}`,
      'CADRE_EVENT_KIND=session.updated',
      'CADRE_HOOK_ATTEMPT=1',
    ]),
  );
  expect(rest.join('\n')).not.toContain('touch /tmp/never');
  expect(rest.join('\n')).not.toContain(given.token);
});

test('A command that fails is run again with the same event, and the failure has its last words.', async () => {
  const own = testDirectory('hooks');
  const out = path.join(own, 'out');
  const command = `echo "$CADRE_HOOK_ATTEMPT $CADRE_EVENT_SEQ" >> '${out}'; [ "$CADRE_HOOK_ATTEMPT" = 2 ] || { echo 'no \u001b[31mway' >&2; exit 3; }`;
  const [given, _receiver, session] = await startWithHooks(() => [
    { name: 'command', kinds, command },
  ]);
  await rename(given, session, 'one');
  await eventually(async () => hookIn(given, 'command')).toMatchObject({
    failure: { error: expect.stringMatching(/^exit code 3: no /) as string },
  });
  await eventually(async () => hookIn(given, 'command')).toMatchObject({
    delivered: 1,
  });
  const [event] = await eventsOf(given, 'session.updated');
  expect(fs.readFileSync(out, 'utf8')).toBe(`1 ${event?.seq}\n2 ${event?.seq}\n`);
});

test('A command that fails is reported with its letters whole if they arrive in two parts.', async () => {
  const command = String.raw`for i in $(seq 100); do printf '\303' >&2; /bin/true; printf '\244' >&2; done; exit 3`;
  const [given, _receiver, session] = await startWithHooks(() => [
    { name: 'command', kinds, command },
  ]);
  await rename(given, session, 'one');
  await eventually(async () => (await hookIn(given, 'command')).failure).not.toBeNull();
  const { failure } = await hookIn(given, 'command');
  expect(failure?.error).toBe(`exit code 3: ${'ä'.repeat(100)}`);
});

test.for([
  ['runs too long', 'sleep 600', 'timed out after 300 ms'],
  ['prints without end', 'yes', 'printed more than'],
] as const)('A command that %s is ended.', async ([, command, error]) => {
  const [given, _receiver, session] = await startWithHooks(() => [
    { name: 'command', kinds, command, timeout_ms: command === 'yes' ? 60_000 : 300 },
  ]);
  await rename(given, session, 'one');
  await eventually(async () => hookIn(given, 'command')).toMatchObject({
    failure: { error: expect.stringContaining(error) as string },
  });
});

test('A user can let a hook skip the failing event or all events, which is an event itself.', async () => {
  const [given, receiver, session] = await startWithHooks((receiver) => [posting(receiver)]);
  // No word that the id of an event can contain.
  receiver.answer = ({ body }, reply) => reply.send(body.includes('wrong') ? 500 : 200);
  await rename(given, session, 'wrong');
  await rename(given, session, 'good');
  await receiver.until(1);
  const params = { hook_name: 'post' };
  const skip = (body: object) => given.client.call(endpoints.skipHook, { params, body });
  await expect(skip({ event_seq: 1 })).rejects.toMatchObject({ code: 'conflict' });
  const [event] = await eventsOf(given, 'session.updated');
  await skip({ event_seq: event?.seq });
  await receiver.until(2);
  expect(titles(receiver.got)).toEqual(['wrong', 'good']);
  await eventually(async () => hookIn(given)).toMatchObject({ state: 'idle' });
  await expect(skip({})).rejects.toMatchObject({ code: 'conflict' });
  await rename(given, session, 'wrong');
  await rename(given, session, 'wrong too');
  await receiver.until(3);
  await skip({ all: true });
  await eventually(async () => hookIn(given)).toMatchObject({
    state: 'idle',
    waiting: 0,
  });
  const skipped = await eventsOf(given, 'hook.skipped');
  expect(skipped.map(({ payload }) => payload)).toMatchObject([
    { hook: 'post', up_to_seq: event?.seq, by: 'api' },
    { hook: 'post', by: 'api' },
  ]);
});

test('The test of a hook sends a marked example, and changes no position.', async () => {
  const [given, receiver] = await startWithHooks((receiver) => [posting(receiver)]);
  const params = { hook_name: 'post' };
  const before = await hookIn(given);
  expect(await given.client.call(endpoints.testHook, { params })).toMatchObject({ ok: true });
  expect(receiver.got[0]?.event).toMatchObject({
    kind: 'session.updated',
    seq: 0,
    test: true,
  });
  receiver.answer = (_got, reply) => reply.send(410);
  expect(await given.client.call(endpoints.testHook, { params })).toMatchObject({
    ok: false,
    error: expect.stringContaining('410') as string,
  });
  const { cursor, delivered, failure } = await hookIn(given);
  expect({ cursor, delivered, failure }).toEqual({
    cursor: before.cursor,
    delivered: 0,
    failure: null,
  });
  await expect(
    given.client.call(endpoints.testHook, { params: { hook_name: 'none' } }),
  ).rejects.toMatchObject({ code: 'not_found' });
});

test('A reload can switch a hook off, and the hook continues where it was when it is on again.', async () => {
  const [given, receiver, session] = await startWithHooks((receiver) => [posting(receiver)]);
  await rename(given, session, 'one');
  await receiver.until(1);
  reload(given, { hooks: [posting(receiver, { enabled: false })] });
  await eventually(async () => hookIn(given)).toMatchObject({ state: 'off' });
  await rename(given, session, 'two');
  reload(given, { hooks: [] });
  await eventually(async () => hooksIn(given)).toEqual([]);
  await rename(given, session, 'three');
  reload(given, { hooks: [posting(receiver)] });
  await receiver.until(3);
  expect(titles(receiver.got)).toEqual(['one', 'two', 'three']);
});

test('A hook of a session gets events of its session alone.', async () => {
  await using receiver = await new Receiver().open();
  const own = testDirectory('hooks');
  const given = await testRuntime({ providers: [provider()], directory: own });
  const mine = await openSession(given.client, own);
  const other = await openSession(given.client, own);
  reload(given, { hooks: [posting(receiver, { session: mine.id })] });
  await eventually(async () => (await hooksIn(given)).length).toBe(1);
  await rename(given, other.id, 'other');
  await rename(given, mine.id, 'mine');
  await receiver.until(1);
  expect(titles(receiver.got)).toEqual(['mine']);
  expect((await hookIn(given)).scope).toEqual({ type: 'session', id: mine.id });
});

test('A new hook gets no earlier events, and after a restart all events that it has missed.', async () => {
  await using receiver = await new Receiver().open();
  const own = testDirectory('hooks');
  const open = (hooks: object[]) =>
    testRuntime({ providers: [provider()], config: { hooks }, directory: own });
  const first = await open([]);
  const { id } = await openSession(first.client, own);
  await rename(first, id, 'before');
  await first.stop();
  const second = await open([posting(receiver)]);
  await eventually(async () => (await hooksIn(second)).length).toBe(1);
  receiver.answer = (_got, reply) => reply.send(500);
  await rename(second, id, 'one');
  await rename(second, id, 'two');
  await receiver.until(1);
  await second.stop();
  receiver.answer = (_got, reply) => reply.send(200);
  await open([posting(receiver)]);
  await receiver.until(3);
  expect(titles(receiver.got)).toEqual(['one', 'one', 'two']);
});

test('A hook that causes events that match it is slowed down, and the list shows that.', async () => {
  const [given, receiver, session] = await startWithHooks((receiver) => [posting(receiver)]);
  let isLooping = true;
  receiver.answer = (_got, reply) => {
    if (!isLooping) return reply.send(200);
    // The event is stored before the answer, as if the receiver had waited for it.
    void rename(given, session, `title ${receiver.got.length}`).then(() => reply.send(200));
  };
  await rename(given, session, 'first');
  await eventually(async () => (await hookIn(given)).slowed_since).not.toBe(null);
  const before = receiver.got.length;
  expect(before).toBeGreaterThanOrEqual(58);
  isLooping = false;
  await eventually(async () => (await hookIn(given)).state).toBe('idle');
  expect(receiver.got.length - before).toBeLessThan(10);
});

test('A skip of an event while the hook is slowed down skips no other event.', async () => {
  await using receiver = await new Receiver().open();
  const own = testDirectory('hooks');
  const clock = new ManualClock();
  const config = { hooks: [posting(receiver)] };
  const given = await testRuntime({ clock, config, providers: [provider()], directory: own });
  const { id } = await openSession(given.client, own);
  // An event that is stored during the delivery of another belongs to the next round.
  for (let round = 1; round <= 60; round++) {
    await rename(given, id, `title ${round}`);
    await receiver.until(round);
  }
  for (const title of ['skipped', 'next', 'last']) await rename(given, id, title);
  await eventually(async () => (await hookIn(given)).slowed_since).not.toBe(null);
  const skip = { params: { hook_name: 'post' }, body: {} };
  await given.client.call(endpoints.skipHook, skip);
  clock.advance(1000);
  await receiver.until(62);
  expect(titles(receiver.got).slice(60)).toEqual(['next', 'last']);
});

test('An event and health report a hook that fails for five minutes, and its recovery.', async () => {
  await using receiver = await new Receiver().open();
  const own = testDirectory('hooks');
  const clock = new ManualClock();
  const config = { hooks: [posting(receiver)] };
  const given = await testRuntime({ clock, config, providers: [provider()], directory: own });
  await eventually(async () => (await hooksIn(given)).length).toBe(1);
  const { id } = await openSession(given.client, own);
  receiver.answer = (_got, reply) => reply.send(500);
  await rename(given, id, 'one');
  for (let attempt = 1; attempt <= 10; attempt++) {
    await eventually(async () => (await hookIn(given)).failure?.attempts).toBe(attempt);
    if (attempt === 9) expect(await eventsOf(given, 'hook.failing')).toEqual([]);
    if (attempt < 10) clock.advance(pauseAfter(attempt));
  }
  expect(await eventsOf(given, 'hook.failing')).toMatchObject([
    {
      payload: { hook: 'post', attempts: 10, error: expect.stringContaining('500') as string },
    },
  ]);
  expect(await given.client.call(endpoints.getHealth, {})).toMatchObject({
    status: 'degraded',
    checks: {
      hooks: {
        detail: expect.stringContaining('hook "post": has failed for 8 minutes') as string,
      },
    },
  });
  receiver.answer = (_got, reply) => reply.send(200);
  clock.advance(pauseAfter(10));
  await eventually(async () => (await hookIn(given)).state).toBe('idle');
  expect(await eventsOf(given, 'hook.recovered')).toMatchObject([{ payload: { hook: 'post' } }]);
  expect((await given.client.call(endpoints.getHealth, {})).checks.hooks).toEqual({
    status: 'ok',
  });
});

test('A hook whose events retention has removed reports that, and continues.', async () => {
  await using receiver = await new Receiver().open();
  const own = testDirectory('hooks');
  const clock = new ManualClock();
  const retention = { max_age_days: 1 };
  const config = { hooks: [posting(receiver)], retention };
  const given = await testRuntime({ clock, config, providers: [provider()], directory: own });
  const { id } = await openSession(given.client, own);
  await rename(given, id, 'one');
  await receiver.until(1);
  reload(given, { hooks: [posting(receiver, { enabled: false })], retention });
  await eventually(async () => (await hookIn(given)).state).toBe('off');
  await rename(given, id, 'lost');
  clock.advance(3 * 24 * 3_600_000);
  await eventually(async () => {
    clock.advance(10_000);
    return (await eventsOf(given, 'session.updated')).length;
  }).toBe(0);
  reload(given, { hooks: [posting(receiver)], retention });
  await eventually(async () => (await hookIn(given)).gap?.times).toBe(1);
  await rename(given, id, 'two');
  await receiver.until(2);
  expect(titles(receiver.got)).toEqual(['one', 'two']);
  expect(await eventsOf(given, 'hook.gap')).toMatchObject([{ payload: { hook: 'post' } }]);
});

test('Health and the list report a hook that cannot work; other hooks work.', async () => {
  const [given, receiver, session] = await startWithHooks((receiver) => [
    posting(receiver),
    { name: 'broken', kinds: ['turn.complete'], command: 'true' },
  ]);
  await rename(given, session, 'one');
  await receiver.until(1);
  const health = await given.client.call(endpoints.getHealth, {});
  expect(health).toMatchObject({
    status: 'degraded',
    checks: { hooks: { detail: expect.stringContaining('"turn.complete"') as string } },
  });
  expect(await hookIn(given, 'broken')).toMatchObject({ state: 'broken' });
});

test('The list of hooks reports a hook whose next event is damaged.', async () => {
  const own = testDirectory('hooks');
  const config = { hooks: [{ name: 'run', kinds, command: 'false' }] };
  const first = await testRuntime({ config, providers: [provider()], directory: own });
  const { id } = await openSession(first.client, own);
  await rename(first, id, 'one');
  await eventually(async () => (await hookIn(first, 'run')).failure?.event_seq ?? null).not.toBe(
    null,
  );
  await first.stop();
  {
    await using store = await openStore(own);
    const damage = store.db.prepare(
      "UPDATE events SET sum = sum + 1 WHERE kind = 'session.updated'",
    );
    await store.db.transact((tx) => damage.run(tx));
  }
  const next = await testRuntime({ config, providers: [provider()], directory: own });
  const failing = async () => (await hookIn(next, 'run')).failure?.event_seq;
  await eventually(failing).toBeNull();
  expect(await hookIn(next, 'run')).toMatchObject({ state: 'failing', waiting: 0 });
});
