import { type HostedSqlite, type HostOptions, loadHostedSqlite } from './host/sqlite.ts';
import { RawStatement, type SqlValue, sqliteError } from './raw-statement.ts';

/** Not `.db` or `.sqlite`: a tool that opens such a file for writing would delete the WAL of a running server. */
export const DATABASE_FILE = 'events.cadre';

/** Statements without the checks of the transaction law, for opening, migrating and copying. */
export interface SqlTools {
  exec: (sql: string) => void;
  one: (sql: string, ...values: SqlValue[]) => SqlValue[] | undefined;
}

/** An open file. Disposing it closes the file; the last connection writes the WAL back and removes it. */
export interface Connection extends Disposable {
  host: HostedSqlite;
  handle: number;
  sql: SqlTools;
}

/** Opens a file of a directory, for this connection alone. Throws {@link SqliteError}. */
export async function openConnection(
  options: HostOptions,
  file = DATABASE_FILE,
): Promise<Connection> {
  const host = await loadHostedSqlite(options);
  const handle = openHandle(host, file);
  const sql = sqlTools(host, handle);
  // Before the first access to the WAL: it then needs no shared memory.
  sql.exec('PRAGMA locking_mode = EXCLUSIVE');
  return { host, handle, sql, [Symbol.dispose]: () => host.sqlite._sqlite3_close_v2(handle) };
}

function openHandle(host: HostedSqlite, file: string): number {
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
export function configure({ exec, one }: SqlTools): void {
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

function sqlTools(host: HostedSqlite, handle: number): SqlTools {
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
