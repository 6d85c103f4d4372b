import type { HostedSqlite } from './host/sqlite.ts';
import { RawStatement, type SqlValue, sqliteError } from './raw-statement.ts';

/** Not `.db` or `.sqlite`: a tool that opens such a file for writing would delete the WAL of a running server. */
export const DATABASE_FILE = 'events.cadre';

/** Opens a file below the virtual root of `host`. Throws {@link SqliteError}. */
export function openHandle(host: HostedSqlite, file = DATABASE_FILE): number {
  const { sqlite } = host;
  const name = sqlite.stringToNewUTF8(host.virtualPath(file));
  const out = sqlite._malloc(4);
  const code = sqlite._sqlite3_open(name, out);
  const handle = host.readInt32(out);
  sqlite._free(name);
  sqlite._free(out);
  if (code !== 0) throw sqliteError(host, handle, code);
  return handle;
}

/** Sets a new connection up for a write-ahead log that the store syncs itself. Throws {@link SqliteError}. */
export function configure(host: HostedSqlite, handle: number): void {
  const { exec, one } = sqlTools(host, handle);
  // Before the first access to the WAL: it then needs no shared memory.
  exec('PRAGMA locking_mode = EXCLUSIVE');
  // This has to precede the first table; repeated later it has no effect but would cost a write.
  if (one('PRAGMA page_count')?.[0] === 0) exec('PRAGMA auto_vacuum = INCREMENTAL');
  const [mode] = one('PRAGMA journal_mode = WAL') ?? [];
  if (mode !== 'wal')
    throw new Error(`SQLite chose the journal mode ${mode}, but cadre requires the mode wal`);
  // NORMAL, with the store's own sync of the WAL off the main thread, is as durable as FULL.
  exec('PRAGMA synchronous = NORMAL');
  exec('PRAGMA wal_autocheckpoint = 0');
  exec('PRAGMA cache_size = -8000');
  // Without it, a large transaction would write pages to the WAL before its COMMIT.
  exec('PRAGMA cache_spill = OFF');
  exec('PRAGMA temp_store = MEMORY');
  exec('PRAGMA foreign_keys = OFF');
}

/** Statements without the checks of the transaction law, for opening, migrating and copying. */
export interface SqlTools {
  exec: (sql: string) => void;
  one: (sql: string, ...values: SqlValue[]) => SqlValue[] | undefined;
}

export function sqlTools(host: HostedSqlite, handle: number): SqlTools {
  return {
    exec(sql) {
      const text = host.sqlite.stringToNewUTF8(sql);
      const code = host.sqlite._sqlite3_exec(handle, text, 0, 0, 0);
      host.sqlite._free(text);
      if (code !== 0) throw sqliteError(host, handle, code, sql.slice(0, 80));
    },
    one(sql, ...values) {
      const statement = new RawStatement(host, handle, sql, () => undefined);
      try {
        return statement.get(...values);
      } finally {
        statement.finalize();
      }
    },
  };
}
