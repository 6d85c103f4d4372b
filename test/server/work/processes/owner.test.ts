import { describe, expect, onTestFinished, test } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import type { Process } from '../../../../src/api/processes.ts';
import { apiOf, expectRefusal } from '../../../support/http/request.ts';
import { openStream } from '../../../support/http/stream.ts';
import { sharedRuntime, type TestRuntime, testRuntime } from '../../../support/runtime.ts';
import { scriptedProvider } from '../../../support/scripted-provider.ts';
import { testDirectory } from '../../../support/temp.ts';
import { openSession } from '../../../support/turns.ts';
import { ended, eventsOf, Gate, get, run } from '../../../support/processes/work.ts';

interface Cast {
  given: TestRuntime;
  api: ReturnType<typeof apiOf>;
  mine: string;
  other: string;
  /** A running process of the session `mine`. */
  owned: Process;
  /** A running process without a session. */
  free: Process;
  gate: Gate;
}

const options = () => ({ providers: [scriptedProvider()] });
const on = sharedRuntime(options());

/** Runs a test with two sessions, a process of one of them and a process without a session. */
async function twoOwners(given = on()): Promise<Cast> {
  const { client, directory } = given;
  const gate = new Gate(testDirectory('gate'));
  onTestFinished(() => gate[Symbol.dispose]());
  const [mine, other] = [
    (await openSession(client, directory)).id,
    (await openSession(client, directory)).id,
  ];
  const owned = await run(given, `echo mine; ${gate.wait}`, { session_id: mine });
  const free = await run(given, gate.wait);
  return { given, api: apiOf(given), mine, other, owned, free, gate };
}

const routes = [
  ['GET', ''],
  ['GET', '/logs'],
  ['GET', '/wait'],
  ['GET', '/events'],
  ['GET', '/events/stream'],
  ['GET', '/logs/stream'],
  ['POST', '/kill'],
] as const;

describe.for(routes)('%s /v1/processes/{process_id}%s', ([method, route]) => {
  test('A request with session_id is 404 for a process of another owner or of nobody, and for an unknown session.', async () => {
    const { given, api, mine, other, owned, free, gate } = await twoOwners();
    for (const [process, session] of [
      [owned, other],
      [owned, 'sess_0123'],
      [owned, ''],
      [free, mine],
    ] as const) {
      const path = `/v1/processes/${process.process_id}${route}?session_id=${session}`;
      const reply = await api(method, path);
      expect([path, reply.status]).toEqual([path, 404]);
      expect(reply.json()).toEqual({
        code: 'not_found',
        error: `process "${process.process_id}" not found`,
      });
    }
    for (const one of [owned, free]) expect((await get(given, one)).status).not.toBe('killed');
    gate.open(2);
    for (const one of [owned, free]) expect((await ended(given, one)).status).toBe('completed');
  });

  test('A request is answered for the owner of a process, and without session_id.', async () => {
    const { given, api, mine, owned, gate } = await twoOwners();
    gate.open(2);
    await ended(given, owned);
    for (const query of ['', `?session_id=${mine}`]) {
      const path = `/v1/processes/${owned.process_id}${route}${query}`;
      if (route.endsWith('/stream')) (await openStream(given, { path })).close();
      else expect((await api(method, path)).status).toBe(200);
    }
  });

  test('A request for an unknown process is 404.', async () => {
    const given = on();
    const reply = await apiOf(given)(method, `/v1/processes/proc_0123${route}`);
    expectRefusal(reply, 404, 'not_found');
  });
});

test('The list of a session has its processes alone; for an unknown session it is 404.', async () => {
  const { given, api, mine, other, owned, free } = await twoOwners(await testRuntime(options()));
  const list = async (query: object) =>
    (await given.client.call(endpoints.listProcesses, { query })).map((one) => one.process_id);
  expect(await list({ session_id: mine })).toEqual([owned.process_id]);
  expect(await list({ session_id: other })).toEqual([]);
  expect(await list({})).toEqual([free.process_id, owned.process_id]);
  expect((await api('GET', '/v1/processes?session_id=sess_0123')).status).toBe(404);
});

test('A process cannot be created for an unknown session.', async () => {
  const api = apiOf(on());
  for (const session_id of ['sess_0123', ''])
    for (const more of [{}, { on_exit: 'notify' }])
      expectRefusal(
        await api('POST', '/v1/processes', { body: { command: 'true', session_id, ...more } }),
        404,
        'not_found',
      );
});

test('Only the event scope of the owner has the events of its processes.', async () => {
  const { given, mine, other, owned, free, gate } = await twoOwners();
  gate.open(2);
  for (const one of [owned, free]) await ended(given, one);
  const ofSession = (session_id: string) =>
    given.client.call(endpoints.replaySessionEvents, { params: { session_id } });
  const events = await eventsOf(given, owned);
  expect(events.length).toBeGreaterThan(2);
  for (const event of events)
    expect(event).toMatchObject({ session_id: mine, turn_id: null, team_id: null });
  expect((await ofSession(mine)).filter(({ process_id }) => process_id !== null)).toEqual(events);
  expect((await ofSession(other)).filter(({ process_id }) => process_id !== null)).toEqual([]);
  for (const event of await eventsOf(given, free)) expect(event.session_id).toBeNull();
});
