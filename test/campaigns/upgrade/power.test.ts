import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { PowerDisk } from '../../core/store/power-disk.ts';
import { dump, storeIn } from '../../releases/dump.ts';
import { scaled } from '../../support/patience.ts';
import { below, seededRandom } from '../../support/random.ts';
import { integrity, openStore } from '../../support/store.ts';
import { campaign, formatsOfRun } from './campaign.ts';
import { withOldData } from './old-data.ts';

const IMAGES = campaign.kills * 5;

test.for(formatsOfRun())(
  'A power loss while data of format %i are migrated leaves the older data or the newer data, whole.',
  { timeout: scaled(60_000 + IMAGES * 3000) },
  (format) =>
    withOldData(format, async (old) => {
      const random = seededRandom(campaign.seed + format);
      const live = path.join(path.dirname(old.directory), 'live');
      copyStoreFiles(old.directory, live);
      using disk = new PowerDisk(live, () => {
        const turns = below(6, random);
        return { reported: turns, done: turns };
      });
      const from = disk.now;
      const copied = await migrateOn(live, disk);
      const after = await dump(storeIn(live));
      let older = 0;
      for (let at = 0; at < IMAGES; at++) {
        const moment = from + below(disk.now - from + 1, random);
        const image = path.join(path.dirname(old.directory), `image${at}`);
        const how = disk.image(moment, image, random);
        const label = `moment ${moment} of ${disk.now}, ${how}, SEED`;
        const found = await dump(storeIn(image));
        if (JSON.stringify(found) === JSON.stringify(old.before)) older++;
        else expect(moment, `${label}=${campaign.seed}`).toBeGreaterThan(copied);
        await migrate(image);
        expect(await dump(storeIn(image)), `${label}=${campaign.seed}`).toEqual(after);
      }
      console.info(
        `SEED=${campaign.seed}: format ${format}, ${IMAGES} images, ${older} with the older data`,
      );
    }),
);

/** Migrates on a disk; returns the moment at which the copy was whole. */
async function migrateOn(directory: string, disk: PowerDisk): Promise<number> {
  let copied = Infinity;
  const store = await openStore(directory, {
    fs: disk.fs,
    failpoint(name) {
      if (name === 'migration.copied') copied = disk.now;
    },
  });
  await store[Symbol.asyncDispose]();
  expect(copied).toBeLessThan(disk.now);
  return copied;
}

async function migrate(directory: string): Promise<void> {
  await using store = await openStore(directory);
  expect(integrity(store.db)).toBe('ok');
  expect(store.db.lost).toBeNull();
}

/** Copies the files of a store, which a disk that loses power has to itself. */
function copyStoreFiles(from: string, to: string): void {
  fs.mkdirSync(to);
  for (const name of fs.readdirSync(from).filter((one) => one.startsWith('events.cadre')))
    fs.copyFileSync(path.join(from, name), path.join(to, name));
}
