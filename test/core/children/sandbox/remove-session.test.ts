import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { Networks } from '../../../../src/core/children/sandbox/network/networks.ts';
import { Sandbox } from '../../../../src/core/children/sandbox/sandbox.ts';
import { configSchema } from '../../../../src/core/config/schema.ts';
import { systemClock } from '../../../../src/core/lib/clock.ts';
import { silentLog } from '../../../../src/core/lib/log.ts';
import { tempDirectory } from '../../../support/temp.ts';

test('The directories of a session are removed only when its children have ended.', async () => {
  await using directory = tempDirectory('sandbox');
  const networks = new Networks({ clock: systemClock, searchPath: '', onProblem: () => undefined });
  const sandbox = new Sandbox({
    settings: configSchema.parse({}).sandbox,
    paths: { home: '/', dataDirectory: directory.path, worktrees: '/', searchPath: '' },
    networks,
    probe: () => Promise.reject(new Error('no probe')),
    clock: systemClock,
    logger: silentLog(),
  });
  const own = sandbox.privateDirectories({ session_id: 'sess_1', caller_id: null });
  fs.mkdirSync(own.tmp, { recursive: true });
  fs.writeFileSync(path.join(own.tmp, 'file'), '');
  const ended = Promise.withResolvers<void>();
  const removal = sandbox.removeSession('sess_1', ended.promise);
  await new Promise((resolve) => setImmediate(resolve));
  expect(fs.readdirSync(own.tmp)).toEqual(['file']);
  ended.resolve();
  await removal;
  expect(fs.readdirSync(path.join(directory.path, 'sandbox'))).toEqual([]);
});
