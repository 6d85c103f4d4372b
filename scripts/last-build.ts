// Remembers what dist was built from, so that a build of the same sources is not made again: each run of the tests and
// each campaign begins with a build, which takes seconds.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

/** Inputs of a build. The last one is npm's list of installed packages. */
const INPUTS = [
  'src',
  'scripts',
  'completions',
  'package.json',
  'tsconfig.json',
  'node_modules/.package-lock.json',
];

/** Prefix of the directory of a running build. Two builds may run at the same time. */
export const BUILDING = '.build-';

/** Below the root of the project. */
const RECORD = '.cache/last-build.json';

interface LastBuild {
  digest: string;
  /** The files that were written, each with its size and time. */
  outputs: string[];
}

/** Says in a digest what a build of the project in `root`, at this commit and with this Node, would be made from. */
export function sourcesDigest(root: string, commit: string): string {
  const hash = createHash('sha256').update(`${process.version} ${process.arch} ${commit}`);
  for (const file of INPUTS.flatMap((input) => filesIn(root, input)))
    hash.update(`\0${file}\0`).update(fs.readFileSync(path.join(root, file)));
  return hash.digest('hex');
}

/** Reports whether the last build into `out` was made from these sources, and its output is unchanged. */
export function isBuilt(root: string, out: string, digest: string): boolean {
  try {
    const last = JSON.parse(fs.readFileSync(path.join(root, RECORD), 'utf8')) as LastBuild;
    return last.digest === digest && last.outputs.join('\n') === outputsOf(out).join('\n');
  } catch {
    return false;
  }
}

/** Records that `out` was built from these sources. */
export function recordBuild(root: string, out: string, digest: string): void {
  const file = path.join(root, RECORD);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, JSON.stringify({ digest, outputs: outputsOf(out) } satisfies LastBuild));
}

function outputsOf(out: string): string[] {
  const names = fs.readdirSync(out).filter((name) => !name.startsWith(BUILDING));
  return names
    .flatMap((name) => filesIn(out, name))
    .map((name) => {
      const file = path.join(out, name);
      const { size, mtimeMs } = fs.statSync(file);
      return `${file} ${size} ${mtimeMs}`;
    });
}

/** The files at or below a path, each as seen from `root`; not what links there, as editors make for locks. */
function filesIn(root: string, name: string): string[] {
  const found = fs.lstatSync(path.join(root, name));
  if (found.isFile()) return [name];
  if (!found.isDirectory()) return [];
  const entries = fs.readdirSync(path.join(root, name));
  return entries.flatMap((entry) => filesIn(root, path.join(name, entry)));
}
