import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';

/** A directory of a test's own, removed when disposed. All lie in one root, which the run checks at its end. */
export function tempDirectory(
  name = 'test',
): AsyncDisposable & { path: string; [Symbol.dispose](): void } {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), `${name}-`));
  const remove = () => fs.rmSync(directory, { recursive: true, force: true });
  return {
    path: fs.realpathSync(directory),
    [Symbol.dispose]: remove,
    async [Symbol.asyncDispose]() {
      remove();
    },
  };
}

/** Makes such a directory, which is removed when the test has finished, and returns its path. */
export function testDirectory(name?: string): string {
  const directory = tempDirectory(name);
  onTestFinished(directory[Symbol.dispose]);
  return directory.path;
}

/** Makes a directory in which a test has put something one that a server takes for its own. */
export function asDataDirectory(directory: string): void {
  fs.mkdirSync(directory, { recursive: true });
  const readme = path.join(directory, 'README');
  // The disk of a later server may be full or read-only.
  if (!fs.existsSync(readme))
    fs.writeFileSync(readme, 'This directory belongs to cadre.\n', { mode: 0o600 });
}
