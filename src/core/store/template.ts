import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { configure, DATABASE_FILE, openHandle, sqlTools } from './connection.ts';
import { syncNow } from './copy-store.ts';
import { loadHostedSqlite } from './host/sqlite.ts';
import { createTables } from './migrate.ts';

/**
 * Returns the bytes of a database of the newest format that holds nothing, not even what identifies it. The build ships
 * it with the program; the same sources give the same bytes.
 */
export async function makeTemplate(wasm: () => Uint8Array): Promise<Buffer> {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'cadre-template-'));
  try {
    const host = await loadHostedSqlite({ wasm, directory });
    const handle = openHandle(host);
    configure(host, handle);
    createTables(sqlTools(host, handle));
    // The last connection writes the WAL back and removes it.
    host.sqlite._sqlite3_close_v2(handle);
    return fs.readFileSync(path.join(directory, DATABASE_FILE));
  } finally {
    fs.rmSync(directory, { recursive: true });
  }
}

/**
 * Gives a directory without a database a copy of the template: to create the tables takes SQLite longer than all else
 * that a first start does. A crash leaves no database or a whole one. Where the system refuses the copy, nothing is
 * left of it: the tables are created then, and SQLite's error is the one that is reported.
 */
export function copyTemplate(template: Uint8Array, directory: string): void {
  const file = path.join(directory, DATABASE_FILE);
  if (fs.existsSync(file)) return;
  const fresh = `${file}.new`;
  try {
    fs.writeFileSync(fresh, template, { mode: 0o600, flush: true });
    fs.renameSync(fresh, file);
    syncNow(directory);
  } catch {
    removeQuietly(fresh);
  }
}

function removeQuietly(file: string): void {
  try {
    fs.rmSync(file, { force: true });
  } catch {
    // SQLite is refused the same, and says so.
  }
}
