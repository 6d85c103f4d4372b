import { test } from 'vitest';
import { AppError } from '../../../src/api/errors.ts';
import { endpoints } from '../../../src/api/index.ts';
import type { Client } from '../../../src/client/client.ts';
import type { CommandIo } from '../../../src/frontends/cli/command-io.ts';
import { ApprovalAsker } from '../../../src/frontends/cli/session/ask-approval.ts';
import { expectEventually } from '../../support/expect-eventually.ts';

test('A request is asked again after a restart if the stopping server refused the answer.', async () => {
  const pending = [{ id: 'apr_1', session_id: 'sess_1', title: 'ls' }];
  let answers = 0;
  const call = (endpoint: unknown) => {
    if (endpoint === endpoints.listSessionApprovals) return Promise.resolve(pending);
    answers++;
    if (answers > 1) return Promise.resolve({ status: 'accepted' });
    return Promise.reject(new AppError('shutting_down', 'the server is stopping'));
  };
  let shown = '';
  const asker = new ApprovalAsker({
    io: { stderr: { write: (text: string) => (shown += text) } } as unknown as CommandIo,
    client: { call } as unknown as Client,
    turnOutput: {
      message() {},
      detail() {},
      status() {},
      hold: () => ({ [Symbol.dispose]() {} }),
    },
    ask: () => Promise.resolve({ decision: 'accept' }),
    onLeave() {},
    stopped: new AbortController().signal,
  });
  asker.askedIn('sess_1');
  await expectEventually(() => answers).toBe(1);
  await asker.idle();
  asker.askedIn('sess_1');
  await expectEventually(() => shown).toBe('cadre: the server is stopping\n  accepted\n');
});
