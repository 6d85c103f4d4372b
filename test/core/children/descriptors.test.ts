import fs from 'node:fs';
import path from 'node:path';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { hasProc } from '../../../src/core/lib/platform.ts';
import { ranTo, stdout } from '../../support/processes/work.ts';
import { testServer } from '../../support/server.ts';
import { testDirectory } from '../../support/temp.ts';

test.skipIf(!hasProc)('No child inherits a descriptor that the server inherited.', async () => {
  const directory = testDirectory('inherited');
  const secret = path.join(directory, 'secret');
  fs.writeFileSync(secret, 'secret');
  // A control: a child of the same shell has the descriptor.
  const wrap = [
    '/bin/sh',
    '-c',
    `exec 7<${secret}; cat <&7 >${secret}.seen; exec 7<${secret}; exec "$@"`,
    'sh',
  ];
  const data = path.join(directory, 'data');
  const server = await testServer({ directory: data, wrap });
  expect(fs.readFileSync(`${secret}.seen`, 'utf8')).toBe('secret');
  const command = 'for one in /proc/self/fd/*; do readlink $one; done; cat <&7';
  const text = await stdout(server, await ranTo(server, command));
  expect(text).not.toContain('secret');
  const beyond = await ranTo(
    server,
    'for one in /proc/$$/fd/*; do [ ${one##*/} -gt 2 ] && [ -e $one ] && echo $one; done; true',
  );
  expect(await stdout(server, beyond)).toBe('');
});

test.skipIf(!hasProc)(
  'Where no more files may be opened, processes are found and ended, and none starts.',
  () => {
    const directory = testDirectory('limit');
    for (const name of ['bwrap', 'nsenter'])
      fs.writeFileSync(path.join(directory, name), '#!/bin/sh\n', { mode: 0o755 });
    const helper = path.join(import.meta.dirname, 'at-limit.ts');
    const marker = `AT_LIMIT_TEST=${randomUUID()}`;
    const words = [process.execPath, helper, marker, directory];
    const said = execFileSync('/bin/sh', ['-c', 'ulimit -n 64; exec "$@"', 'sh', ...words], {
      encoding: 'utf8',
      timeout: 60_000,
    });
    expect(JSON.parse(said)).toEqual({
      isAlive: true,
      members: 1,
      runs: true,
      connected: 'cannot start /bin/true: no more files may be opened',
      network: 'EMFILE',
      taken: true,
      signal: 'SIGKILL',
    });
  },
);
