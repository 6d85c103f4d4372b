import { errors, type NatsConnection } from '@nats-io/transport-node';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { recordsOf } from '../../../src/client/records-of.ts';
import { FleetServers } from '../../../src/fleet/servers.ts';
import { AppError } from '../../../src/api/errors.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import { newUuid } from '../../../src/core/lib/ids.ts';
import { scaled } from '../../support/patience.ts';
import { type Random, seeded } from '../crash/random.ts';
import { type FleetHarness, withFleetHarness, names } from './harness.ts';

const times = Number(process.env.FLEET_TIMES ?? 1);
const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);

/** How many sessions are made at once, and how many by each of them. */
const CLIENTS = 4;
const CREATES = 10 * times;

/**
 * A session is asked for under one key until it is there, by a new client after each failure. Meanwhile nodes are killed,
 * and a fifth of the answers never arrives.
 */
test(
  'Each requested session is created exactly once in the fleet, even if nodes are killed and answers are lost.',
  { timeout: scaled(120_000 + times * 60_000) },
  async () => {
    process.stdout.write(`fleet campaign: creates, ${times} times, SEED=${seed}\n`);
    const random = seeded(seed);
    const found = await withFleetHarness({ servers: 1, nodes: 3 }, async (harness) => {
      const over = new AbortController();
      const killing = killAll(harness, random, over.signal);
      const clients = Array.from({ length: CLIENTS }, (_, i) =>
        createAll(harness, `c${i}`, random),
      );
      const made = (await Promise.all(clients)).flat();
      over.abort();
      const kills = await killing;
      return { kills, made, stored: await storedSessions(harness) };
    });
    process.stdout.write(`fleet campaign: ${found.made.length} creates, ${found.kills} kills\n`);
    expect(found.kills).toBeGreaterThan(0);
    // Title and id of each session that was answered, and of each that is stored on any node.
    expect(found.stored.toSorted()).toEqual(found.made.toSorted());
  },
);

async function createAll(harness: FleetHarness, client: string, random: Random): Promise<string[]> {
  const made: string[] = [];
  for (let i = 0; i < CREATES; i++) {
    const title = `${client}-${i}`;
    made.push(`${title} ${await createOne(harness, title, random)}`);
  }
  return made;
}

async function createOne(harness: FleetHarness, title: string, random: Random): Promise<string> {
  for (;;) {
    const visit = {
      connection: losingAnswers(harness.connection, random),
      names,
      user: 'campaign',
      scope: 'admin',
      clock: systemClock,
      newKey: newUuid,
    } as const;
    const chance = () => random.between(0, 999) / 1000;
    const servers = new FleetServers(visit, { labels: [], random: chance });
    const { client } = await servers.first();
    // Now and then a client ends before its response arrives, and another client continues.
    const patience = new AbortController();
    using _gone = systemClock.after(random.between(50, 8000), () => patience.abort());
    try {
      const body = { provider: 'acp', title } as const;
      const session = await client?.call(endpoints.createSession, { body }, patience.signal, title);
      if (session) return session.id;
    } catch (error) {
      const isExpected = error instanceof AppError || patience.signal.aborted;
      if (!isExpected) throw error;
      await systemClock.sleep(50);
    }
  }
}

/** A connection on which a fifth of the answers of nodes never arrives. */
function losingAnswers(connection: NatsConnection, random: Random): NatsConnection {
  const request: NatsConnection['request'] = async (subject, data, options) => {
    const answer = await connection.request(subject, data, options);
    if (!subject.includes('.api.') || !random.chance(0.2)) return answer;
    throw new errors.TimeoutError();
  };
  return new Proxy(connection, {
    get(own, name) {
      if (name === 'request') return request;
      const value: unknown = Reflect.get(own, name);
      return typeof value === 'function' ? (value.bind(own) as unknown) : value;
    },
  });
}

/** Kills one node after the other, and starts it again; returns how often. */
async function killAll(
  { nodes }: FleetHarness,
  random: Random,
  signal: AbortSignal,
): Promise<number> {
  let kills = 0;
  while (!signal.aborted) {
    await systemClock.sleep(random.between(100, 800));
    const node = random.pick(nodes);
    await node.end();
    await node.start();
    kills++;
  }
  return kills;
}

async function storedSessions({ nodes }: FleetHarness): Promise<string[]> {
  const stored: string[] = [];
  for (const { server } of nodes) {
    const records = recordsOf((query) => server.client.ask(endpoints.listSessions, { query }));
    for await (const { title, id } of records) stored.push(`${title} ${id}`);
  }
  return stored;
}
