import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { git, type Stage, testStage } from '../../../support/worktrees/work.ts';

const requests: [name: string, send: (stage: Stage) => Promise<unknown>][] = [
  [
    'diff',
    ({ client, session }) =>
      client.call(endpoints.getSessionDiff, { params: { session_id: session } }),
  ],
  [
    'list of files',
    ({ client, session }) =>
      client.call(endpoints.listSessionFiles, { params: { session_id: session } }),
  ],
];

/** Waits until git reads a FIFO; the returned file keeps it waiting. */
async function opened(pipe: string): Promise<number> {
  const { O_WRONLY, O_NONBLOCK } = fs.constants;
  let fd = -1;
  // Only a FIFO that somebody reads can be opened so.
  await expectEventually(() => {
    try {
      fd = fs.openSync(pipe, O_WRONLY | O_NONBLOCK);
    } catch {}
    return fd;
  }).not.toBe(-1);
  return fd;
}

test.each(requests)(
  'A %s that the stop of the server ends is refused with 503.',
  async (_, send) => {
    const stage = await testStage();
    const pipe = path.join(stage.directory, 'pipe');
    execFileSync('mkfifo', [pipe]);
    git(stage.repo, 'config', 'include.path', pipe);
    const answer = send(stage).catch((error: unknown) => error);
    const fd = await opened(pipe);
    try {
      const stopped = stage.runtime.stop();
      expect(await answer).toMatchObject({ code: 'shutting_down' });
      await stopped;
    } finally {
      fs.closeSync(fd);
    }
  },
);
