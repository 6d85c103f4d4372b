import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { isBuilt, recordBuild, sourcesDigest } from '../../scripts/last-build.ts';
import { tempDirectory } from '../support/temp.ts';

const COMMIT = '0123456789';

test('A build is skipped if its output exists and was built from these sources.', () => {
  using project = builtProject();
  expect(project.isBuilt()).toBe(true);
});

test.each<[string, (root: string) => void]>([
  ['a source changed', (root) => fs.writeFileSync(path.join(root, 'src/lib/main.ts'), 'two')],
  ['a source came', (root) => fs.writeFileSync(path.join(root, 'src/more.ts'), '')],
  ['a source went', (root) => fs.rmSync(path.join(root, 'src/lib/main.ts'))],
  ['a package changed', (root) => fs.writeFileSync(path.join(root, 'package.json'), '{"a":1}')],
  ['an output went', (root) => fs.rmSync(path.join(root, 'dist/assets/data'))],
  ['an output changed', (root) => fs.writeFileSync(path.join(root, 'dist/bundle'), 'other')],
  ['an output came', (root) => fs.writeFileSync(path.join(root, 'dist/left'), '')],
  ['the record went', (root) => fs.rmSync(path.join(root, '.cache'), { recursive: true })],
])('Where %s, a build has to be made.', (_what, change) => {
  using project = builtProject();
  change(project.root);
  expect(project.isBuilt()).toBe(false);
});

test('A build of another commit has to be made: the program says of which one it is.', () => {
  using project = builtProject();
  expect(project.isBuilt('abcdef0123')).toBe(false);
});

/** A project of a few files that was just built. */
function builtProject() {
  const { path: root, [Symbol.dispose]: dispose } = tempDirectory('project');
  const files = {
    'src/lib/main.ts': 'one',
    'scripts/build.mjs': '',
    'completions/cadre.bash': '',
    'package.json': '{}',
    'tsconfig.json': '{}',
    'node_modules/.package-lock.json': '{}',
    'dist/bundle': 'bundle',
    'dist/assets/data': 'data',
  };
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    fs.writeFileSync(path.join(root, name), text);
  }
  const out = path.join(root, 'dist');
  recordBuild(root, out, sourcesDigest(root, COMMIT));
  const built = (commit = COMMIT) => isBuilt(root, out, sourcesDigest(root, commit));
  return { root, isBuilt: built, [Symbol.dispose]: dispose };
}
