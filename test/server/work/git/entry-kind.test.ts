import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { assertFiles, entryKindOf } from '../../../../src/server/work/git/foreign.ts';
import { testDirectory } from '../../../support/temp.ts';

test('An entry is a file, a directory or a link, and nothing is below a file.', async () => {
  const directory = testDirectory();
  fs.writeFileSync(path.join(directory, 'file'), '');
  fs.symlinkSync('file', path.join(directory, 'link'));
  const kinds = ['file', 'link', '.', 'file/below', 'missing'].map((name) =>
    entryKindOf(path.join(directory, name)),
  );
  expect(await Promise.all(kinds)).toEqual(['file', 'link', 'directory', null, null]);
});

test('Nothing is below a link to itself, and at names that are too long for a file.', async () => {
  const directory = testDirectory();
  fs.symlinkSync('loop', path.join(directory, 'loop'));
  for (const name of ['loop/.git', 'x'.repeat(300), 'a/'.repeat(3000)])
    expect(await entryKindOf(path.join(directory, name))).toBeNull();
});

test.skipIf(process.getuid?.() === 0)(
  'A directory that the server may not read blocks no git command, but cannot be archived.',
  async () => {
    const directory = testDirectory();
    const closed = path.join(directory, 'closed');
    fs.mkdirSync(closed, { mode: 0 });
    await assertFiles(directory);
    await expect(assertFiles(directory, { isWhole: true })).rejects.toThrow('EACCES');
    fs.chmodSync(closed, 0o700);
  },
);
