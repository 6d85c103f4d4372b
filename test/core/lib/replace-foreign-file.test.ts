import fs from 'node:fs';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import {
  type ForeignEntry,
  NotReplaced,
  replaceForeignFile,
} from '../../../src/core/lib/replace-foreign-file.ts';
import { tempDirectory } from '../../support/temp.ts';

const entry: ForeignEntry = {
  kind: 'file',
  content: Buffer.from('restored'),
  isExecutable: false,
};

test('A file that is saved while it is replaced stays, and its former content is kept beside it.', async () => {
  await using own = tempDirectory('replace');
  const file = path.join(own.path, 'notes');
  fs.writeFileSync(file, 'before');
  const replacing = replaceForeignFile(own.path, 'notes', {
    entry,
    mayReplace() {
      // An editor saves the file at this moment.
      fs.writeFileSync(file, 'saved');
      return true;
    },
    keeps: false,
    maxBytes: 100,
  });
  await expect(replacing).rejects.toThrow(NotReplaced);
  expect(fs.readFileSync(file, 'utf8')).toBe('saved');
  const [aside = '', ...others] = fs.readdirSync(own.path).filter((name) => name !== 'notes');
  expect(others).toEqual([]);
  expect(fs.readFileSync(path.join(own.path, aside), 'utf8')).toBe('before');
});

test('An entry that may not be replaced keeps its name and inode, and leaves no file beside it.', async () => {
  await using own = tempDirectory('replace');
  fs.mkdirSync(path.join(own.path, 'directory/inner'), { recursive: true });
  fs.writeFileSync(path.join(own.path, 'file'), 'before', { mode: 0o600 });
  fs.symlinkSync('elsewhere', path.join(own.path, 'link'));
  for (const name of ['directory', 'file', 'link']) {
    const { ino } = fs.lstatSync(path.join(own.path, name));
    const replacing = replaceForeignFile(own.path, name, {
      entry,
      mayReplace: () => false,
      keeps: true,
      maxBytes: 100,
    });
    await expect(replacing).rejects.toThrow(NotReplaced);
    expect(fs.lstatSync(path.join(own.path, name)).ino).toBe(ino);
  }
  expect(fs.readdirSync(own.path).toSorted()).toEqual(['directory', 'file', 'link']);
});

test('A file keeps its name if its content cannot be compared.', async () => {
  await using own = tempDirectory('replace');
  fs.writeFileSync(path.join(own.path, 'notes'), 'before');
  const replacing = replaceForeignFile(own.path, 'notes', {
    entry,
    mayReplace: () => {
      throw new Error('no memory');
    },
    keeps: false,
    maxBytes: 100,
  });
  await expect(replacing).rejects.toThrow('no memory');
  expect(fs.readdirSync(own.path)).toEqual(['notes']);
});

test('A file is replaced, or put back, in a file system without hard links.', async () => {
  await using own = tempDirectory('replace');
  const file = path.join(own.path, 'notes');
  fs.writeFileSync(file, 'before');
  const refused = Object.assign(new Error('EPERM: operation not permitted'), { code: 'EPERM' });
  using _link = vi.spyOn(fs.promises, 'link').mockRejectedValue(refused);
  const replace = (mayReplace: boolean) =>
    replaceForeignFile(own.path, 'notes', {
      entry,
      mayReplace: () => mayReplace,
      keeps: false,
      maxBytes: 100,
    });
  await expect(replace(false)).rejects.toThrow(NotReplaced);
  expect(fs.readFileSync(file, 'utf8')).toBe('before');
  await replace(true);
  expect(fs.readFileSync(file, 'utf8')).toBe('restored');
  expect(fs.readdirSync(own.path)).toEqual(['notes']);
});

test('A replaced file keeps its permissions except the executable bit, which is set or cleared.', async () => {
  await using own = tempDirectory('replace');
  const file = path.join(own.path, 'run');
  fs.writeFileSync(file, 'before', { mode: 0o600 });
  const modes: string[] = [];
  for (const isExecutable of [true, false]) {
    await replaceForeignFile(own.path, 'run', {
      entry: { ...entry, isExecutable },
      mayReplace: () => true,
      keeps: false,
      maxBytes: 100,
    });
    modes.push((fs.statSync(file).mode & 0o777).toString(8));
  }
  expect(modes).toEqual(['700', '600']);
  expect(fs.readdirSync(own.path)).toEqual(['run']);
});
