import fs from 'node:fs';
import path from 'node:path';
import { endpoints } from '../../../src/api/index.ts';
import { EPOCH_KIND } from '../../../src/fleet/mirrored.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import { untilDone } from '../../support/fleet/cluster.ts';
import { compareEvents } from '../../support/fleet/compare-events.ts';
import { DATABASE_FILE } from '../../support/store.ts';
import { FleetReader, withFleetHarness, settled, comparisons, wholeStream } from './harness.ts';
import { underLoad } from './load.ts';
import type { CampaignNode } from './node.ts';
import type { Scenario } from './scenario.ts';

const sleep = (ms: number) => systemClock.sleep(ms);

/** A backup is restored in the place of a server: another log, which says of which it is a copy, and up to where. */
export const restored: Scenario = () =>
  withFleetHarness({ servers: 1, nodes: 1 }, async (harness) => {
    await using reader = new FleetReader(harness);
    const [original] = harness.nodes;
    if (!original) throw new Error('the fleet has a server');
    await underLoad(harness.nodes, () => sleep(2000));
    const place = harness.place('restored');
    fs.mkdirSync(place);
    await backUp(original, path.join(place, DATABASE_FILE));
    await underLoad(harness.nodes, () => sleep(1500));
    await settled(harness, original);
    const { epoch } = await original.log();
    await original.end();
    harness.nodes.pop();
    const copy = await harness.join(original.name, { directory: place });
    await underLoad(harness.nodes, () => sleep(2000));
    await settled(harness, copy);
    const expected = await copy.expected();
    await settled(harness, copy);
    await reader.caughtUp(harness);
    const all = await wholeStream(harness);
    const mark = all.find(({ kind }) => kind === EPOCH_KIND);
    const parted = mark?.seq ?? 0;
    const now = (await copy.log()).epoch;
    const last = Math.max(...expected.keys());
    // The line of the copy: the events of the original up to where it parted from it, then its own.
    const line = <T extends { epoch: string; seq: number }>(of: readonly T[]) => [
      ...of.filter((one) => one.epoch === epoch && one.seq <= parted),
      ...of.filter((one) => one.epoch === now && one.seq <= last),
    ];
    const mirrored = all.filter(({ kind }) => kind !== EPOCH_KIND);
    return {
      parted,
      abandoned: all.filter((one) => one.epoch === epoch && one.seq > parted).length,
      comparisons: {
        copy: compareEvents(expected, line(mirrored)),
        'copy, reader': compareEvents(expected, line(reader.events)),
      },
    };
  });

/** A copied data directory is not a backup: the fleet refuses a copy that is behind, and a copy that has new events. */
export const copied: Scenario = () =>
  withFleetHarness({ servers: 1, nodes: 1 }, async (harness) => {
    const [original] = harness.nodes;
    if (!original) throw new Error('the fleet has a server');
    await underLoad(harness.nodes, () => sleep(1500));
    await original.end('SIGTERM');
    const places = ['behind', 'ahead'].map((name) => harness.place(name));
    for (const place of places) fs.cpSync(original.directory, place, { recursive: true });
    await original.start();
    await underLoad(harness.nodes, () => sleep(1500));
    await settled(harness, original);
    await original.end('SIGTERM');
    const said: unknown[] = [];
    for (const [i, directory] of places.entries()) {
      const copy = await harness.join(original.name, { directory });
      // The second one writes more than the original has, before it joins for the second time.
      if (i === 1) await goOn(copy, (await originalEnd(harness)) + 20);
      said.push(await refused(copy));
      await copy.end();
      harness.nodes.pop();
    }
    await original.start();
    return { said, comparisons: await comparisons(harness) };
  });

async function backUp({ server }: CampaignNode, file: string): Promise<void> {
  const response = await server.client.open(endpoints.backUpStorage, {});
  await fs.promises.writeFile(file, response, { mode: 0o600 });
}

async function originalEnd(harness: Parameters<typeof wholeStream>[0]): Promise<number> {
  return (await wholeStream(harness)).at(-1)?.seq ?? 0;
}

/** Has a copy write until its log is longer, and starts it again, so that it looks at the fleet with that log. */
async function goOn(copy: CampaignNode, until: number): Promise<void> {
  const { client } = copy.server;
  while ((await copy.log()).last < until)
    for (let i = 0; i < 20; i++)
      await client.call(endpoints.createSession, { body: { provider: 'acp' } });
  await copy.end('SIGTERM');
  await copy.start();
}

/** Waits until a copy reports that it is not part of the fleet, and returns the report. */
function refused(copy: CampaignNode): Promise<string | undefined> {
  return untilDone(async () => {
    const { state, detail } = (await copy.state()) ?? { state: 'off' };
    if (state !== 'diverged') throw new Error(`the copy is ${state}`);
    return detail;
  });
}
