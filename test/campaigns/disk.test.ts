import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import { settle } from '../support/settle.ts';
import { startServer } from '../support/server.ts';
import { canMount, onSmallDisk, refused, whole } from '../support/small-disk.ts';
import { openSession, runTurn } from '../support/turns.ts';

// The suite has the tests of such a disk: test/server/runtime/disk.test.ts.
describe.skipIf(!canMount)('a disk that is full', () => {
  it('A full disk loses nothing that was acknowledged, even if the server is killed.', () =>
    onSmallDisk(async ({ client, data, fill, free, kill }, directory) => {
      const acknowledged: string[] = [];
      const { id } = await openSession(client, directory);
      await runTurn(client, id, 'say once');
      fill();
      const refusal = await refused(async () => {
        acknowledged.push(
          (await openSession(client, directory, { metadata: 'x'.repeat(5000) })).id,
        );
      });
      expect(refusal).toMatchObject({ code: 'storage_full' });
      const before = await whole(client);
      free();
      const copy = path.join(directory, 'copy');
      fs.cpSync(data, copy, { recursive: true });
      await kill();
      const again = await startServer(copy);
      try {
        const kept = await again.client.call(endpoints.listSessions, { query: { limit: 500 } });
        expect(kept.map((session) => session.id)).toEqual(expect.arrayContaining(acknowledged));
        const now = settle(await whole(again.client));
        expect(now.slice(0, settle(before).length)).toEqual(settle(before));
      } finally {
        await again.end('SIGTERM');
      }
    }));
});
