import { createHash } from 'node:crypto';
import nodeFs from 'node:fs';
import initSqlJs from 'sql.js';
import type { FileSystem, HostFile } from './file-system.ts';
import { WasmMemory } from './memory.ts';
import { OpenFiles } from './open-files.ts';
import { type Syscalls, routeToHost } from './syscalls.ts';

/** The raw exports of sql.js that the store uses. */
export interface RawSqlite {
  _malloc(bytes: number): number;
  _free(pointer: number): void;
  stringToNewUTF8(text: string): number;
  UTF8ToString(pointer: number): string;
  _sqlite3_open(name: number, handle: number): number;
  _sqlite3_close_v2(db: number): number;
  _sqlite3_exec(db: number, sql: number, callback: number, arg: number, error: number): number;
  _sqlite3_errmsg(db: number): number;
  _sqlite3_prepare_v2(db: number, sql: number, bytes: number, out: number, tail: number): number;
  _sqlite3_step(statement: number): number;
  _sqlite3_reset(statement: number): number;
  _sqlite3_finalize(statement: number): number;
  _sqlite3_changes(db: number): number;
  _sqlite3_bind_text(st: number, i: number, text: number, bytes: number, destroy: number): number;
  _sqlite3_bind_int(st: number, i: number, value: number): number;
  _sqlite3_bind_double(st: number, i: number, value: number): number;
  _sqlite3_column_count(statement: number): number;
  _sqlite3_column_type(statement: number, column: number): number;
  _sqlite3_column_double(statement: number, column: number): number;
  _sqlite3_column_text(statement: number, column: number): number;
  _sqlite3_column_bytes(statement: number, column: number): number;
}

/**
 * sql.js keeps its files in memory. Its WASM reaches files by 18 imported system calls, and these are replaced here at
 * instantiation: below `/host/` they act on real files, which makes an unmodified sql.js a durable SQLite. The imports have
 * one-letter names of one build, so any other build is refused by its checksum.
 */
const PINNED_WASM_SHA256 = '43bbcdd44287e5a2db3b6b5af34b1a3485a7a441285d247976c1ebe3c61f8dbf';

const VIRTUAL_ROOT = '/host';
/** A sql.js whose files below `/host/` are real ones in one directory. */
export interface HostedSqlite {
  sqlite: RawSqlite;
  /** The WASM memory as bytes; ask again after anything that may grow it. */
  memory(): Buffer;
  readInt32(pointer: number): number;
  /** The path by which SQLite opens the file `name` of the directory. */
  virtualPath(name: string): string;
  /** The open file of that name, or undefined. */
  file(name: string): HostFile | undefined;
  /** The error of the last file operation that failed, for messages; taking it clears it. */
  takeError(): NodeJS.ErrnoException | undefined;
  /** The first failed sync in the directory: from then on the content of the disk is unknown. */
  syncError(): Error | undefined;
}

export interface HostOptions {
  /** Reads the WASM, for the first SQLite of this process alone. */
  wasm: () => Uint8Array;
  directory: string;
  fs?: FileSystem;
}

/** Opens a SQLite on the files of `directory`. Throws for any WASM except the pinned one. */
export async function loadHostedSqlite(options: HostOptions): Promise<HostedSqlite> {
  const { wasm, fs = nodeFs } = options;
  const directory = realDirectory(options.directory);
  loading ??= instantiate(wasm());
  const { sqlite, memory, files } = await loading;
  const root = files.addRoot({ directory, fs });
  return {
    sqlite,
    memory: () => memory.bytes(),
    readInt32: (pointer) => memory.words()[pointer >> 2] ?? 0,
    virtualPath: (name) => `${VIRTUAL_ROOT}/${root}/${name}`,
    file: (name) => files.find(root, name),
    takeError: () => files.takeError(),
    syncError: () => files.syncErrorOf(directory),
  };
}

/** A directory without symbolic links: SQLite looks at each name in a path, and reads no link. */
function realDirectory(directory: string): string {
  return nodeFs.existsSync(directory) ? nodeFs.realpathSync(directory) : directory;
}

interface Instance {
  sqlite: RawSqlite;
  memory: WasmMemory;
  files: OpenFiles;
}

/** sql.js has one instance a process, so each directory gets a virtual root of its own in it. */
let loading: Promise<Instance> | undefined;

/** Compiles sql.js and gives it our files; for {@link loadHostedSqlite}. Throws for any WASM except the pinned one. */
export async function instantiate(wasm: Uint8Array): Promise<Instance> {
  refuseOtherBuilds(wasm);
  const memory = new WasmMemory();
  const files = new OpenFiles(memory);
  const module = await initSqlJs({
    useOldExtensionFunctions: false,
    instantiateWasm(imports: { a: Syscalls }, done: (instance: WebAssembly.Instance) => void) {
      routeToHost(imports.a, files, memory);
      const instance = new WebAssembly.Instance(new WebAssembly.Module(wasm), imports);
      memory.attach(instance.exports.O as WebAssembly.Memory);
      done(instance);
    },
  } as unknown as Parameters<typeof initSqlJs>[0]);
  return { sqlite: module as unknown as RawSqlite, memory, files };
}

function refuseOtherBuilds(wasm: Uint8Array): void {
  const found = createHash('sha256').update(wasm).digest('hex');
  if (found === PINNED_WASM_SHA256) return;
  throw new Error(
    `sql-wasm.wasm has checksum ${found.slice(0, 12)}…, but cadre needs checksum ` +
      `${PINNED_WASM_SHA256.slice(0, 12)}… of sql.js 1.16.0: install exactly sql.js 1.16.0`,
  );
}
