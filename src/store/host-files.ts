import { createHash } from 'node:crypto';
import nodeFs from 'node:fs';
import path from 'node:path';
import initSqlJs from 'sql.js';

/**
 * sql.js keeps its files in memory. Its WASM, however, reaches files through a handful of imported system
 * calls, and those can be replaced at instantiation: below `/host/` they go to real files here, so an
 * unmodified sql.js is a durable SQLite. The imports have one-letter names that belong to one build only,
 * hence the checksum: another build is refused.
 */
const PINNED_WASM_SHA256 = '43bbcdd44287e5a2db3b6b5af34b1a3485a7a441285d247976c1ebe3c61f8dbf';

const VIRTUAL_ROOT = '/host';
/** sql.js numbers its own files from 0 to 4096; ours begin well above. */
const FIRST_FD = 10_000;

/** The file operations this module needs of `node:fs`: the seam at which tests make disks fill, fail and lose power. */
export type FileSystem = Pick<
  typeof nodeFs,
  | 'openSync'
  | 'closeSync'
  | 'readSync'
  | 'writeSync'
  | 'fsyncSync'
  | 'fdatasync'
  | 'ftruncateSync'
  | 'fstatSync'
  | 'lstatSync'
  | 'statSync'
  | 'accessSync'
  | 'unlinkSync'
>;

/** One real file that SQLite has open. */
export interface HostFile {
  readonly fd: number;
  readonly path: string;
  readonly fs: FileSystem;
  /** The number of its root. */
  readonly root: number;
  position: number;
  /** Where the last write ended, in bytes from the start of the file. */
  written: number;
  /** How many writes there were. */
  writes: number;
  /** While true, SQLite's own sync of this file is only noted in `syncPending`. */
  deferSync: boolean;
  syncPending: boolean;
}

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
  _sqlite3_clear_bindings(statement: number): number;
  _sqlite3_bind_text(st: number, i: number, text: number, bytes: number, destroy: number): number;
  _sqlite3_bind_int(st: number, i: number, value: number): number;
  _sqlite3_bind_double(st: number, i: number, value: number): number;
  _sqlite3_column_count(statement: number): number;
  _sqlite3_column_type(statement: number, column: number): number;
  _sqlite3_column_double(statement: number, column: number): number;
  _sqlite3_column_text(statement: number, column: number): number;
  _sqlite3_column_bytes(statement: number, column: number): number;
}

/** A sql.js whose files below `/host/` are real ones in one directory. */
export interface HostedSqlite {
  sqlite: RawSqlite;
  /** The WASM memory as bytes; ask again after anything that may grow it. */
  memory(): Buffer;
  readInt32(pointer: number): number;
  /** What SQLite is to be told to open for the file `name` in the directory. */
  virtualPath(name: string): string;
  /** The open file of that name, or undefined. */
  file(name: string): HostFile | undefined;
  /** The error of the last file operation that failed, for messages; forgotten once it was taken. */
  takeError(): NodeJS.ErrnoException | undefined;
  /** The last sync of a file of the directory that failed: what is on the disk is not known since. */
  syncError(): Error | undefined;
}

/** Gives SQLite the files of `directory`. Throws for any but the pinned WASM. */
export async function loadHostedSqlite(options: {
  wasm: Uint8Array;
  directory: string;
  fs?: FileSystem;
}): Promise<HostedSqlite> {
  const { wasm, directory, fs = nodeFs } = options;
  refuseOtherBuilds(wasm);
  loading ??= instantiate(wasm);
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

interface Instance {
  sqlite: RawSqlite;
  memory: WasmMemory;
  files: OpenFiles;
}

/** sql.js gives a process one instance, whoever asks; so each directory has a virtual root of its own in it. */
let loading: Promise<Instance> | undefined;

async function instantiate(wasm: Uint8Array): Promise<Instance> {
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
    `sql-wasm.wasm has checksum ${found.slice(0, 12)}…, this store is written against ` +
      `${PINNED_WASM_SHA256.slice(0, 12)}… of sql.js 1.16.0: reinstall, or re-derive the import names`,
  );
}

/** The WASM memory, whose buffer is replaced each time it grows. */
class WasmMemory {
  #memory: WebAssembly.Memory | undefined;
  #bytes: Buffer = Buffer.alloc(0);
  #words = new Int32Array(0);
  #longs = new BigInt64Array(0);

