import nodeFs from 'node:fs';
import path from 'node:path';
import { type Connection, openConnection } from './connection.ts';
import type { FileSystem } from './host/file-system.ts';

/** Opens a store that nobody else has open, and never changes it; `withoutLog`: as if it had no write-ahead log. */
export async function openReadOnly(
  file: string,
  wasm: () => Uint8Array,
  { withoutLog = false } = {},
): Promise<Connection> {
  const directory = path.dirname(path.resolve(file));
  const isThere = (name: string) =>
    !(withoutLog && name.endsWith('-wal')) && nodeFs.existsSync(name);
  const openSync = (name: string) =>
    nodeFs.openSync(isThere(name) ? name : '/dev/null', nodeFs.constants.O_RDONLY);
  const fs = { ...readOnly, openSync: openSync as FileSystem['openSync'] };
  return openConnection({ wasm, directory, fs }, path.basename(file));
}

/** Reads the files without changing them: closing a store would write its log back. A missing log counts as empty. */
const readOnly: Omit<FileSystem, 'openSync'> = {
  ...nodeFs,
  writeSync: refuse,
  ftruncateSync: refuse,
  fsyncSync: () => undefined,
  unlinkSync: () => undefined,
};

function refuse(): never {
  throw Object.assign(
    new Error('cannot write to the database file, because it is open only for reading'),
    { code: 'EROFS' },
  );
}
