import { afterEach, expect, test } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import type { AgentSink } from '../../../../src/agents/provider.ts';
import { type TestRuntime, withRuntime, testRuntime } from '../../../support/runtime.ts';
import {
  completed,
  type ScriptedProvider,
  scriptedProvider,
} from '../../../support/scripted-provider.ts';
import { shared } from '../../../support/shared.ts';
import { tempDirectory } from '../../../support/temp.ts';
import { send, withSession } from '../../../support/turns.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { openStream } from '../../../support/http/stream.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { longEvent, writeLog } from '../../../support/written-log.ts';

const PIECE = 'x'.repeat(30 * 1024);

/**
 * Produces more than the sockets between a server and a reader hold: 10 MB. Each text is in two events, a delta and the
 * whole item. One item for all texts would take longer to end.
 */
async function flood(sink: AgentSink): Promise<void> {
  for (let i = 0; i < 165; i++) {
    const type = i % 2 === 0 ? 'message' : 'reasoning';
    await sink.update({ type, text: `${i} ${PIECE}` });
  }
}

/** One turn that floods the log; answers the last seq. */
async function floodLog(given: TestRuntime, provider: ScriptedProvider): Promise<number> {
  const { client, id } = await withSession(given);
  const { turn_id } = await send(client, id, 'go');
  const turn = await provider.nextTurn();
  await flood(turn.sink);
  turn.end(completed);
  const status = async () =>
    (await client.call(endpoints.getTurn, { params: { session_id: id, turn_id } })).status;
  await expectEventually(status).toBe('completed');
  const { storage } = await client.call(endpoints.getDiagnostics, {});
  return storage.latest_seq;
}

/** As much as a flood, stored before the runtime starts whose time is in the hands of its tests. */
function sharedFlood() {
  const clock = new ManualClock();
  const at = shared<TestRuntime>('flood', async (use) => {
    await using directory = tempDirectory('flood');
    const events = Array.from({ length: 50 }, () => longEvent(200_000));
    await writeLog(directory.path, events);
    await withRuntime(use, { clock, directory: directory.path });
  });
  return { clock, at };
}

const lag = async ({ client }: TestRuntime) =>
  (await client.call(endpoints.getDiagnostics, {})).streams;

test('A reader that does not read disturbs no other, shows as lag, and gets everything later.', async () => {
  const provider = scriptedProvider();
  const given = await testRuntime({ providers: [provider] });
  const slow = await openStream(given, { paused: true });
  const fast = await openStream(given);
  const last = await floodLog(given, provider);
  await fast.untilSeq(last);
  expect(fast.seqs()).toEqual(Array.from({ length: last }, (_, i) => i + 1));
  expect(slow.seqs().length).toBeLessThan(last / 2);
  const streams = await lag(given);
  expect(streams).toMatchObject({ followers: 2, waiting: 1 });
  expect(streams.max_lag).toBeGreaterThan(100);
  slow.resume();
  await slow.untilSeq(last);
  expect(slow.text()).toBe(fast.text());
  await expectEventually(async () => (await lag(given)).max_lag).toBe(0);
  for (const stream of [slow, fast]) stream.close();
});

const { clock, at } = sharedFlood();
const followers = async () => (await lag(at())).followers;
afterEach(() => expectEventually(followers).toBe(0));

test('A reader that does not read may leave in the middle: nothing of it stays.', async () => {
  const slow = await openStream(at(), { paused: true });
  expect(await followers()).toBe(1);
  slow.close();
  await expectEventually(followers).toBe(0);
});

test('A reader that does not read gets no ping while it is behind, and one again once it has caught up.', async () => {
  const slow = await openStream(at(), { paused: true });
  await untilFull(at());
  const { storage } = await at().client.call(endpoints.getDiagnostics, {});
  clock.advance(60_000);
  slow.resume();
  await slow.untilSeq(storage.latest_seq);
  expect(slow.text()).not.toContain(': ping');
  await expectEventually(async () => (await lag(at())).waiting).toBe(1);
  clock.advance(10_000);
  await slow.until(() => slow.text().endsWith(`: ping ${storage.latest_seq}\n`));
  slow.close();
});

test('A reader that does not read is cut after 10 minutes in which it took nothing although there was something.', async () => {
  const slow = await openStream(at(), { paused: true });
  const idle = await openStream(at(), { path: '/v1/events/stream?after_seq=latest' });
  await untilFull(at());
  for (let minute = 0; minute < 11; minute++) clock.advance(60_000);
  try {
    await expectEventually(followers).toBe(1);
  } finally {
    for (const stream of [slow, idle]) stream.close();
  }
});

/** Waits until what was sent to who does not read fills all there is between it and the server: it comes no nearer. */
async function untilFull(given: TestRuntime): Promise<void> {
  for (let before = 0, same = 0; same < 20;) {
    const { max_lag } = await lag(given);
    same = max_lag > 0 && max_lag === before ? same + 1 : 0;
    before = max_lag;
  }
}