  attach(memory: WebAssembly.Memory): void {
    this.#memory = memory;
  }
  bytes(): Buffer {
    const buffer = this.#memory?.buffer;
    if (buffer && this.#bytes.buffer !== buffer) {
      this.#bytes = Buffer.from(buffer);
      this.#words = new Int32Array(buffer);
      this.#longs = new BigInt64Array(buffer);
    }
    return this.#bytes;
  }
  words(): Int32Array {
    this.bytes();
    return this.#words;
  }
  longs(): BigInt64Array {
    this.bytes();
    return this.#longs;
  }
  /** An unsigned 32-bit value: pointers and lengths may pass 2 GiB. */
  uint32(pointer: number): number {
    return (this.words()[pointer >> 2] ?? 0) >>> 0;
  }
  text(pointer: number): string {
    const bytes = this.bytes();
    return bytes.toString('utf8', pointer, bytes.indexOf(0, pointer));
  }
}

/** A real directory, and how its files are reached. */
interface Root {
  directory: string;
  fs: FileSystem;
  /** Its place in the list of roots: what tells its files from those of another. */
  number: number;
}

/** A real file or directory behind a virtual path. */
interface Place {
  path: string;
  fs: FileSystem;
  root: number;
}

/** The files that SQLite has open, by the numbers it knows them by. */
class OpenFiles {
  readonly #memory: WasmMemory;
  readonly #roots: Root[] = [];
  readonly #open: (HostFile | undefined)[] = [];
  readonly #syncErrors = new Map<string, Error>();
  #lastError: NodeJS.ErrnoException | undefined;

  constructor(memory: WasmMemory) {
    this.#memory = memory;
  }

  /** Gives a directory a virtual root, `/host/<number>`. */
  addRoot(root: Omit<Root, 'number'>): number {
    const number = this.#roots.length;
    this.#syncErrors.delete(root.directory);
    this.#roots.push({ ...root, number });
    return number;
  }
  get(fd: number): HostFile | undefined {
    return this.#open[fd - FIRST_FD];
  }
  find(root: number, name: string): HostFile | undefined {
    return this.#open.find((file) => file?.root === root && path.basename(file.path) === name);
  }
  add(fd: number, place: Place): number {
    const free = this.#open.findIndex((file) => !file);
    const index = free < 0 ? this.#open.length : free;
    const { path: filePath, fs, root } = place;
    this.#open[index] = {
      path: filePath,
      fs,
      root,
      fd,
      position: 0,
      written: 0,
      writes: 0,
      deferSync: false,
      syncPending: false,
    };
    return FIRST_FD + index;
  }
  close(fd: number): void {
    const file = this.get(fd);
    this.#open[fd - FIRST_FD] = undefined;
    if (file) file.fs.closeSync(file.fd);
  }
  /** The real place behind a virtual path, or null where it is sql.js's own. */
  place(pointer: number): Place | null {
    const match = /^\/host\/(\d+)(?:\/(.*))?$/.exec(this.#memory.text(pointer));
    const root = match && this.#roots[Number(match[1])];
    if (!root) return null;
    return { path: path.join(root.directory, match[2] ?? ''), fs: root.fs, root: root.number };
  }
  /** The WASI number of an error, which is also kept for the message. Errors that are not of the system are bugs. */
  errno(error: unknown): number {
    const code = (error as NodeJS.ErrnoException).code;
    if (!code) throw error;
    // SQLite looks for files that need not be there; that is no failure.
    if (code !== 'ENOENT') this.#lastError = error as NodeJS.ErrnoException;
    return WASI_ERRNO[code] ?? WASI_EIO;
  }
  sync(file: HostFile): void {
    try {
      file.fs.fsyncSync(file.fd);
    } catch (error) {
      this.#syncErrors.set(path.dirname(file.path), error as Error);
      throw error;
    }
  }
  syncErrorOf(directory: string): Error | undefined {
    return this.#syncErrors.get(directory);
  }
  takeError(): NodeJS.ErrnoException | undefined {
    const error = this.#lastError;
    this.#lastError = undefined;
    return error;
  }
}

const WASI_EIO = 29;
const WASI_ERRNO: Record<string, number> = {
  EACCES: 2,
  EBADF: 8,
  EBUSY: 10,
  EDQUOT: 19,
  EEXIST: 20,
  EFBIG: 22,
  EINVAL: 28,
  EIO: WASI_EIO,
  EISDIR: 31,
  EMFILE: 33,
  ENAMETOOLONG: 37,
  ENOENT: 44,
  ENOSPC: 51,
  ENOTDIR: 54,
  ENOTEMPTY: 55,
  EPERM: 63,
  EROFS: 69,
};

