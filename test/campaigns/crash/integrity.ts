import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { findProgram } from '../../../src/core/lib/find-program.ts';
import { DATABASE_FILE } from '../../../src/core/store/connection.ts';

/** Report of the stock sqlite3 about a copy of the database: `ok` or the fault. Null if sqlite3 is not installed. */
export function integrityOf(directory: string): string | null {
  if (findProgram('sqlite3', process.env.PATH) === null) return null;
  const copies = fs.mkdtempSync(path.join(os.tmpdir(), 'integrity-'));
  try {
    for (const name of [DATABASE_FILE, `${DATABASE_FILE}-wal`]) {
      const file = path.join(directory, name);
      if (fs.existsSync(file)) fs.copyFileSync(file, path.join(copies, name));
    }
    const args = ['-readonly', path.join(copies, DATABASE_FILE), 'PRAGMA integrity_check'];
    return execFileSync('sqlite3', args, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  } catch (error) {
    return String(error);
  } finally {
    fs.rmSync(copies, { recursive: true, force: true });
  }
}
