import fs from 'node:fs';
import { expect, test } from 'vitest';
import { keepLogSmall, logFile, MAX_LOG_BYTES, ownLog } from '../../../src/core/lib/own-log.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { tempDirectory, testDirectory } from '../../support/temp.ts';

test('A log that is too large replaces the former log, and its writer starts again at the beginning.', async () => {
  const file = logFile(testDirectory('log'));
  const clock = new ManualClock();
  const writer = fs.openSync(file, 'a');
  using _small = keepLogSmall(file, clock);
  fs.writeSync(writer, 'x'.repeat(MAX_LOG_BYTES));
  clock.advance(10_000);
  expect(fs.existsSync(`${file}.1`)).toBe(false);
  fs.writeSync(writer, 'first');
  clock.advance(10_000);
  expect(fs.statSync(`${file}.1`).size).toBe(MAX_LOG_BYTES + 5);
  fs.writeSync(writer, 'second');
  expect(fs.readFileSync(file, 'utf8')).toBe('second');
  fs.writeSync(writer, 'y'.repeat(MAX_LOG_BYTES));
  clock.advance(10_000);
  expect(fs.readFileSync(`${file}.1`, 'utf8').slice(0, 7)).toBe('secondy');
  fs.closeSync(writer);
});

test('The log of a process that writes elsewhere is not its own log.', async () => {
  await using place = tempDirectory('log');
  expect(ownLog(place.path)).toBeNull();
  fs.writeFileSync(logFile(place.path), '');
  expect(ownLog(place.path)).toBeNull();
});
