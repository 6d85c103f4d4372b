import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { RuntimeEventRecord } from '../../../src/api/events.ts';
import type { FromServer, Servers } from '../../../src/client/servers.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import { tailAll } from '../../../src/frontends/cli/tail-all.ts';
import type { CommandContext } from '../../../src/frontends/cli/command-io.ts';
import { testDirectory } from '../../support/temp.ts';

/** Servers of a fleet, whose events have the epoch of their log. */
function fleetWith(seqs: readonly number[]): Servers {
  async function* events(): AsyncGenerator<FromServer> {
    for (const seq of seqs) {
      const event = { seq, kind: 'session.created', created_at: 0, payload: {} };
      yield { node: 'gpu', epoch: 'epoch_1', event: event as unknown as RuntimeEventRecord };
    }
  }
  return {
    list: async () => [{ name: 'gpu' }],
    streamEvents: () => Object.assign(events(), { cursor: () => 'position' }),
  } as unknown as Servers;
}

test('A tail of a fleet as JSON writes no event again that is in the output behind the cursor.', async () => {
  const directory = testDirectory('tail');
  const output = path.join(directory, 'events');
  const cursorFile = path.join(directory, 'cursor');
  fs.writeFileSync(cursorFile, JSON.stringify({ cursor: 'position', bytes: 0 }));
  fs.writeFileSync(output, '{"node":"gpu","epoch":"epoch_1","seq":7,"kind":"session.created"}\n');
  const stdout = fs.createWriteStream(output, { flags: 'a', fd: fs.openSync(output, 'a') });
  const context = {
    global: { json: true },
    io: {
      stdout: Object.assign(stdout, { fd: fs.openSync(output, 'a') }),
      stderr: process.stderr,
      clock: systemClock,
      interrupted: () => new AbortController().signal,
    },
  } as unknown as CommandContext;
  await tailAll(context, fleetWith([6, 7, 8]), { cursorFile, follow: false });
  const lines = fs.readFileSync(output, 'utf8').trimEnd().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { seq: number }).seq)).toEqual([7, 8]);
});
