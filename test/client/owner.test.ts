import { test } from 'vitest';
import { AppError, notFoundError, unreachableError } from '../../src/api/errors.ts';
import type { Client } from '../../src/client/client.ts';
import { ownerOf } from '../../src/client/owner.ts';
import type { ServerEntry } from '../../src/client/servers.ts';
import { expectError } from '../support/an-error.ts';

const id = `sess_${'0'.repeat(32)}`;

/** A server that answered a moment ago, and now fails with an error. */
function entryWith(name: string, error: AppError): ServerEntry {
  const client = { call: () => Promise.reject(error) } as unknown as Client;
  return { name, url: `http://${name}`, state: 'reachable', detail: null, client };
}

const lacksIt = entryWith('gpu', notFoundError('session not found'));
const find = (...entries: ServerEntry[]) => ownerOf(entries, id, () => Promise.resolve(null));

test('A record is reported as unreachable with the reason if a server stops or fails while it is asked.', async () => {
  const gone = entryWith('laptop', unreachableError('laptop is unreachable'));
  await expectError(find(gone), 'unreachable', /^laptop is unreachable$/);
  const damaged = entryWith('laptop', new AppError('storage_damaged', 'a row is damaged'));
  const why = `laptop: a row is damaged; "${id}" not found on any other server`;
  await expectError(find(damaged, lacksIt), 'unreachable', why);
  await expectError(find(lacksIt), 'not_found');
});
