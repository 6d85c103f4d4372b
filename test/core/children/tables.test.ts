import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { describe, expect, test } from 'vitest';
import { keeperScript } from '../../../src/core/children/keeper.ts';
import type { ProcessTable } from '../../../src/core/children/process-table.ts';
import { procfs } from '../../../src/core/children/procfs.ts';
import { ps } from '../../../src/core/children/ps.ts';
import { newUuid } from '../../../src/core/lib/ids.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { startShell } from './shell.ts';

const tables: [string, ProcessTable][] = [
  ['/proc', procfs],
  ['ps', ps],
];

/** Prints the pids of three sleepers: without an environment, outside of the group, and both. */
const STUBBORN = `
env -i /bin/sleep 300 >/dev/null & hidden=$!
setsid /bin/sleep 300 >/dev/null & away=$!
env -i setsid /bin/sleep 300 >/dev/null & both=$!
echo $hidden $away $both
wait`;

describe.each(tables)('processes by %s', (_name, table) => {
  test('A process has a group, and a start time that distinguishes a reused pid.', async () => {
    await using earlier = await startShell('echo $$; exec sleep 300');
    const found = table.find(earlier.pid);
    expect(found).toMatchObject({ pid: earlier.pid, group: earlier.pid, isDead: false });
    expect(table.find(earlier.pid)).toEqual(found);
    expect(table.find(1)?.started).toBeLessThan(found?.started ?? 0);
    expect(table.bootId()).toBe(table.bootId());
    expect(table.bootId()).toMatch(/^[0-9a-f-]{9,}$/);
  });

  test('A process that has ended is not found, and is not a member of its group before it is reaped.', async () => {
    await using group = await startShell('sleep 300 & echo $!; exec sleep 300');
    const [ended = 0] = group.said;
    // After exec, the parent is `sleep`, which does not reap its child.
    await expectEventually(() => fs.readFileSync(`/proc/${group.pid}/comm`, 'utf8')).toBe(
      'sleep\n',
    );
    process.kill(ended, 'SIGKILL');
    await expectEventually(() => table.find(ended)?.isDead).toBe(true);
    expect(await table.membersOf(group.pid)).toEqual([group.pid]);
    const { pid, ...shell } = await startShell('echo $$');
    await shell[Symbol.asyncDispose]();
    expect(table.find(pid)).toBeUndefined();
    expect(await table.membersOf(pid)).toEqual([]);
  });

  test('A process carries a marker only in its environment, not in its arguments.', async () => {
    const marker = `MARKER=${newUuid()}`;
    const [name = '', value = ''] = marker.split('=');
    await using carrier = await startShell('echo $$; exec sleep 300', { [name]: value });
    await using _other = await startShell(`: ${marker}; echo $$; sleep 300; :`);
    // During exec, the process has no environment for a moment.
    await expectEventually(() => table.carriersOf(marker, [])).toEqual([carrier.pid]);
    expect(await table.carriersOf(`${marker}0`, [])).toEqual([]);
  });

  test('The keeper ends exactly the processes that are listed or carry the marker.', async () => {
    const value = newUuid();
    await using listed = await startShell(STUBBORN, { CADRE_RUN: value });
    await using carrier = await startShell('echo $$; exec sleep 300', { CADRE_RUN: value });
    await using reused = await startShell('echo $$; exec sleep 300');
    await using named = await startShell(`: CADRE_RUN=${value}; echo $$; sleep 300; :`);
    const [hidden = 0, away = 0, both = 0] = listed.said;
    await hasLeft(both, away);
    const since = (pid: number) => table.find(pid)?.started ?? 0;
    const keeper = spawn('/bin/sh', ['-c', keeperScript(table)], {
      stdio: ['pipe', 'ignore', 'inherit'],
      env: { PATH: process.env.PATH ?? '', LC_ALL: 'C', TZ: 'UTC' },
    });
    const exited = once(keeper, 'exit');
    keeper.stdin?.end(
      [
        `CADRE_RUN=${value}`,
        `+ ${listed.pid} ${table.wordOf(since(listed.pid))}`,
        `+ ${reused.pid} ${table.wordOf(since(reused.pid) - 1)}`,
        `+ ${named.pid} ${table.wordOf(since(named.pid))}`,
        `- ${named.pid}`,
        '',
      ].join('\n'),
    );
    await exited;
    const runs = (pid: number) => procfs.find(pid)?.isDead === false;
    await expectEventually(() => [listed.pid, carrier.pid, hidden, away].filter(runs)).toEqual([]);
    expect([reused.pid, named.pid].filter(runs)).toEqual([reused.pid, named.pid]);
    // Only its parent identifies a process without its environment and group, and /proc is not searched for parents.
    expect(runs(both)).toBe(table === procfs);
  });
});

test('By ps, descendants of a carrier or of a listed group count too, because macOS hides environments.', async () => {
  const value = newUuid();
  await using group = await startShell(STUBBORN, { CADRE_RUN: value });
  const [, ...nonProtocol] = group.said;
  await hasLeft(...nonProtocol);
  const all = new Set([group.pid, ...group.said]);
  expect(new Set(await ps.carriersOf(`CADRE_RUN=${value}`, []))).toEqual(all);
  expect(new Set(await ps.carriersOf('CADRE_RUN=of-none', [group.pid]))).toEqual(all);
  expect(await ps.carriersOf('CADRE_RUN=of-none', [])).toEqual([]);
});

/** Waits until each process leads its own group. */
async function hasLeft(...pids: number[]): Promise<void> {
  for (const pid of pids) await expectEventually(() => procfs.find(pid)?.group).toBe(pid);
}
