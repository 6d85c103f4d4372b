import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { commits } from './commits.ts';

const root = path.resolve(import.meta.dirname, '../../..');

/** Builds the last commit of each format, or of those that are named, and calls `use` with its bundle. */
export async function eachBundle(
  formats: readonly number[],
  use: (format: number, bundle: string) => Promise<void>,
): Promise<void> {
  const work = fs.mkdtempSync(path.join(os.tmpdir(), 'formats-'));
  try {
    for (const [name, commit] of Object.entries(commits)) {
      const format = Number(name);
      if (formats.length === 0 || formats.includes(format))
        await use(format, buildOf(commit, work));
    }
  } finally {
    fs.rmSync(work, { recursive: true });
  }
}

/** Builds a commit; returns its bundle. */
function buildOf(commit: string, work: string): string {
  const tree = path.join(work, commit);
  fs.mkdirSync(tree);
  const archive = execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 1 << 30 });
  execFileSync('tar', ['-x', '-C', tree], { input: archive });
  const modules = path.join(tree, 'node_modules');
  fs.symlinkSync(path.join(root, 'node_modules'), modules);
  if (!builds(tree)) {
    fs.unlinkSync(modules);
    fs.symlinkSync(ownPackages(tree, work), modules);
    if (!builds(tree)) throw new Error(`${commit} cannot be built`);
  }
  return path.join(tree, 'dist/cadre.cjs');
}

function builds(tree: string): boolean {
  return spawnSync(process.execPath, ['scripts/build.mjs'], { cwd: tree }).status === 0;
}

/** Installs the packages of a commit's own lock file; returns their directory. */
function ownPackages(tree: string, work: string): string {
  const lock = fs.readFileSync(path.join(tree, 'package-lock.json'));
  const packages = path.join(work, `packages-${createHash('sha256').update(lock).digest('hex')}`);
  if (!fs.existsSync(packages)) {
    fs.mkdirSync(packages);
    for (const name of ['package.json', 'package-lock.json', '.npmrc'])
      fs.copyFileSync(path.join(tree, name), path.join(packages, name));
    // `npm ci` refuses the first lock files, which lack packages for other machines.
    const flags = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund'];
    execFileSync('npm', ['install', ...flags], { cwd: packages, stdio: 'ignore' });
  }
  return path.join(packages, 'node_modules');
}
