import { headers } from '@nats-io/transport-node';
import { systemClock } from '../../../src/core/lib/clock.ts';
import { streamEvents } from '../../../src/client/stream.ts';
import type { MirroredMessage } from '../../../src/fleet/mirrored.ts';
import { compareEvents, type EventComparison } from '../../support/fleet/compare-events.ts';
import { type FleetHarness, withFleetHarness, names, wholeStream } from './harness.ts';
import { underLoad } from './load.ts';
import type { CampaignNode } from './node.ts';
import type { Random } from '../crash/random.ts';

const sleep = (ms: number) => systemClock.sleep(ms);
/** The node that the control writes as. */
const CONTROL = 'control';
/** As often does it keep how far it has come, in ms. */
const KEEP_MS = 700;

/**
 * Does the usual instead of the mirror: a message id for each event, and a cursor of one's own, kept now and then. It is
 * killed, as a server is, and starts again when NATS has forgotten the ids.
 */
export function control({ times }: { times: number; random: Random }): Promise<EventComparison> {
  return withFleetHarness({ servers: 1, nodes: 1 }, async (harness) => {
    const [node] = harness.nodes;
    if (!node) throw new Error('the fleet has a server');
    await forgetSoon(harness);
    const kept = { seq: 0 };
    await underLoad(harness.nodes, async () => {
      for (let i = 0; i < 3 * times; i++) {
        const life = new AbortController();
        const done = copy(harness, node, kept, life.signal);
        await sleep(2500);
        life.abort();
        await done;
        await sleep(1500);
      }
    });
    const all: MirroredMessage[] = await wholeStream(harness);
    const copied = all.filter((one) => one.node === CONTROL);
    const upTo = copied.at(-1)?.seq ?? 0;
    const expected = [...(await node.expected())].filter(([seq]) => seq <= upTo);
    return compareEvents(new Map(expected), copied);
  });
}

/** NATS remembers message ids for a second, instead of two minutes. */
async function forgetSoon({ connection }: FleetHarness): Promise<void> {
  const { jetstreamManager } = await import('@nats-io/jetstream');
  const manager = await jetstreamManager(connection);
  const { config } = await manager.streams.info(names.events);
  await manager.streams.update(names.events, { ...config, duplicate_window: 1e9 });
}

async function copy(
  { connection }: FleetHarness,
  { server: { client } }: CampaignNode,
  kept: { seq: number },
  signal: AbortSignal,
): Promise<void> {
  let keptAt = performance.now();
  const events = streamEvents({ client, clock: systemClock, after: kept.seq, signal });
  for await (const event of events) {
    const about = headers();
    about.set('Nats-Msg-Id', event.id);
    about.set('Cadre-Epoch', 'control');
    about.set('Cadre-Seq', String(event.seq));
    about.set('Cadre-Prev', '0');
    connection.publish(names.event(CONTROL, event.kind), JSON.stringify(event), { headers: about });
    if (performance.now() - keptAt < KEEP_MS) continue;
    keptAt = performance.now();
    kept.seq = event.seq;
  }
}
