import path from 'node:path';
import type { FileSystem, HostFile } from './file-system.ts';
import type { WasmMemory } from './memory.ts';
import { WalBuffer } from './wal-buffer.ts';
import { codeOf } from '../../lib/system-error.ts';

/** sql.js numbers its own files from 0 to 4096; ours begin well above. */
const FIRST_FD = 10_000;

/** A real directory and its file operations. */
interface Root {
  directory: string;
  fs: FileSystem;
  /** Its index in the list of roots, which distinguishes files of several directories. */
  number: number;
}

/** A real file or directory behind a virtual path. */
export interface HostPath {
  path: string;
  fs: FileSystem;
  root: number;
}

/** The files that SQLite has open, by SQLite's own descriptors. */
export class OpenFiles {
  readonly #memory: WasmMemory;
  readonly #roots: Root[] = [];
  readonly #open: (HostFile | undefined)[] = [];
  readonly #syncErrors = new Map<string, Error>();
  #lastError: NodeJS.ErrnoException | undefined;

  constructor(memory: WasmMemory) {
    this.#memory = memory;
  }

  /** Adds a directory as the virtual root `/host/<number>`; returns the number. */
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
  add(fd: number, host: HostPath): number {
    const free = this.#open.findIndex((file) => !file);
    const index = free < 0 ? this.#open.length : free;
    const { path: filePath, fs, root } = host;
    this.#open[index] = {
      path: filePath,
      fs,
      root,
      fd,
      position: 0,
      written: 0,
      writes: 0,
      isDatabase: !/-(wal|journal|shm)$/.test(filePath),
      buffer: filePath.endsWith('-wal') ? new WalBuffer({ fs, fd }) : null,
      deferSync: false,
      syncPending: false,
    };
    return FIRST_FD + index;
  }
  close(fd: number): void {
    const file = this.get(fd);
    this.#open[fd - FIRST_FD] = undefined;
    if (!file) return;
    try {
      file.buffer?.flush();
    } finally {
      file.fs.closeSync(file.fd);
    }
  }
  /** Returns the real file behind a virtual path, or null if the path is sql.js's own. */
  resolve(pointer: number): HostPath | null {
    const match = /^\/host\/(\d+)(?:\/(.*))?$/.exec(this.#memory.text(pointer));
    const root = match && this.#roots[Number(match[1])];
    if (!root) return null;
    return { path: path.join(root.directory, match[2] ?? ''), fs: root.fs, root: root.number };
  }
  /** Returns the WASI number of a system error, and stores the error for messages. Rethrows any other error. */
  errno(error: unknown): number {
    const code = codeOf(error);
    if (code === '') throw error;
    // SQLite looks for files that need not exist.
    if (code !== 'ENOENT') this.#lastError = error as NodeJS.ErrnoException;
    return WASI_ERRNO[code] ?? WASI_EIO;
  }
  sync(file: HostFile): void {
    // If this write fails, the content of the disk is still known.
    file.buffer?.flush();
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
