import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { type Ids, systemIds } from '../../../../src/core/lib/ids.ts';
import { FullDisk } from '../../../support/sessions/faults.ts';
import { testRuntime } from '../../../support/runtime.ts';
import {
  ended,
  endingsIn,
  eventsOf,
  Gate,
  logs,
  printed,
  ranTo,
  run,
} from '../../../support/processes/work.ts';
import { scaled } from '../../../support/patience.ts';

/** The next process has this id, so that its files can be there before it. */
class KnownIds implements Ids {
  readonly process = systemIds.next('proc');

  next(prefix: Parameters<Ids['next']>[0]): string {
    return prefix === 'proc' ? this.process : systemIds.next(prefix);
  }
}

test('A process whose output does not fit on the disk runs to its end, and the lost output is counted and marked.', async () => {
  const ids = new KnownIds();
  const given = await testRuntime({ ids });
  // Every write to this device fails as one to a full disk does.
  const file = path.join(given.directory, 'logs', `${ids.process}.stdout`);
  fs.symlinkSync('/dev/full', file);
  const over = await ranTo(given, 'seq 1 20000; echo error >&2; exit 4');
  expect(over).toMatchObject({
    status: 'failed',
    exit_code: 4,
    stdout_bytes: 108_894,
    stdout_truncated: true,
    stderr_bytes: 6,
    stderr_truncated: false,
  });
  expect(await logs(given, over)).toMatchObject({
    stdout: { content: '', bytes: 0, total_bytes: 108_894, truncated: true },
    stderr: { content: 'error\n', truncated: false },
  });
  expect(endingsIn(await eventsOf(given, over))).toHaveLength(1);
  const lines = given.logLines().filter(({ msg }) => /cannot store output/.test(String(msg)));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({ process_id: ids.process });
});

test('The end of a process is stored and reported once when a full store has room again.', async () => {
  const given = await testRuntime();
  using gate = new Gate(given.directory);
  const started = await run(given, `echo here; ${gate.wait}; echo last; exit 5`);
  await printed(given, started, 'here');
  using disk = new FullDisk();
  disk.full = true;
  gate.open();
  const refused = () => given.logLines().some(({ msg }) => msg === 'cannot store an outcome');
  await expect.poll(refused, { interval: 5, timeout: scaled(10_000) }).toBe(true);
  disk.full = false;
  expect(await ended(given, started)).toMatchObject({ status: 'failed', exit_code: 5 });
  expect((await logs(given, started)).stdout?.content).toBe('here\nlast\n');
  expect(endingsIn(await eventsOf(given, started))).toHaveLength(1);
});

test('A process that cannot be stored is refused with storage_full, and does not run.', async () => {
  const given = await testRuntime();
  using disk = new FullDisk();
  disk.full = true;
  const proof = path.join(given.directory, 'it-ran');
  await expect(run(given, `echo > '${proof}'`)).rejects.toMatchObject({ code: 'storage_full' });
  disk.full = false;
  expect((await ranTo(given, 'true')).status).toBe('completed');
  expect(fs.existsSync(proof)).toBe(false);
});
