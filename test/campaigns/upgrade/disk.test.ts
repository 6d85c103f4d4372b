import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { selfCommand } from '../../../src/core/lib/self.ts';
import { dump, storeIn } from '../../releases/dump.ts';
import { scaled } from '../../support/patience.ts';
import { below, seededRandom } from '../../support/random.ts';
import { untilNothingCarries } from '../../support/server.ts';
import { canMount } from '../../support/small-disk.ts';
import { tempDirectory } from '../../support/temp.ts';
import { campaign, formatsOfRun } from './campaign.ts';
import { makeOldData, type OldData } from './old-data.ts';
import { outcomeOf } from './outcome.ts';

/** More than a start needs, in pages of 4 KiB. */
const MOST_PAGES = 700;

test.skipIf(!canMount).for(formatsOfRun())(
  'A start on data of format %i on a full disk changes nothing that a start with more space does not complete.',
  { timeout: scaled(60_000 + campaign.kills * 20_000) },
  async (format) => {
    const random = seededRandom(campaign.seed + format);
    const whole = await startsOn(format, MOST_PAGES * 2);
    expect(whole.refused).toBeNull();
    const tally = { refused: 0, unchanged: 0 };
    for (let at = 0; at < campaign.kills; at++) {
      const pages = below(at % 2 ? MOST_PAGES / 4 : MOST_PAGES, random);
      const { refused, isUnchanged, outcome } = await startsOn(format, pages);
      if (refused !== null)
        expect(refused, `${pages} pages, SEED=${campaign.seed}`).toMatch(/no space|storage_full/);
      expect(outcome, `${pages} pages, SEED=${campaign.seed}`).toEqual(whole.outcome);
      if (refused !== null) tally.refused++;
      if (isUnchanged) tally.unchanged++;
    }
    console.info(
      `SEED=${campaign.seed}: format ${format}, ${campaign.kills} disks, ${tally.refused} starts refused, ` +
        `${tally.unchanged} left the older data`,
    );
  },
);

interface Starts {
  /** Output of the first start. Null if it was not refused. */
  refused: string | null;
  /** Whether the first start left the older data. */
  isUnchanged: boolean;
  outcome: Record<string, unknown>;
}

// The disk stays mounted while no server runs; the second start has more space.
const SCRIPT = `
mount -t tmpfs -o size=64m tmpfs "$0" && cp -a "$1" "$0/data" || exit 1
used=$(df -k --output=used "$0" | tail -n 1)
mount -o remount,size=$((used + $2 * 4))k tmpfs "$0" || exit 1
shift 2
"$@" 2>&1
echo ended
read -r _
mount -o remount,size=64m tmpfs "$0" || exit 1
"$@" 2>&1
echo ended
read -r _
`;

/** Starts on the data of a format with so many free pages on their disk, and again with more of them. */
async function startsOn(format: number, pages: number): Promise<Starts> {
  await using place = tempDirectory('disk');
  const source = path.join(place.path, 'source');
  const old = await makeOldData(format, source);
  const mounted = path.join(place.path, 'mounted');
  fs.mkdirSync(mounted);
  const began = Date.now();
  const child = spawn(
    'unshare',
    ['-rm', 'sh', '-c', SCRIPT, mounted, source, String(pages), ...serve(place.path, mounted)],
    {
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: true,
      env: { PATH: process.env.PATH ?? '', HOME: place.path, CADRE_DEMO_STATE: place.path },
    },
  );
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const copyOut = (name: string): OldData => {
    const directory = path.join(place.path, name);
    fs.cpSync(`/proc/${child.pid}/root${mounted}/data`, directory, { recursive: true });
    return { ...old, directory };
  };
  try {
    const refused = await outputOf(lines);
    const rows = await dump(storeIn(copyOut('first').directory));
    const isUnchanged = JSON.stringify(rows) === JSON.stringify(old.before);
    child.stdin.write('\n');
    expect(await outputOf(lines)).toBeNull();
    const outcome = await outcomeOf(copyOut('second'), began);
    return { refused, isUnchanged, outcome };
  } finally {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
    await exited;
    await untilNothingCarries(place.path);
  }
}

function serve(place: string, mounted: string): string[] {
  const config = path.join(place, 'config.toml');
  fs.writeFileSync(config, 'retention.min_free_bytes = 0\n');
  const { file, args } = selfCommand();
  const flags = ['--json', '--data-dir', path.join(mounted, 'data'), 'serve', '--port', '0'];
  return [file, ...args, ...flags, '--demo', '--config', config, '--log-level', 'error'];
}

/** Reads the output of a start, and stops the server if there is one; returns null then. */
async function outputOf(lines: AsyncIterator<string>): Promise<string | null> {
  let output = '';
  let isReady = false;
  for (let line = await lines.next(); line.value !== 'ended'; line = await lines.next()) {
    if (line.done) throw new Error(`the disk is gone: ${output}`);
    const ready = /^\{.*"url"/.test(line.value) ? (JSON.parse(line.value) as { pid?: number }) : {};
    if (ready.pid !== undefined) {
      isReady = true;
      process.kill(ready.pid, 'SIGTERM');
    }
    output += `${line.value}\n`;
  }
  return isReady ? null : output;
}