type Syscall = (...args: number[]) => number;
type Syscalls = Record<string, Syscall>;

/** The pinned build's names of the system calls that touch files. */
const IMPORT = {
  openat: 'x',
  close: 'e',
  read: 't',
  write: 'q',
  seek: 'E',
  sync: 'K',
  ftruncate: 'J',
  fstat: 'g',
  lstat: 'M',
  stat: 'N',
  newfstatat: 'L',
  faccessat: 'D',
  unlinkat: 'o',
  readlinkat: 's',
  fcntl: 'b',
  fchown: 'h',
  fchmod: 'j',
  mmap: 'y',
} as const;

const O_CREAT = 0o100;
const O_EXCL = 0o200;
const O_TRUNC = 0o1000;
const AT_SYMLINK_NOFOLLOW = 0x100;
const F_GETLK = 12;
const F_UNLCK = 2;
const ENOSYS = 52;
const EINVAL = 28;

function routeToHost(imports: Syscalls, files: OpenFiles, memory: WasmMemory): void {
  const original: Syscalls = { ...imports };

  /** Replaces a call whose first argument is an open file; other files stay with sql.js. */
  const onFile = (
    name: keyof typeof IMPORT,
    handle: (file: HostFile, ...rest: number[]) => number,
  ) => {
    const letter = IMPORT[name];
    const fallback = wanted(original, letter);
    imports[letter] = (fd = 0, ...rest) => {
      const file = files.get(fd);
      return file ? handle(file, ...rest) : fallback(fd, ...rest);
    };
  };
  /** Replaces a call that names a path in argument `at`; paths outside the virtual root stay with sql.js. */
  const onPath = (
    name: keyof typeof IMPORT,
    at: number,
    handle: (place: Place, ...args: number[]) => number,
  ) => {
    const letter = IMPORT[name];
    const fallback = wanted(original, letter);
    imports[letter] = (...args) => {
      const place = files.place(args[at] ?? 0);
      return place === null ? fallback(...args) : handle(place, ...args);
    };
  };
  // WASI calls answer 0 or an error number, the older system calls a value or minus an error number.
  const wasi = (work: () => void): number => {
    try {
      work();
      return 0;
    } catch (error) {
      return files.errno(error);
    }
  };
  const syscall = (work: () => number): number => {
    try {
      return work();
    } catch (error) {
      return -files.errno(error);
    }
  };
  const stat = (at: number, found: nodeFs.BigIntStats): number => {
    writeStat(memory, at, found);
    return 0;
  };

  // Whatever mode SQLite would like: what is in here is for its owner alone.
  onPath('openat', 1, (place, _dir, _path, flags = 0) =>
    syscall(() => files.add(place.fs.openSync(place.path, hostFlags(flags), 0o600), place)),
  );
  const closeLetter = IMPORT.close;
  const closeFallback = wanted(original, closeLetter);
  imports[closeLetter] = (fd = 0) =>
    files.get(fd) ? wasi(() => files.close(fd)) : closeFallback(fd);
  onFile('read', (file, vector = 0, count = 0, out = 0) =>
    wasi(() => {
      const total = transfer(memory, vector, count, (pointer, length) =>
        readFully(memory, file, pointer, length),
      );
      memory.words()[out >> 2] = total;
    }),
  );
  onFile('write', (file, vector = 0, count = 0, out = 0) =>
    wasi(() => {
      const total = transfer(memory, vector, count, (pointer, length) => {
        const written = file.fs.writeSync(file.fd, memory.bytes(), pointer, length, file.position);
        file.position += written;
        return written;
      });
      file.written = file.position;
      file.writes++;
      memory.words()[out >> 2] = total;
    }),
  );
  onFile('seek', (file, offset = 0, whence = 0, out = 0) =>
    wasi(() => {
      const base =
        whence === 1 ? file.position : whence === 2 ? file.fs.fstatSync(file.fd).size : 0;
      file.position = base + fromInt64(offset);
      memory.longs()[out >> 3] = BigInt(file.position);
    }),
  );
  onFile('sync', (file) =>
    wasi(() => {
      if (file.deferSync) file.syncPending = true;
      else files.sync(file);
    }),
  );
  onFile('ftruncate', (file, length = 0) =>
    syscall(() => {
      file.fs.ftruncateSync(file.fd, fromInt64(length));
      return 0;
    }),
  );
  onFile('fstat', (file, at = 0) =>
    syscall(() => stat(at, file.fs.fstatSync(file.fd, { bigint: true }))),
  );
  onPath('lstat', 0, ({ fs, path: real }, _path, at = 0) =>
    syscall(() => stat(at, fs.lstatSync(real, { bigint: true }))),
  );
  onPath('stat', 0, ({ fs, path: real }, _path, at = 0) =>
    syscall(() => stat(at, fs.statSync(real, { bigint: true }))),
  );
  onPath('newfstatat', 1, ({ fs, path: real }, _dir, _path, at = 0, flags = 0) =>
    syscall(() => {
      const look = flags & AT_SYMLINK_NOFOLLOW ? fs.lstatSync : fs.statSync;
      return stat(at, look(real, { bigint: true }));
    }),
  );
  onPath('faccessat', 1, ({ fs, path: real }, _dir, _path, mode = 0) =>
    syscall(() => {
      fs.accessSync(real, mode);
      return 0;
    }),
  );
  onPath('unlinkat', 1, ({ fs, path: real }) =>
    syscall(() => {
      fs.unlinkSync(real);
      return 0;
    }),
  );
  onPath('readlinkat', 1, () => -EINVAL);
  // One process, one connection: the lock file of the directory keeps others out, so SQLite's own are granted.
  onFile('fcntl', (_file, command = 0, varargs = 0) => {
    if (command === F_GETLK) memory.bytes().writeInt16LE(F_UNLCK, memory.uint32(varargs));
    return 0;
  });
  onFile('fchown', () => 0);
  onFile('fchmod', () => 0);
  const mmapLetter = IMPORT.mmap;
  const mmapFallback = wanted(original, mmapLetter);
  // No shared memory: WAL then asks for exclusive locking, which is what we have.
  imports[mmapLetter] = (...args) => (files.get(args[3] ?? 0) ? -ENOSYS : mmapFallback(...args));
}

