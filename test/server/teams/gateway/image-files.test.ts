import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { expectError } from '../../../support/an-error.ts';
import { locateImages, readImages } from '../../../../src/server/teams/gateway/team-tool-policy.ts';
import { testDirectory } from '../../../support/temp.ts';

/** A session's directory `cwd` beside a directory `out` that it has nothing to do with. */
function makeFiles(): [cwd: string, out: string] {
  const root = fs.realpathSync(testDirectory('images'));
  const [cwd, out] = [path.join(root, 'cwd'), path.join(root, 'out')];
  for (const directory of [cwd, out]) fs.mkdirSync(directory);
  fs.writeFileSync(path.join(cwd, 'in.png'), 'inside');
  fs.writeFileSync(path.join(out, 'in.png'), 'outside');
  return [cwd, out];
}

test('An image is accepted if its real path is below the directory of the session.', async () => {
  const [cwd, out] = makeFiles();
  fs.symlinkSync(path.join(out, 'in.png'), path.join(cwd, 'link.png'));
  fs.symlinkSync(out, path.join(cwd, 'linked'));
  fs.symlinkSync(path.join(cwd, 'in.png'), path.join(cwd, 'own.png'));
  fs.writeFileSync(path.join(cwd, '..name.png'), '');
  const named = {
    'in.png': true,
    './a/../in.png': true,
    'own.png': true,
    '..name.png': true,
    [path.join(cwd, 'in.png')]: true,
    '../out/in.png': false,
    'link.png': false,
    'linked/in.png': false,
    '../cwd': false,
    [`${cwd}-beside/in.png`]: false,
    '/etc/passwd': false,
  };
  const found = await locateImages(Object.keys(named), cwd);
  expect(found.map(({ isInside }) => isInside)).toEqual(Object.values(named));
});

test('An image is read at its checked path, even if a link replaces it later.', async () => {
  const [cwd, out] = makeFiles();
  const found = await locateImages(['in.png', 'own/in.png'], cwd);
  expect(found.map(({ isInside }) => isInside)).toEqual([true, true]);
  const [file, below] = found;
  fs.rmSync(path.join(cwd, 'in.png'));
  fs.symlinkSync(path.join(out, 'in.png'), path.join(cwd, 'in.png'));
  fs.symlinkSync(out, path.join(cwd, 'own'));
  for (const one of [file, below]) await expectError(readImages(one ? [one] : []), 'invalid');
});

test('An image is not read if the directory of its session has become a link.', async () => {
  const [cwd, out] = makeFiles();
  const before = await locateImages(['in.png'], cwd);
  fs.renameSync(cwd, `${cwd}-old`);
  fs.symlinkSync(out, cwd);
  await expectError(readImages(before), 'invalid');
  const [after] = await locateImages(['in.png'], cwd);
  expect(after).toMatchObject({ isInside: false, real: path.join(out, 'in.png') });
});

test('An image that is missing, too large or not a file is refused.', async () => {
  const [cwd] = makeFiles();
  execFileSync('mkfifo', [path.join(cwd, 'fifo.png')]);
  fs.writeFileSync(path.join(cwd, 'large.png'), '');
  fs.truncateSync(path.join(cwd, 'large.png'), 5 * 1024 * 1024 + 1);
  for (const name of ['missing.png', 'fifo.png', 'large.png', '.'])
    await expectError(readImages(await locateImages([name], cwd)), 'invalid');
  const read = await readImages(await locateImages(['in.png'], cwd));
  expect(read).toEqual([{ type: 'image', data: Buffer.from('inside').toString('base64') }]);
});
