import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { layout } from '../../scripts/layout.ts';
import { writePackages } from '../../scripts/packages/write.ts';

/** Makes a tree like an installed one; its program is a script that prints the version. */
export function builtTree(tree: string, version = '0.1.0'): string {
  for (const name of ['out/cadre.licenses', 'LICENSE', 'dist/man/man1/cadre.1'])
    put(path.join(tree, name), name);
  put(path.join(tree, 'out/cadre'), `#!/bin/sh\necho ${version}\n`);
  fs.chmodSync(path.join(tree, 'out/cadre'), 0o755);
  for (const name of ['cadre.bash', '_cadre', 'cadre.fish'])
    put(path.join(tree, 'completions', name), name);
  put(path.join(tree, 'dist/man/man5/cadre-config.5'), 'a page');
  return tree;
}

/** Writes the output of `make dist` for such a tree, for all targets; returns the directory. */
export function writeRelease(tree: string, version = '0.1.0', archives = ''): string {
  const out = path.join(tree, 'out/dist');
  fs.rmSync(out, { recursive: true, force: true });
  fs.mkdirSync(out, { recursive: true });
  const files = layout(tree, path.join(tree, 'out/cadre'));
  const targets = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'];
  const builds = targets.map((target) => ({ target, files }));
  writePackages(out, { version, seconds: 1_795_312_000, builds, archives });
  return out;
}

export function put(file: string, text: string): void {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
}

/** Returns the paths of all files below a directory. */
export function filesIn(directory: string): string[] {
  const found = execFileSync('find', ['.', '-type', 'f'], { cwd: directory, encoding: 'utf8' });
  return found
    .split('\n')
    .filter(Boolean)
    .map((line) => line.slice(2))
    .toSorted();
}
