import { below, type Random } from '../../support/random.ts';
import nodeFs from 'node:fs';
import path from 'node:path';
import { WRITE_BYTES } from '../../support/store.ts';
import type { FileSystem } from '../../../src/core/store/host/file-system.ts';

/** The unit that a disk writes completely or not at all when the power fails. */
const SECTOR = 512;

interface Inode {
  readonly operations: (Write | Truncation)[];
  readonly syncs: Sync[];
}
interface Write {
  kind: 'write';
  at: number;
  offset: number;
  data: Buffer;
}
interface Truncation {
  kind: 'truncation';
  at: number;
  size: number;
}
/** From `at` on, all operations before `covers` are on the disk. */
interface Sync {
  at: number;
  covers: number;
}
interface Naming {
  at: number;
  name: string;
  inode: Inode | null;
}

/** The behaviour of the disk for one fdatasync, in turns of the event loop after the call. */
export interface SyncPlan {
  /** When the disk reports the sync as done. */
  reported: number;
  /** When the sync is really done. Null if never. */
  done: number | null;
}

/**
 * A disk that may lose power. It works on real files, so that the store can run on it, and logs all operations. From
 * that log it makes the images that a power loss could leave.
 *
 * Synced data survives. Either no later write survives, or all up to some moment, or each sector has any of its
 * versions. Changes of the directory survive in order, up to some moment.
 */
export class PowerDisk implements Disposable {
  readonly fs: FileSystem;
  /** Called before each write; may throw an error of the disk. */
  onWrite: () => void = () => undefined;
  readonly #plan: (file: string) => SyncPlan;
  readonly #open = new Map<number, { inode: Inode | null; name: string }>();
  readonly #names = new Map<string, Inode>();
  readonly #namings: Naming[] = [];
  readonly #directorySyncs: Sync[] = [];
  #now = 0;

  /** Forgets all operations, because SQLite keeps a reference to each disk that it has used. */
  [Symbol.dispose](): void {
    this.#names.clear();
    this.#namings.length = 0;
  }

