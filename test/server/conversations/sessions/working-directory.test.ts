import fs from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import type { Process } from '../../../../src/api/processes.ts';
import { workingDirectory } from '../../../../src/server/conversations/sessions/working-directory.ts';
import { ProcessStore } from '../../../../src/server/work/processes/store.ts';
import { testStore } from '../../../support/memory-store.ts';
import { aSession } from '../../../support/records.ts';

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

test('The sessions and processes of a directory include those below it, whatever its name.', async () => {
  const { db, log, store } = await testStore();
  const processes = new ProcessStore({ db, log });
  const cwds = ['/w/🚀', '/w/🚀/src', '/w/🚀s', '/w'];
  await db.transact((tx) => {
    for (const [at, cwd] of cwds.entries()) {
      store.createSession(tx, aSession({ id: `sess_${at}`, cwd }));
      const running = { process_id: `proc_${at}`, status: 'running', cwd } as Process;
      processes.processes.insert(tx, running);
    }
  });
  const found = db.peek((rx) => ({
    sessions: store.openIn(rx, '/w/🚀').map(({ id }) => id),
    processes: processes.unfinishedIn(rx, '/w/🚀').map(({ process_id }) => process_id),
  }));
  expect(found).toEqual({ sessions: ['sess_0', 'sess_1'], processes: ['proc_0', 'proc_1'] });
});
