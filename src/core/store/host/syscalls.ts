import nodeFs, { type BigIntStats } from 'node:fs';
import type { HostFile } from './file-system.ts';
import type { WasmMemory } from './memory.ts';
import type { HostPath, OpenFiles } from './open-files.ts';
import { PAGE_BYTES, rejectBrokenPage } from './page-check.ts';

type Syscall = (...args: number[]) => number;
export type Syscalls = Record<string, Syscall>;

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
type Name = keyof typeof IMPORT;

const O_CREAT = 0o100;
const O_EXCL = 0o200;
const O_TRUNC = 0o1000;
const AT_SYMLINK_NOFOLLOW = 0x100;
const F_GETLK = 12;
const F_UNLCK = 2;
const ENOSYS = 52;
const EINVAL = 28;

/** A call on an open file, with its remaining arguments. */
type FileCall = (file: HostFile, ...rest: number[]) => number;
/** A call that names a path in argument `at`. */
interface PathCall {
  at: number;
  handle: (host: HostPath, ...args: number[]) => number;
}

/** Replaces the calls on files below the virtual root; sql.js handles all other files and paths. */
export function routeToHost(imports: Syscalls, files: OpenFiles, memory: WasmMemory): void {
  const original: Syscalls = { ...imports };
  const replace = (name: Name, find: (fallback: Syscall) => Syscall) => {
    const fallback = original[IMPORT[name]];
    if (!fallback)
      throw new Error(
        `sql.js has no import "${IMPORT[name]}": install the pinned version of sql.js`,
      );
    imports[IMPORT[name]] = find(fallback);
  };
  for (const [name, handle] of Object.entries(fileCalls(files, memory)))
    replace(name as Name, (fallback) => (fd = 0, ...rest) => {
      const file = files.get(fd);
      return file ? handle(file, ...rest) : fallback(fd, ...rest);
    });
  for (const [name, { at, handle }] of Object.entries(pathCalls(files, memory)))
    replace(name as Name, (fallback) => (...args) => {
      const host = files.resolve(args[at] ?? 0);
      return host === null ? fallback(...args) : handle(host, ...args);
    });
  replace(
    'close',
    (fallback) =>
      (fd = 0) =>
        files.get(fd) ? wasi(files, () => files.close(fd)) : fallback(fd),
  );
  // Without shared memory a WAL needs exclusive locking, and the connection has that.
  replace(
    'mmap',
    (fallback) =>
      (...args) =>
        files.get(args[3] ?? 0) ? -ENOSYS : fallback(...args),
  );
}

function fileCalls(files: OpenFiles, memory: WasmMemory): Partial<Record<Name, FileCall>> {
  return {
    read: (file, vector = 0, count = 0, out = 0) =>
      wasi(files, () => {
        const total = transfer(memory, vector, count, (pointer, length) =>
          readFully(memory, file, pointer, length),
        );
        memory.words()[out >> 2] = total;
      }),
    write: (file, vector = 0, count = 0, out = 0) =>
      wasi(files, () => {
        const total = transfer(memory, vector, count, (pointer, length) => {
          const written = writeSome(memory.bytes(), file, pointer, length);
          file.position += written;
          return written;
        });
        file.written = file.position;
        file.writes++;
        memory.words()[out >> 2] = total;
      }),
    seek: (file, offset = 0, whence = 0, out = 0) =>
      wasi(files, () => {
        if (whence === 2) file.buffer?.flush();
        const base =
          whence === 1 ? file.position : whence === 2 ? file.fs.fstatSync(file.fd).size : 0;
        file.position = base + fromInt64(offset);
        memory.longs()[out >> 3] = BigInt(file.position);
      }),
    sync: (file) =>
      wasi(files, () => {
        if (file.deferSync) file.syncPending = true;
        else files.sync(file);
      }),
    ftruncate: (file, length = 0) =>
      syscall(files, () => {
        file.buffer?.flush();
        file.fs.ftruncateSync(file.fd, fromInt64(length));
      }),
    fstat: (file, at = 0) =>
      syscall(files, () => {
        file.buffer?.flush();
        writeStat(memory, at, file.fs.fstatSync(file.fd, { bigint: true }));
      }),
    // The lock of the directory keeps other servers out, so each lock of SQLite's own is granted.
    fcntl: (_file, command = 0, varargs = 0) => {
      if (command === F_GETLK) memory.bytes().writeInt16LE(F_UNLCK, memory.uint32(varargs));
      return 0;
    },
    fchown: () => 0,
    fchmod: () => 0,
  };
}

function pathCalls(files: OpenFiles, memory: WasmMemory): Partial<Record<Name, PathCall>> {
  const stat = (at: number, look: () => BigIntStats) =>
    syscall(files, () => writeStat(memory, at, look()));
  return {
    // Only the owner may read the data, whatever mode SQLite requests.
    openat: {
      at: 1,
      handle: (host, _dir, _path, flags = 0) =>
        syscall(files, () => files.add(host.fs.openSync(host.path, hostFlags(flags), 0o600), host)),
    },
    lstat: {
      at: 0,
      handle: ({ fs, path }, _path, at = 0) => stat(at, () => fs.lstatSync(path, { bigint: true })),
    },
    stat: {
      at: 0,
      handle: ({ fs, path }, _path, at = 0) => stat(at, () => fs.statSync(path, { bigint: true })),
    },
    newfstatat: {
      at: 1,
      handle: ({ fs, path }, _dir, _path, at = 0, flags = 0) =>
        stat(at, () =>
          flags & AT_SYMLINK_NOFOLLOW
            ? fs.lstatSync(path, { bigint: true })
            : fs.statSync(path, { bigint: true }),
        ),
    },
    faccessat: {
      at: 1,
      handle: ({ fs, path }, _dir, _path, mode = 0) =>
        syscall(files, () => fs.accessSync(path, mode)),
    },
    unlinkat: { at: 1, handle: ({ fs, path }) => syscall(files, () => fs.unlinkSync(path)) },
    readlinkat: { at: 1, handle: () => -EINVAL },
  };
}

/** WASI calls return 0 or an error number. */
function wasi(files: OpenFiles, work: () => void): number {
  try {
    work();
    return 0;
  } catch (error) {
    return files.errno(error);
  }
}

/** The older system calls return a value (0 if they have none) or minus an error number. */
function syscall(files: OpenFiles, work: () => number | void): number {
  try {
    return work() ?? 0;
  } catch (error) {
    return -files.errno(error);
  }
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

/** Writes a `struct stat` as the pinned build lays it out. */
function writeStat(memory: WasmMemory, at: number, found: BigIntStats): void {
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

/** Calls `each` for (pointer, length) pairs until one moves fewer bytes than asked; returns the bytes moved. */
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

/** Writes bytes, or adds them to the buffer of the file; returns the number of bytes. */
function writeSome(memory: Buffer, file: HostFile, pointer: number, length: number): number {
  const { buffer, fs, fd, position } = file;
  if (!buffer) return fs.writeSync(fd, memory, pointer, length, position);
  buffer.write(memory.subarray(pointer, pointer + length), position);
  return length;
}

/** Reads until `length` bytes are there or the file ends; returns the bytes read. */
function readFully(memory: WasmMemory, file: HostFile, pointer: number, length: number): number {
  file.buffer?.flush();
  const begin = file.position;
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
  if (file.isDatabase && got === PAGE_BYTES && begin % PAGE_BYTES === 0)
    rejectBrokenPage(memory.bytes(), pointer, begin / PAGE_BYTES + 1);
  return got;
}
