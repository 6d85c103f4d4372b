import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import { openedFifo } from './state.ts';
import { git, type WorktreeHarness, testWorktreeHarness } from '../../../support/worktrees/work.ts';

const requests: Record<string, (harness: WorktreeHarness) => Promise<unknown>> = {
  diff: ({ client, session }) =>
    client.call(endpoints.getSessionDiff, { params: { session_id: session } }),
  'list of files': ({ client, session }) =>
    client.call(endpoints.listSessionFiles, { params: { session_id: session } }),
};

test.each(Object.entries(requests))(
  'A %s that the stop of the server ends is refused with 503.',
  async (_, send) => {
    const harness = await testWorktreeHarness();
    const pipe = path.join(harness.directory, 'pipe');
    execFileSync('mkfifo', [pipe]);
    git(harness.repo, 'config', 'include.path', pipe);
    const answer = send(harness).catch((error: unknown) => error);
    const fd = await openedFifo(pipe);
    try {
      const stopped = harness.runtime.stop();
      expect(await answer).toMatchObject({ code: 'shutting_down' });
      await stopped;
    } finally {
      fs.closeSync(fd);
    }
  },
);
