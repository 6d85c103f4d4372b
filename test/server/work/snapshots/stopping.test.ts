import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import { openedFifo } from './state.ts';
import { git, type Stage, testStage } from '../../../support/worktrees/work.ts';

const requests: Record<string, (stage: Stage) => Promise<unknown>> = {
  diff: ({ client, session }) =>
    client.call(endpoints.getSessionDiff, { params: { session_id: session } }),
  'list of files': ({ client, session }) =>
    client.call(endpoints.listSessionFiles, { params: { session_id: session } }),
};

test.each(Object.entries(requests))(
  'A %s that the stop of the server ends is refused with 503.',
  async (_, send) => {
    const stage = await testStage();
    const pipe = path.join(stage.directory, 'pipe');
    execFileSync('mkfifo', [pipe]);
    git(stage.repo, 'config', 'include.path', pipe);
    const answer = send(stage).catch((error: unknown) => error);
    const fd = await openedFifo(pipe);
    try {
      const stopped = stage.runtime.stop();
      expect(await answer).toMatchObject({ code: 'shutting_down' });
      await stopped;
    } finally {
      fs.closeSync(fd);
    }
  },
);
