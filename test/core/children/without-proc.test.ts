import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { remaining } from '../../campaigns/crash/leftovers.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { ended, kill, printed, ranTo, run, stdout } from '../../support/processes/work.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { tempDirectory } from '../../support/temp.ts';
import { openSession, runTurn } from '../../support/turns.ts';

const canHide =
  spawnSync('unshare', ['-m', 'sh', '-c', 'mount -t tmpfs none /proc && mount -t proc proc /proc'])
    .status === 0;

/** The command that starts a program with an empty /proc. */
const HIDDEN = ['unshare', '-m', 'sh', '-c', 'mount -t tmpfs none /proc && exec "$@"', 'sh'];

/** The ps of Linux needs /proc, so that this script mounts it for ps alone. */
const PS = `#!/bin/sh
exec unshare -m sh -c 'mount -t proc proc /proc && exec "$@"' sh "$(PATH=/usr/bin:/bin command -v ps)" "$@"
`;

test.skipIf(!canHide)(
  'A server without /proc runs and ends turns and processes, and recovers after a kill.',
  async () => {
    await using directory = tempDirectory('without-proc');
    await using programs = tempDirectory();
    const first = await startHidden(directory.path, programs.path);
    expect(await stdout(first, await ranTo(first, 'ls /proc; echo nothing'))).toBe('nothing\n');
    const away = await run(first, 'setsid sleep 300 & echo here; wait');
    await printed(first, away, 'here');
    await kill(first, away);
    expect(await ended(first, away)).toMatchObject({ status: 'killed' });
    await expectEventually(() => sleepers(directory.path)).toEqual([]);
    const session = await openSession(first.client, directory.path);
    await runTurn(first.client, session.id, 'spawn 300000; say here');
    await run(first, 'setsid sleep 300 & sleep 300');
    await expectEventually(() => sleepers(directory.path).length).toBe(3);

    await first.end('SIGKILL');
    await expectEventually(() => remaining(directory.path)).toEqual([]);

    const second = await startHidden(directory.path, programs.path);
    const recovery = await second.client.call(endpoints.getRecovery, {});
    expect(recovery).toMatchObject({ previous_stop: 'unclean', orphans_killed: [] });
    expect(await second.end('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(remaining(directory.path)).toEqual([]);
  },
);

const sleepers = (directory: string) =>
  remaining(directory).filter((line) => line.includes('(sleep 300'));

function startHidden(directory: string, programs: string): Promise<TestServer> {
  fs.writeFileSync(path.join(programs, 'ps'), PS, { mode: 0o755 });
  const env = { PATH: `${programs}:${process.env.PATH}`, CADRE_TEST_ONLY_PLATFORM: 'posix' };
  return startServer(directory, { wrap: HIDDEN, env });
}
