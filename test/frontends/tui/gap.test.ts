import { expect, test } from 'vitest';
import type { Endpoint } from '../../../src/api/endpoint.ts';
import type { RuntimeEventRecord } from '../../../src/api/events.ts';
import { unreachableError } from '../../../src/api/errors.ts';
import { eventRoutes } from '../../../src/api/event-routes.ts';
import { endpoints } from '../../../src/api/index.ts';
import { type Answer, type CallInput, HttpClient } from '../../../src/client/client.ts';
import { replay } from '../../../src/client/replay.ts';
import type { FromServer, Servers } from '../../../src/client/servers.ts';
import { BATCH_MS } from '../../../src/frontends/tui/follow.ts';
import { JoinedOverview } from '../../../src/frontends/tui/joined-overview.ts';
import { type OverviewStore, ServerOverview } from '../../../src/frontends/tui/overview-store.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { testRuntime } from '../../support/runtime.ts';
import { scriptedProvider } from '../../support/scripted-provider.ts';
import { openSession } from '../../support/turns.ts';

/** A client whose stream begins with a gap, because it is opened past the end of the log. Each listing waits for the test. */
class LateClient extends HttpClient {
  /** The responses that list teams so far, each of which is withheld until it is resolved. */
  readonly listings: PromiseWithResolvers<void>[] = [];

  override async ask<E extends Endpoint>(endpoint: E, input: CallInput<E>, signal?: AbortSignal) {
    const answer = (await super.ask(endpoint, input, signal)) as Answer<never>;
    if (endpoint.path === endpoints.listTeams.path) {
      const held = Promise.withResolvers<void>();
      this.listings.push(held);
      await held.promise;
    }
    return answer;
  }

  override open<E extends Endpoint>(endpoint: E, input: CallInput<E>, signal?: AbortSignal) {
    const isStream = endpoint.path === eventRoutes.runtime.stream.path;
    const { query } = input as unknown as { query: object };
    const past = { ...(input as object), query: { ...query, after_seq: 1_000_000 } };
    return super.open(endpoint, isStream ? (past as CallInput<E>) : input, signal);
  }

  async listing(number: number): Promise<PromiseWithResolvers<void>> {
    await expectEventually(() => this.listings.length).toBeGreaterThanOrEqual(number);
    return this.listings[number - 1] as PromiseWithResolvers<void>;
  }
}

const testLate = async () => {
  const given = await testRuntime({ providers: [scriptedProvider()] });
  return { ...given, late: new LateClient(given), clock: new ManualClock() };
};

const knows = (store: OverviewStore, id: string) => () => store.overview.get().sessions.has(id);

test('A session that is created while the screen lists the server again after a gap in the events is shown.', async () => {
  const { client, directory, late, clock } = await testLate();
  const store = new ServerOverview({ client: late, clock, watches: 'everything' });
  store.start();
  (await late.listing(1)).resolve();
  const again = await late.listing(2);
  const { waiting } = clock;
  const { id } = await openSession(client, directory);
  await expectEventually(() => clock.waiting).toBe(waiting + 1);
  clock.advance(BATCH_MS);
  const listed = Promise.withResolvers<void>();
  store.server.subscribe(() => listed.resolve());
  again.resolve();
  await listed.promise;
  await expectEventually(knows(store, id)).toBe(true);
  store.stop();
  late.close();
});

test('After a gap in the events, the screen lists the server until the server answers.', async () => {
  const { late, clock } = await testLate();
  const store = new ServerOverview({ client: late, clock, watches: 'everything' });
  store.start();
  (await late.listing(1)).resolve();
  const failing = await late.listing(2);
  const { waiting } = clock;
  failing.reject(unreachableError('no server answers'));
  await expectEventually(() => clock.waiting).toBe(waiting + 1);
  clock.advance(500);
  (await late.listing(3)).resolve();
  store.stop();
  late.close();
});

test('A session that is created while the screen lists one of several servers twice is shown.', async () => {
  const { client, directory, late, clock } = await testLate();
  const { readable, writable } = new TransformStream<FromServer, FromServer>();
  const writer = writable.getWriter();
  const servers: Partial<Servers> = {
    list: () => Promise.resolve([]),
    named: (name) =>
      Promise.resolve({ name, url: late.url, state: 'reachable', detail: null, client: late }),
    streamEvents: () => Object.assign(readable, { cursor: () => '' }),
  };
  const store = new JoinedOverview(servers as Servers, clock);
  store.start();
  await writer.write({ node: 'gpu', notice: { state: 'reachable' } });
  const first = await late.listing(1);
  await writer.write({ node: 'gpu', notice: { state: 'gap', text: 'gap' } });
  const second = await late.listing(2);
  const { id } = await openSession(client, directory);
  const { value } = await replay(client, {}, { after_seq: 0, limit: 100 });
  const event = value.find(({ session_id }) => session_id === id) as RuntimeEventRecord;
  await writer.write({ node: 'gpu', event });
  first.resolve();
  second.resolve();
  await expectEventually(() => store.nodes.get()[0]?.state).toBe('live');
  await expectEventually(knows(store, id)).toBe(true);
  expect(store.overview.get().sessions.size).toBe(1);
  store.stop();
  late.close();
});
