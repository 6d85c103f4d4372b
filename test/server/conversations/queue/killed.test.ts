import { expect, it } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import type { QueueEntry } from '../../../../src/api/queue.ts';
import type { Client } from '../../../../src/client/client.ts';
import { atLength } from '../../../support/at-length.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { scaled } from '../../../support/patience.ts';
import { testServer } from '../../../support/server.ts';
import { seededRandom } from '../../../support/random.ts';
import { testDirectory } from '../../../support/temp.ts';
import { openSession } from '../../../support/turns.ts';
import type { UntypedEvent } from '../../../support/untyped-events.ts';

/** `KILLS=60` for a longer run. */
const KILLS = Number(process.env.KILLS ?? atLength(1, 2, 2));
const SEED = Number(process.env.SEED || 0) || Math.trunc(Date.now() % 1e9);
const ADDED_AT_ONCE = 12;

it(
  'A server that is killed while entries are accepted, come due, begin and end starts the turn of each once.',
  { timeout: scaled(60_000 + KILLS * 10_000) },
  async () => {
    const directory = testDirectory('queue-killed');
    const below = dice(seededRandom(SEED));
    let server = await testServer({ directory });
    const sessions = [
      await openSession(server.client, directory),
      await openSession(server.client, directory),
    ];
    const accepted: string[] = [];
    for (let kill = 0; kill < KILLS; kill++) {
      const killAt = accepted.length + 1 + below(ADDED_AT_ONCE - 1);
      const running = server;
      const adding = Array.from({ length: ADDED_AT_ONCE }, async (_, at) => {
        const session_id = sessions[at % sessions.length]?.id ?? '';
        const { id } = await add(running.client, session_id, below);
        if (accepted.push(id) === killAt) void running.end('SIGKILL');
      });
      await Promise.allSettled(adding);
      await running.exited;
      server = await testServer({ directory });
    }
    const { client } = server;
    await expectEventually(
      () => client.call(endpoints.listQueue, { query: {} }),
      scaled(30_000),
    ).toEqual([]);
    const events = await allEvents(client);
    const added = idsOf(events, 'queue.added');
    expect(added, `with SEED=${SEED}`).toEqual(expect.arrayContaining(accepted));
    expect(idsOf(events, 'queue.started').toSorted(), `with SEED=${SEED}`).toEqual(
      added.toSorted(),
    );
    expect(idsOf(events, 'queue.removed').toSorted(), `with SEED=${SEED}`).toEqual(
      added.toSorted(),
    );
  },
);

type Dice = (limit: number) => number;
const dice =
  (random: () => number): Dice =>
  (limit) =>
    Math.floor(random() * limit);

function add(client: Client, session_id: string, below: Dice): Promise<QueueEntry> {
  const isLater = below(2) === 0;
  return client.call(endpoints.addToQueue, {
    params: { session_id },
    body: {
      input: { type: 'text', text: 'say done' },
      at: isLater ? Date.now() + below(300) : null,
    },
  });
}

async function allEvents(client: Client): Promise<UntypedEvent[]> {
  const events: UntypedEvent[] = [];
  for (let isMore = true; isMore;) {
    const query = { after_seq: events.at(-1)?.seq ?? 0, limit: 1000 };
    const page = (await client.call(endpoints.replayEvents, {
      query,
    })) as unknown as UntypedEvent[];
    events.push(...page);
    isMore = page.length > 0;
  }
  return events;
}

/** The entries of all events of a kind. */
function idsOf(events: readonly UntypedEvent[], kind: string): string[] {
  return events
    .filter((event) => event.kind === kind)
    .map(({ payload }) => (payload.entry as { id: string }).id);
}