function wanted(imports: Syscalls, letter: string): Syscall {
  const found = imports[letter];
  if (!found) throw new Error(`sql.js has no import "${letter}": not the pinned build`);
  return found;
}

/** A 64-bit argument: WASM hands it over as a BigInt. */
function fromInt64(value: number | bigint): number {
  return Number(value);
}

function hostFlags(flags: number): number {
  const { O_RDONLY, O_WRONLY, O_RDWR } = nodeFs.constants;
  const access = [O_RDONLY, O_WRONLY, O_RDWR][flags & 3] ?? O_RDWR;
  return (
    access |
    (flags & O_CREAT ? nodeFs.constants.O_CREAT : 0) |
    (flags & O_EXCL ? nodeFs.constants.O_EXCL : 0) |
    (flags & O_TRUNC ? nodeFs.constants.O_TRUNC : 0)
  );
}

/** Runs `each` over an array of (pointer, length) pairs until one moves less than asked; answers the bytes moved. */
function transfer(
  memory: WasmMemory,
  vector: number,
  count: number,
  each: (pointer: number, length: number) => number,
): number {
  let total = 0;
  for (let i = 0; i < count; i++) {
    const length = memory.uint32(vector + i * 8 + 4);
    if (length === 0) continue;
    const moved = each(memory.uint32(vector + i * 8), length);
    total += moved;
    if (moved < length) break;
  }
  return total;
}

function readFully(memory: WasmMemory, file: HostFile, pointer: number, length: number): number {
  let got = 0;
  while (got < length) {
    const read = file.fs.readSync(
      file.fd,
      memory.bytes(),
      pointer + got,
      length - got,
      file.position,
    );
    if (read === 0) break;
    got += read;
    file.position += read;
  }
  return got;
}

/** Writes a `struct stat` as the pinned build lays it out. */
function writeStat(memory: WasmMemory, at: number, found: nodeFs.BigIntStats): void {
  const words = memory.words();
  const longs = memory.longs();
  const first = at >> 2;
  words[first] = Number(found.dev);
  words[first + 1] = Number(found.mode);
  words[first + 2] = Number(found.nlink);
  words.fill(0, first + 3, first + 6);
  longs[(at + 24) >> 3] = found.size;
  words[(at + 32) >> 2] = 4096;
  words[(at + 36) >> 2] = Number(found.blocks);
  const times = [
    [40, found.atimeNs],
    [56, found.mtimeNs],
    [72, found.ctimeNs],
  ] as const;
  for (const [offset, nanoseconds] of times) {
    longs[(at + offset) >> 3] = nanoseconds / 1_000_000_000n;
    words[(at + offset + 8) >> 2] = Number(nanoseconds % 1_000_000_000n);
  }
  longs[(at + 88) >> 3] = found.ino;
}
