// Shows that the program of each format continues after a rollback: `node test/campaigns/upgrade/way-back.main.ts [FORMAT...]`.
// It has to refuse the data of this version before, without a change, and to show all of its own data afterwards.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { newestFormat } from '../../../src/core/store/migrate.ts';
import { tempDirectory } from '../../support/temp.ts';
import { untilNothingCarries } from '../../support/server.ts';
import { askAll } from './answers.ts';
import { eachBundle } from './build-commit.ts';
import { bytesIn } from './bytes-in.ts';
import { lossesOf } from './losses.ts';
import { makeOldData } from './old-data.ts';
import { OldServer } from './old-server.ts';

const today = path.resolve(import.meta.dirname, '../../../dist/cadre.cjs');

await eachBundle(process.argv.slice(2).map(Number), goBack);

async function goBack(format: number, bundle: string): Promise<void> {
  // There is no way back within a format.
  if (format === newestFormat) return;
  await using place = tempDirectory('way-back');
  const directory = path.join(place.path, 'data');
  const { answers } = await makeOldData(format, directory);
  const newer = await OldServer.start(today, directory);
  await newer.post('/v1/sessions', { provider: 'acp', cwd: '/', title: 'newer' });
  await newer.end('SIGTERM');
  const refusal = await refusalOf(bundle, directory);
  const rollback = ['--data-dir', directory, 'db', 'rollback', '--yes'];
  execFileSync(process.execPath, [today, ...rollback], { stdio: 'ignore' });
  const older = await OldServer.start(bundle, directory);
  const losses = lossesOf(answers, (await askAll((pathname) => older.get(pathname))).answers);
  await older.end('SIGKILL');
  await untilNothingCarries(place.path);
  process.stdout.write(`format ${format}: ${losses.length} losses; ${refusal}\n`);
  for (const loss of losses.slice(0, 10)) process.stdout.write(`  ${loss.slice(0, 200)}\n`);
  if (losses.length > 0) process.exitCode = 1;
}

/** Starts a program on data that are newer than it; returns its error. Throws if it starts, or changes a file. */
async function refusalOf(bundle: string, directory: string): Promise<string> {
  const before = bytesIn(directory);
  const started = await OldServer.start(bundle, directory).catch(String);
  if (typeof started !== 'string') {
    await started.end('SIGKILL');
    throw new Error(`${bundle} started on newer data`);
  }
  const after = bytesIn(directory);
  const changed = Object.keys({ ...before, ...after }).filter(
    (name) => before[name] !== after[name],
  );
  if (changed.length > 0) throw new Error(`a refused start changed ${changed.join(', ')}`);
  const copy = fs.readdirSync(directory).find((name) => name.includes('before-v'));
  return `${started.trim()} (copy: ${copy})`;
}
