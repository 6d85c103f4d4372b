import fs from 'node:fs';
import { expect, test } from 'vitest';
import { sqlWasm } from '../../../src/core/lib/self.ts';
import { openConnection } from '../../../src/core/store/connection.ts';
import { newestFormat } from '../../../src/core/store/migrate.ts';
import { change, dump, storeIn } from '../../releases/dump.ts';
import { cadreOn, runHere } from '../../support/cli/cadre.ts';
import { scaled } from '../../support/patience.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { runTurn } from '../../support/turns.ts';
import { askAll } from './answers.ts';
import { bytesIn } from './bytes-in.ts';
import { formatsOfRun } from './campaign.ts';
import { lossesOf } from './losses.ts';
import { type OldData, withOldData } from './old-data.ts';

const timeout = scaled(120_000);

test.for(formatsOfRun())(
  'A start on data of format %i shows all that its server showed, a session continues, and the check finds no fault.',
  { timeout },
  (format) =>
    withOldData(format, async (old) => {
      const server = await startUnjudged(old.directory);
      try {
        const { answers } = await askAll((pathname) => get(server, pathname));
        expect(Object.keys(old.answers).length).toBeGreaterThan(20);
        expect(lossesOf(old.answers, answers)).toEqual([]);
        const { turn } = await runTurn(server.client, old.session, 'history');
        expect(turn).toMatchObject({
          status: 'completed',
          text: expect.stringMatching(/turns: 3/),
        });
        expect((await cadreOn(server)(['db', 'check'])).stdout).toMatch(/: ok\n$/);
      } finally {
        await server.end('SIGTERM');
      }
    }),
);

test.for(formatsOfRun())(
  'The copy that a start makes of data of format %i has every byte of the older database, and a rollback restores its rows.',
  { timeout },
  (format) =>
    withOldData(format, async (old) => {
      const file = await checkpointed(old);
      const server = await startUnjudged(old.directory);
      await runTurn(server.client, old.session, 'say newer');
      await server.end('SIGKILL');
      expect(fs.readFileSync(old.copy).equals(file)).toBe(true);
      expect(await dump(old.copy)).toEqual(old.before);
      const done = await runHere(old.directory, [...rollback(old), '--json']);
      expect(done.code).toBe(0);
      expect(await dump(storeIn(old.directory))).toEqual(old.before);
      const { replaced } = JSON.parse(done.stdout) as { replaced: string };
      expect(JSON.stringify(await dump(replaced))).toContain('say newer');
      // The way back can be gone again.
      const again = await startUnjudged(old.directory);
      const { answers } = await askAll((pathname) => get(again, pathname));
      await again.end('SIGTERM');
      expect(lossesOf(old.answers, answers)).toEqual([]);
    }),
);

test(
  'A start refuses data of the next format, names its version, and changes no byte.',
  { timeout },
  () =>
    withOldData(newestFormat, async ({ directory }) => {
      await (await startServer(directory)).end('SIGTERM');
      const next = newestFormat + 1;
      await change(
        directory,
        `PRAGMA user_version = ${next}; UPDATE meta SET value = '9.1.0' WHERE key = 'written_by'`,
      );
      const before = bytesIn(directory);
      await expect(startServer(directory)).rejects.toThrow(
        `the data directory has data format ${next} of cadre 9.1.0, but cadre`,
      );
      expect(bytesIn(directory)).toEqual(before);
    }),
);

/** Starts a server without the check of its responses: older events lack fields that newer ones have. */
function startUnjudged(directory: string): Promise<TestServer> {
  return startServer(directory, { env: { NODE_OPTIONS: '' } });
}

/** Returns the bytes of the database of a copy of the directory once its log is written back. */
async function checkpointed({ directory }: OldData): Promise<Buffer> {
  const copy = `${directory}-copy`;
  fs.cpSync(directory, copy, { recursive: true });
  {
    using connection = await openConnection({ wasm: sqlWasm, directory: copy });
    connection.sql.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  }
  return fs.readFileSync(storeIn(copy));
}

function rollback({ directory }: OldData): string[] {
  return ['--data-dir', directory, 'db', 'rollback', '--yes'];
}

/** Returns a response as plain JSON. Undefined for a path that is not found. */
async function get({ url, token }: TestServer, pathname: string): Promise<unknown> {
  const response = await fetch(url + pathname, { headers: { authorization: `Bearer ${token}` } });
  return response.ok ? response.json() : undefined;
}
