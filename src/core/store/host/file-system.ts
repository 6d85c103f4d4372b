import type nodeFs from 'node:fs';

/** The file operations of `node:fs` that the store uses; tests pass others to make disks fill, fail and lose power. */
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

/** Collects writes to a file. Any other call on the file must flush it first. */
export interface WriteBuffer {
  /** Takes bytes, and copies or writes them. Throws the error of the system. */
  write(bytes: Buffer, position: number): void;
  /** Writes the collected bytes. If this fails, it throws the error of the system, and the bytes are dropped. */
  flush(): void;
}

/** One real file that SQLite has open. */
export interface HostFile {
  readonly fd: number;
  readonly path: string;
  readonly fs: FileSystem;
  /** The number of its root. */
  readonly root: number;
  /** Whether it consists of the pages of a database. */
  readonly isDatabase: boolean;
  position: number;
  /** The end of the last write, in bytes from the start of the file. */
  written: number;
  writes: number;
  /** The writes that are not written yet; null for a file other than a WAL. */
  readonly buffer: WriteBuffer | null;
  /** While true, SQLite's own sync of this file is only noted in `syncPending`. */
  deferSync: boolean;
  syncPending: boolean;
}
