import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { carriersOf } from '../../src/children/identity.ts';

/**
 * Builds the bundle that end-to-end tests run, and gives the whole run one temporary root. It goes to every
 * child as TMPDIR, so whatever still carries it at the end was left behind: that fails the run.
 */
export default function setup(): () => Promise<void> {
  execFileSync(process.execPath, ['scripts/build.mjs'], { stdio: ['ignore', 'ignore', 'inherit'] });
  const root = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'cadre-test-'));
  process.env.TMPDIR = root;
  return async () => {
    const left = await leftovers(root);
    fs.rmSync(root, { recursive: true, force: true });
    if (left.length > 0) throw new Error(`the tests left behind:\n${left.join('\n')}`);
  };
}

async function leftovers(root: string): Promise<string[]> {
  const files = fs.readdirSync(root).map((name) => `  directory ${path.join(root, name)}`);
  const processes = carriersOf(`TMPDIR=${root}`).flatMap((pid) => {
    // Vitest's own workers have it too; they end after us.
    const command = commandLine(pid);
    return command === null || /vitest|esbuild/.test(command)
      ? []
      : [`  process ${pid}: ${command}`];
  });
  return [...files, ...processes];
}

function commandLine(pid: number): string | null {
  try {
    const text = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
    return text === '' ? null : text;
  } catch {
    return null;
  }
}
