import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { expectEventually } from '../support/expect-eventually.ts';

const SYSTEMD = ['/usr/lib/systemd/systemd', '/lib/systemd/systemd'].find((file) =>
  fs.existsSync(file),
);
const IN_NAMESPACE = ['--mount', '--propagation', 'private', 'sh', '-c'];

/** Whether a user manager of systemd can be run here: by root, in a mount namespace, in a control group of its own. */
export const canManage =
  SYSTEMD !== undefined &&
  process.geteuid?.() === 0 &&
  spawnSync('unshare', [
    ...IN_NAMESPACE,
    'mount -t cgroup2 none /mnt && mkdir /mnt/cadre-probe-$$ && rmdir /mnt/cadre-probe-$$',
  ]).status === 0;

// The name of the control group is the first argument. All remaining processes in it are killed at the end.
const begin = `
set -e
mount -t cgroup2 none /sys/fs/cgroup
mkdir -p /run/systemd/system "/sys/fs/cgroup/$1/manager"
echo $$ > "/sys/fs/cgroup/$1/manager/cgroup.procs"
exec ${SYSTEMD} --user --log-target=console --log-level=warning
`;
const end = `
mount -t cgroup2 none /mnt
echo 1 > "/mnt/$1/cgroup.kill"
while grep -q 'populated 1' "/mnt/$1/cgroup.events"; do sleep 0.05; done
find "/mnt/$1" -depth -type d -exec rmdir {} +
`;

/** The environment for programs that use the manager. */
export type ManagerEnv = Record<string, string>;

/** Runs `test` with a user manager of systemd with a home directory; ends it with all of its services. */
export async function withUserManager(
  home: string,
  test: (env: ManagerEnv) => Promise<void>,
): Promise<void> {
  const group = path.basename(home);
  const runtime = path.join(home, 'run');
  fs.mkdirSync(runtime, { mode: 0o700 });
  const env = { PATH: process.env.PATH ?? '', HOME: home, XDG_RUNTIME_DIR: runtime };
  const manager = spawn('unshare', [...IN_NAMESPACE, begin, 'sh', group], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  try {
    await expectEventually(() => isUp(manager, env)).toBe(true);
    await test(env);
  } finally {
    manager.kill('SIGTERM');
    if (manager.exitCode === null) await once(manager, 'exit');
    spawnSync('unshare', [...IN_NAMESPACE, end, 'sh', group]);
  }
}

function isUp({ exitCode }: ChildProcess, env: ManagerEnv): boolean {
  if (exitCode !== null) throw new Error(`the manager ended with ${exitCode}`);
  return spawnSync('systemctl', ['--user', 'is-system-running'], { env }).status === 0;
}
