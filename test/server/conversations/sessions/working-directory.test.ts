import fs from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { workingDirectory } from '../../../../src/server/conversations/sessions/working-directory.ts';

const NOBODY = 65_534;

test('A working directory that the user of the server cannot enter is refused.', async () => {
  // Not in the directory of the run, which only its owner can enter.
  const closed = fs.mkdtempSync('/tmp/closed-');
  onTestFinished(() => fs.rmdirSync(closed));
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(NOBODY);
  else fs.chmodSync(closed, 0);
  try {
    expect(fs.statSync(closed).isDirectory()).toBe(true);
    await expect(workingDirectory(closed)).rejects.toThrow(/has no permission to enter cwd "/);
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
});
