import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { lockDirectory, lockedByFlock, lockedByOpening } from '../../../src/core/store/lock.ts';
import { atLength } from '../../support/at-length.ts';
import { openAsMacOs } from './open-as-macos.ts';
import { tempDirectory } from '../../support/temp.ts';

/** The number of servers that start at once. In each round, one of the rest gets the lock and is killed. */
const CONTENDERS = atLength(4, 30);

const ways = [
  { name: 'the program flock', way: 'flock', take: lockedByFlock },
  {
    name: 'a flag of open, as macOS has it',
    way: 'open',
    take: (file: string) => lockedByOpening(file, openAsMacOs),
  },
];

test.skipIf(process.platform !== 'linux')(
  'An error of a lock names the reason, and advises to install only a missing program.',
  async () => {
    await using directory = tempDirectory();
    const file = path.join(directory.path, 'lock');
    const before = process.env.PATH;
    process.env.PATH = directory.path;
    try {
      expect(() => lockedByFlock(file)).toThrow(/install the program "flock"/);
      fs.writeFileSync(path.join(directory.path, 'flock'), '#!/bin/sh\nexit 71\n', { mode: 0o755 });
      expect(() => lockedByFlock(file)).toThrow(/flock exited with 71: use a local file system/);
    } finally {
      process.env.PATH = before;
    }
  },
);

describe.each(ways)('the lock of a data directory, by $name', ({ way, take }) => {
  test('A second server is refused with the pid of the first one until the first one stops.', async () => {
    await using directory = tempDirectory();
    const first = lockDirectory(directory.path, take);
    for (let i = 0; i < 3; i++)
      expect(() => lockDirectory(directory.path, take)).toThrow(conflictWith(process.pid));
    expect(fs.readFileSync(path.join(directory.path, 'lock'), 'utf8')).toBe(`${process.pid}\n`);
    first[Symbol.dispose]();
    using second = lockDirectory(directory.path, take);
    expect(second).toBeDefined();
  });

  test('The lock of a server that is gone is waited for, because a process that it had just forked may hold it a little longer.', async () => {
    await using directory = tempDirectory();
    const file = path.join(directory.path, 'lock');
    const { pid: gone } = spawnSync('true');
    let tries = 0;
    const takeLater = (name: string) => (++tries < 4 ? null : take(name));
    fs.writeFileSync(file, `${gone}\n`);
    using lock = lockDirectory(directory.path, takeLater);
    expect(lock).toBeDefined();
    expect(tries).toBe(4);
    expect(fs.readFileSync(file, 'utf8')).toBe(`${process.pid}\n`);
  });

  test('The locks of two directories are independent.', async () => {
    await using one = tempDirectory();
    await using other = tempDirectory();
    using first = lockDirectory(one.path, take);
    using second = lockDirectory(other.path, take);
    expect([first, second]).toHaveLength(2);
  });

  test('One of many simultaneous servers gets the lock, which is free as soon as that server is killed.', async () => {
    await using directory = tempDirectory();
    const all = Array.from({ length: CONTENDERS }, () => new Contender(directory.path, way));
    try {
      for (const one of all) expect(await one.line()).toBe('ready');
      for (let left = all; left.length > 0;) {
        for (const one of left) one.go();
        const said = await Promise.all(left.map((one) => one.line()));
        expect(said.filter((word) => word === 'won')).toHaveLength(1);
        const winner = left[said.indexOf('won')] as Contender;
        const { pid } = winner.child;
        expect(() => lockDirectory(directory.path, take)).toThrow(conflictWith(pid));
        await winner.kill();
        left = left.filter((one) => one !== winner);
      }
      using mine = lockDirectory(directory.path, take);
      expect(mine).toBeDefined();
    } finally {
      for (const one of all) await one.kill();
    }
  });
});

test('A file system without locks is refused.', async () => {
  await using directory = tempDirectory();
  expect(() => lockDirectory(directory.path, lockedByOpening)).toThrow(
    /does not support locks: use a local/,
  );
});

function conflictWith(pid: number | undefined): unknown {
  return expect.objectContaining({
    name: 'AppError',
    code: 'conflict',
    message: expect.stringContaining(`(pid ${pid})`) as unknown,
  });
}

const urlOf = (file: string) => JSON.stringify(pathToFileURL(path.resolve(file)).href);

/** A program that tries to lock the directory for each line of stdin, prints the result, and keeps the lock. */
const CONTENDER = `
const { lockDirectory, lockedByFlock, lockedByOpening } = await import(${urlOf('src/core/store/lock.ts')});
const { openAsMacOs } = await import(${urlOf('test/core/store/open-as-macos.ts')});
const [directory, way] = process.argv.slice(1);
const take = way === 'open' ? (file) => lockedByOpening(file, openAsMacOs) : lockedByFlock;
const locks = [];
console.log('ready');
process.stdin.on('data', () => {
  try {
    locks.push(lockDirectory(directory, take));
    console.log('won');
  } catch (error) {
    console.log(error.code);
  }
});`;

class Contender {
  readonly child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #lines: AsyncIterator<string>;

  constructor(directory: string, way: string) {
    const words = ['--input-type=module', '-e', CONTENDER, directory, way];
    this.child = spawn(process.execPath, words, {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { PATH: process.env.PATH ?? '', TMPDIR: process.env.TMPDIR ?? '/tmp' },
    });
    this.#exited = once(this.child, 'exit');
    const lines: Interface = createInterface({ input: this.child.stdout as NodeJS.ReadableStream });
    this.#lines = lines[Symbol.asyncIterator]();
  }

  async line(): Promise<string> {
    return String((await this.#lines.next()).value);
  }

  go(): void {
    this.child.stdin?.write('\n');
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.#exited;
  }
}
