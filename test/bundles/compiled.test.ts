import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { partFile, parts } from '../../scripts/parts.mjs';
import { selfCommand } from '../../src/core/lib/self.ts';
import { tempDirectory } from '../support/temp.ts';

const { file, args } = selfCommand();
const dist = path.dirname(args.at(-1) ?? '');
const fits = `${process.versions.v8}-${process.arch}.compiled`;
const compiled = fs.readdirSync(dist).filter((name) => name.endsWith(fits));

test.each(compiled)('V8 accepts the compiled code %s.', (name) => {
  const bundle = path.join(dist, name.replace(`.${fits}`, '.cjs'));
  const look = `
      const text = require('fs').readFileSync(process.argv[1], 'latin1');
      const cachedData = require('fs').readFileSync(process.argv[2]).subarray(0, -32);
      const source = '(function (exports, require, module, __filename, __dirname) {' + text + '\\n})';
      const { cachedDataRejected } = new (require('vm').Script)(source, { filename: process.argv[1], cachedData });
      process.stdout.write(String(cachedDataRejected));`;
  // In a process of its own, because the tests' own flags of V8 do not fit.
  const read = ['-e', look, bundle, path.join(dist, name)];
  expect(execFileSync(file, read, { encoding: 'utf8' })).toBe('false');
});

test('Compiled code is not used for a bundle with another text of the same length.', async () => {
  await using directory = tempDirectory('compiled');
  for (const name of ['cadre.cjs', `complete.${fits}`])
    fs.copyFileSync(path.join(dist, name), path.join(directory.path, name));
  const length = fs.statSync(path.join(dist, 'complete.cjs')).size;
  const other = "process.stdout.write('the other text');//".padEnd(length, 'x');
  fs.writeFileSync(path.join(directory.path, 'complete.cjs'), other);
  const line = [path.join(directory.path, 'cadre.cjs'), '__complete', '--', 'sess'];
  const env = { PATH: process.env.PATH, XDG_CACHE_HOME: directory.path };
  expect(execFileSync(file, line, { encoding: 'utf8', env })).toBe('the other text');
});

test('Every bundle has compiled code.', () => {
  const bundles = fs
    .readdirSync(dist)
    .filter((name) => name.endsWith('.cjs') && name !== 'cadre.cjs')
    .filter((name) => !parts.map(partFile).includes(name));
  expect(compiled.map((name) => name.replace(`.${fits}`, '.cjs')).toSorted()).toEqual(
    bundles.toSorted(),
  );
});

test.each([
  [['--version'], ['http', 'net', 'crypto', 'child_process']],
  [
    ['sessions', '--help'],
    ['child_process', 'tls', 'http2', 'readline'],
  ],
])('The command `cadre %s` does not load unneeded modules of Node.', async (line, unneeded) => {
  await using directory = tempDirectory();
  const look = path.join(directory.path, 'look.cjs');
  fs.writeFileSync(
    look,
    `process.on('exit', () => process.stderr.write(JSON.stringify(process.moduleLoadList)));`,
  );
  const list = path.join(directory.path, 'list');
  execFileSync(file, ['-r', look, ...args, ...line], {
    stdio: ['ignore', 'ignore', fs.openSync(list, 'w')],
  });
  const loaded = JSON.parse(fs.readFileSync(list, 'utf8')) as string[];
  expect(unneeded.filter((name) => loaded.includes(`NativeModule ${name}`))).toEqual([]);
});
