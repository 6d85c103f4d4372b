import fs from 'node:fs';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { removeTree } from '../../../src/core/lib/remove-tree.ts';
import { tempDirectory } from '../../support/temp.ts';

test('The removal of a tree follows no link that a program puts in place of a directory meanwhile.', async () => {
  await using directory = tempDirectory('tree');
  const at = (name: string) => path.join(directory.path, name);
  fs.mkdirSync(at('victim/deep'), { recursive: true });
  fs.mkdirSync(at('tree/inner'), { recursive: true });
  for (let n = 0; n < 3000; n++) {
    fs.writeFileSync(at(`tree/inner/${n}`), '');
    fs.writeFileSync(at(`victim/${n}`), '');
  }
  const first = path.join(at('tree/inner'), fs.readdirSync(at('tree/inner'))[0] ?? '');
  const removal = removeTree(at('tree'));
  while (fs.existsSync(first)) await setImmediate();
  // The removal may have moved the directory.
  const [inner = ''] = fs.readdirSync(at('tree'));
  fs.renameSync(path.join(at('tree'), inner), at('kept'));
  fs.symlinkSync(at('victim'), path.join(at('tree'), inner));
  await removal;
  expect(fs.existsSync(at('tree'))).toBe(false);
  expect(fs.readdirSync(at('victim'))).toHaveLength(3001);
});

test('A tree of any depth, with names of any bytes and without permissions, is removed.', async () => {
  await using directory = tempDirectory('tree');
  const tree = path.join(directory.path, 'tree');
  let at = tree;
  for (let n = 0; n < 300; n++) at = path.join(at, 'deeper');
  fs.mkdirSync(at, { recursive: true });
  fs.writeFileSync(Buffer.concat([Buffer.from(`${at}/`), Buffer.from([0xff, 0xfe])]), '');
  fs.symlinkSync('/', path.join(tree, 'link'));
  fs.mkdirSync(path.join(tree, 'closed/inner'), { recursive: true });
  fs.writeFileSync(path.join(tree, 'closed/inner/file'), '');
  fs.chmodSync(path.join(tree, 'closed/inner'), 0);
  fs.chmodSync(path.join(tree, 'closed'), 0o500);
  await removeTree(tree);
  expect(fs.readdirSync(directory.path)).toEqual([]);
});

test('The removal of a missing tree does nothing, and of a link removes only the link.', async () => {
  await using directory = tempDirectory('tree');
  const at = (name: string) => path.join(directory.path, name);
  await removeTree(at('missing'));
  fs.mkdirSync(at('kept/inner'), { recursive: true });
  fs.symlinkSync('kept', at('link'));
  await removeTree(at('link'));
  expect(fs.readdirSync(directory.path)).toEqual(['kept']);
  expect(fs.readdirSync(at('kept'))).toEqual(['inner']);
});
