// Checks that the archives of a commit can be made again: it builds the commit twice, each time from a new clone in another
// directory, and compares SHA256SUMS. Uncommitted changes are not included.
//
//   node scripts/dist-check.mjs [--target linux-x64,...]
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const more = process.argv.slice(2);

fs.mkdirSync(join(root, '.cache', 'node'), { recursive: true });
const work = fs.mkdtempSync(join(root, '.cache', 'dist-check-'));
try {
  // Names of different lengths, because a path can be in what is built.
  const [one, other] = ['one', 'the-other-directory'].map((name) => sumsOf(join(work, name)));
  if (one !== other) throw new Error(`the two builds differ:\n${differences(one, other)}`);
  process.stdout.write(`the two builds are identical:\n${one}`);
} catch (error) {
  console.error(`dist-check: ${error.message}`);
  process.exitCode = 1;
} finally {
  fs.rmSync(work, { recursive: true, force: true });
}

function sumsOf(place) {
  run('git', ['clone', '--quiet', '--no-hardlinks', root, place], work);
  // The packages are those that are installed here, as hard links: the real paths of files are in what is built. A Node
  // for another target is fetched at most once.
  run('cp', ['-al', join(root, 'node_modules'), join(place, 'node_modules')], work);
  fs.mkdirSync(join(place, '.cache'));
  fs.symlinkSync(join(root, '.cache', 'node'), join(place, '.cache', 'node'));
  run(process.execPath, ['scripts/build.mjs'], place);
  run(process.execPath, ['scripts/man/write.ts'], place);
  run(process.execPath, ['scripts/dist.mjs', ...more], place);
  return fs.readFileSync(join(place, 'out/dist/SHA256SUMS'), 'utf8');
}

function run(file, args, cwd) {
  execFileSync(file, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
}

function differences(one, other) {
  const lines = new Set(other.split('\n'));
  return one
    .split('\n')
    .filter((line) => !lines.has(line))
    .map((line) => `  ${line.slice(66)}`)
    .join('\n');
}
