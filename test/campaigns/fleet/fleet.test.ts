import { expect, test } from 'vitest';
import { seeded } from '../crash/random.ts';
import { noFaults, type EventComparison } from '../../support/fleet/compare-events.ts';
import { scaled } from '../../support/patience.ts';
import { control } from './control.ts';
import * as copies from './copies.ts';
import * as natsFaults from './nats-faults.ts';
import * as node from './node-faults.ts';
import type { Scenario } from './scenario.ts';

/** How often each fault comes: once for each change, N times by `make fleet`. */
const times = Number(process.env.FLEET_TIMES ?? 1);
const seed = Number(process.env.SEED || Date.now() % 2 ** 31);

/** A minute and a half by `make fleet`: deltas of what was closed meanwhile have left the log by then. */
const outageSeconds = Number(process.env.FLEET_OUTAGE_SECONDS ?? 4);

const scenarios: Record<string, Scenario> = {
  'servers are killed at any moment, and around the commit of a batch': node.kills,
  'a server hangs while another writes as it': node.twoWriters,
  'a network swallows everything for longer than anybody waits': node.cutOff,
  'clocks are two hours wrong': node.clocks,
  'a backup takes the place of a server': copies.restored,
  'a copy of a directory runs as the same node': copies.copied,
  'the leader of the stream is killed': natsFaults.leaderKilled,
  'the leader of the stream hangs': natsFaults.leaderStopped,
  'NATS is down, and a server is killed meanwhile': natsFaults.outage,
  'the stream takes no more, until it gets room': natsFaults.full,
  'the stream is emptied': natsFaults.emptied,
  'all stores of NATS are set back': natsFaults.setBack,
};

/** The part that every change has to pass. */
const part: ReadonlySet<Scenario> = new Set([node.kills]);
const chosen = Object.entries(scenarios).filter(
  ([, scenario]) => process.env.FLEET !== 'part' || part.has(scenario),
);

test.for(chosen)(
  'No event is lost, doubled or out of order while %s.',
  { timeout: scaled(120_000 + times * 60_000) },
  async ([title, scenario]) => {
    process.stdout.write(`fleet campaign: ${title}, ${times} times, SEED=${seed}\n`);
    const { comparisons, ...summary } = await scenario({
      times,
      random: seeded(seed),
      outageSeconds,
    });
    process.stdout.write(`fleet campaign: ${JSON.stringify({ ...summary, comparisons })}\n`);
    for (const [whose, comparison] of Object.entries(comparisons)) {
      expect({ whose, ...comparison }).toMatchObject({ whose, ...noFaults });
      // A campaign in which nothing happened would find nothing.
      expect(comparison.received).toBeGreaterThan(0);
    }
  },
);

test.skipIf(process.env.FLEET === 'part')(
  'The comparison finds errors in a mirror that relies on message ids and a cursor of its own.',
  { timeout: scaled(240_000) },
  async () => {
    const comparison: EventComparison = await control({ times: 1, random: seeded(seed) });
    process.stdout.write(`fleet campaign: control ${JSON.stringify(comparison)}\n`);
    expect(comparison.doubled + comparison.disorder + comparison.lost).toBeGreaterThan(0);
  },
);