  /** Takes the current files of `directory` as synced. */
  constructor(directory: string, plan: (file: string) => SyncPlan) {
    this.#plan = plan;
    for (const name of nodeFs.readdirSync(directory)) {
      const data = nodeFs.readFileSync(path.join(directory, name));
      this.#create(name).operations.push({ kind: 'write', at: ++this.#now, offset: 0, data });
    }
    const whole: Sync = { at: ++this.#now, covers: this.#now };
    for (const inode of this.#names.values()) inode.syncs.push(whole);
    this.#directorySyncs.push(whole);
    this.fs = {
      ...nodeFs,
      openSync: (file, flags, mode) => this.#openFile(String(file), flags, mode),
      closeSync: (fd) => {
        this.#open.delete(fd);
        nodeFs.closeSync(fd);
      },
      writeSync: ((fd: number, from: Buffer, at: number, length: number, position: number) => {
        this.onWrite();
        const written = nodeFs.writeSync(fd, from, at, Math.min(length, WRITE_BYTES), position);
        const data = Buffer.from(from.subarray(at, at + written));
        this.#inode(fd).operations.push({ kind: 'write', at: ++this.#now, offset: position, data });
        return written;
      }) as FileSystem['writeSync'],
      ftruncateSync: (fd, size = 0) => {
        nodeFs.ftruncateSync(fd, size ?? 0);
        this.#inode(fd).operations.push({ kind: 'truncation', at: ++this.#now, size: size ?? 0 });
      },
      fsyncSync: (fd) => {
        const covers = this.#now + 1;
        const syncs = this.#open.get(fd)?.inode?.syncs ?? this.#directorySyncs;
        syncs.push({ at: ++this.#now, covers });
      },
      fdatasync: ((fd: number, reported: (error: null) => void) => {
        const { inode, name } = this.#open.get(fd) ?? { inode: null, name: '' };
        const covers = this.#now + 1;
        const plan = this.#plan(name);
        const done = () => void inode?.syncs.push({ at: ++this.#now, covers });
        if (plan.done !== null) afterTurns(plan.done, done);
        afterTurns(plan.reported, () => reported(null));
      }) as unknown as FileSystem['fdatasync'],
      unlinkSync: (file) => {
        nodeFs.unlinkSync(file);
        const name = path.basename(String(file));
        this.#names.delete(name);
        this.#namings.push({ at: ++this.#now, name, inode: null });
      },
    };
  }

  /** The current moment: the number of operations so far. */
  get now(): number {
    return this.#now;
  }

  /**
   * Writes into `directory` a possible state of the disk after a power loss right after `moment`.
   * Returns a description for messages.
   */
  image(moment: number, directory: string, random: Random): string {
    const survivals = ['nothing', 'a prefix', 'any sector', 'any sector', 'whole writes'] as const;
    const survival = survivals[below(survivals.length, random)] ?? 'nothing';
    nodeFs.mkdirSync(directory, { recursive: true });
    for (const [name, inode] of this.#namesAt(moment, random)) {
      nodeFs.writeFileSync(path.join(directory, name), contentAt(inode, moment, survival, random));
    }
    return `${survival} of what was not synced`;
  }

  #openFile(file: string, flags: nodeFs.OpenMode, mode?: nodeFs.Mode | null): number {
    const fd = nodeFs.openSync(file, flags, mode);
    const name = path.basename(file);
    if (nodeFs.fstatSync(fd).isDirectory()) {
      this.#open.set(fd, { inode: null, name });
      return fd;
    }
    this.#open.set(fd, { inode: this.#names.get(name) ?? this.#create(name), name });
    return fd;
  }

  #create(name: string): Inode {
    const inode: Inode = { operations: [], syncs: [] };
    this.#names.set(name, inode);
    this.#namings.push({ at: ++this.#now, name, inode });
    return inode;
  }

  #inode(fd: number): Inode {
    const inode = this.#open.get(fd)?.inode;
    if (!inode) throw new Error(`${fd} is no file`);
    return inode;
  }

  #namesAt(moment: number, random: Random): Map<string, Inode> {
    const durable = coveredAt(this.#directorySyncs, moment);
    const recent = this.#namings.filter(({ at }) => at >= durable && at <= moment).length;
    const surviving = below(recent + 1, random);
    const names = new Map<string, Inode>();
    let seen = 0;
    for (const { at, name, inode } of this.#namings) {
      if (at > moment || (at >= durable && seen++ >= surviving)) break;
      if (inode) names.set(name, inode);
      else names.delete(name);
    }
    return names;
  }
}

/** Returns the moment before which all operations were on the disk at `moment`. */
function coveredAt(syncs: readonly Sync[], moment: number): number {
  let covered = 0;
  for (const { at, covers } of syncs) if (at <= moment) covered = Math.max(covered, covers);
  return covered;
}

function contentAt(inode: Inode, moment: number, survival: string, random: Random): Buffer {
  const durable = coveredAt(inode.syncs, moment);
  const content = new Content();
  const pending: (Write | Truncation)[] = [];
  for (const operation of inode.operations) {
    if (operation.at > moment) break;
    if (operation.at < durable) content.apply(operation);
    else pending.push(operation);
  }
  if (survival === 'a prefix') {
    const end = below(pending.length + 1, random);
    for (const operation of pending.slice(0, end)) content.apply(operation);
    const torn = pending[end];
    if (torn?.kind === 'write') content.applySome(torn, () => random() < 0.5);
  } else if (survival === 'whole writes') {
    for (const operation of pending) if (random() < 0.5) content.apply(operation);
  } else if (survival === 'any sector') {
    applyVersions(content, pending, random);
  }
  return content.bytes();
}

/** Applies to each sector a random number of the writes that touched it, in order. */
function applyVersions(content: Content, pending: (Write | Truncation)[], random: Random): void {
  const versions = new Map<number, number>();
  for (const operation of pending) {
    if (operation.kind === 'truncation') continue;
    for (const sector of sectorsOf(operation)) {
      versions.set(sector, (versions.get(sector) ?? 0) + 1);
    }
  }
  const kept = new Map<number, number>();
  for (const [sector, count] of versions) kept.set(sector, below(count + 1, random));
  for (const operation of pending) {
    if (operation.kind === 'truncation') {
      if (random() < 0.5) content.apply(operation);
      continue;
    }
    content.applySome(operation, (sector) => {
      const left = kept.get(sector) ?? 0;
      kept.set(sector, left - 1);
      return left > 0;
    });
  }
}

function sectorsOf({ offset, data }: Write): number[] {
  const first = Math.floor(offset / SECTOR);
  const last = Math.floor((offset + data.length - 1) / SECTOR);
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

/** The growing bytes of a file. */
class Content {
  #bytes = Buffer.alloc(0);
  #size = 0;

  bytes(): Buffer {
    return this.#bytes.subarray(0, this.#size);
  }
  apply(operation: Write | Truncation): void {
    if (operation.kind === 'write') {
      this.#put(operation.offset, operation.data);
      return;
    }
    this.#grow(operation.size);
    this.#bytes.fill(0, operation.size);
    this.#size = operation.size;
  }
  applySome(write: Write, survives: (sector: number) => boolean): void {
    for (const sector of sectorsOf(write)) {
      if (!survives(sector)) continue;
      const from = Math.max(sector * SECTOR, write.offset);
      const to = Math.min((sector + 1) * SECTOR, write.offset + write.data.length);
      this.#put(from, write.data.subarray(from - write.offset, to - write.offset));
    }
  }
  #put(offset: number, data: Buffer): void {
    this.#grow(offset + data.length);
    data.copy(this.#bytes, offset);
    this.#size = Math.max(this.#size, offset + data.length);
  }
  #grow(size: number): void {
    if (size <= this.#bytes.length) return;
    const grown = Buffer.alloc(Math.max(size, this.#bytes.length * 2));
    this.#bytes.copy(grown);
    this.#bytes = grown;
  }
}

function afterTurns(count: number, then: () => void): void {
  if (count === 0) setImmediate(then);
  else setImmediate(() => afterTurns(count - 1, then));
}
