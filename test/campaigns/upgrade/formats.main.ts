// Stores the data of each format of cadre for the upgrade campaign: `node test/campaigns/upgrade/formats.main.ts [FORMAT...]`.
// The last commit of each format is built, with the packages of this version or else with its own, and its server is
// used and killed.
import fs from 'node:fs';
import path from 'node:path';
import { untilNothingCarries } from '../../support/server.ts';
import { asDataDirectory } from '../../support/temp.ts';
import { eachBundle } from './build-commit.ts';
import { askAll } from './answers.ts';
import { cutOff, leaveAnApproval, writeData } from './drive.ts';
import { OldServer } from './old-server.ts';
import { packFormat } from './stored.ts';

/** The same for all versions, so that paths in the data do not depend on the machine. */
const PLACE = '/tmp/cadre-formats';

await eachBundle(process.argv.slice(2).map(Number), store);

async function store(format: number, bundle: string): Promise<void> {
  fs.rmSync(PLACE, { recursive: true, force: true });
  const directory = path.join(PLACE, 'data');
  asDataDirectory(directory);
  const first = await OldServer.start(bundle, directory);
  const session = await writeData(first, PLACE);
  await first.end('SIGKILL');
  await untilNothingCarries(PLACE);
  const second = await OldServer.start(bundle, directory);
  await leaveAnApproval(second);
  await second.end('SIGTERM');
  const third = await OldServer.start(bundle, directory);
  const { answers, seq } = await askAll((pathname) => third.get(pathname));
  await cutOff(third);
  await third.end('SIGKILL');
  await untilNothingCarries(PLACE);
  const bytes = packFormat(directory, { format, session, seq, answers });
  fs.rmSync(PLACE, { recursive: true });
  process.stdout.write(`format ${format}: ${bytes} bytes, seq ${seq}\n`);
  for (const line of [...first.refused, ...third.refused])
    process.stdout.write(`  ${line.slice(0, 200)}\n`);
}
