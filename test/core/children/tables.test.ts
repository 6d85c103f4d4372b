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

/** Says the pids of a sleeper without an environment, of one that left the group, and of one that did both. */
const STUBBORN = `
env -i /bin/sleep 300 >/dev/null & hidden=$!
setsid /bin/sleep 300 >/dev/null & away=$!
env -i setsid /bin/sleep 300 >/dev/null & both=$!
echo $hidden $away $both
wait`;

describe.each(tables)('processes by %s', (_name, table) => {
  test('have a group, and a start by which a later one with the same number is told apart.', async () => {
    await using earlier = await startShell('echo $$; exec sleep 300');
    const found = table.find(earlier.pid);
    expect(found).toMatchObject({ pid: earlier.pid, group: earlier.pid, isDead: false });
    expect(table.find(earlier.pid)).toEqual(found);
    expect(table.find(1)?.started).toBeLessThan(found?.started ?? 0);
    expect(table.bootId()).toBe(table.bootId());
    expect(table.bootId()).toMatch(/^[0-9a-f-]{9,}$/);
  });

  test('that have ended are not found, and are no members of their group before they are reaped.', async () => {
    await using group = await startShell('sleep 300 & echo $!; exec sleep 300');
    const [ended = 0] = group.said;
    // From then on nobody reaps it.
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

  test('carry a marker in their environment, not in their arguments.', async () => {
    const marker = `MARKER=${newUuid()}`;
    const [name = '', value = ''] = marker.split('=');
    await using carrier = await startShell('echo $$; exec sleep 300', { [name]: value });
    await using _other = await startShell(`: ${marker}; echo $$; sleep 300; :`);
    // While exec makes the new program, the process has no environment.
    await expectEventually(() => table.carriersOf(marker, [])).toEqual([carrier.pid]);
    expect(await table.carriersOf(`${marker}0`, [])).toEqual([]);
  });

  test('are ended by the keeper, where they are listed or carry the marker, and no others.', async () => {
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
    // Without its environment and its group, only its parent says whose it is; /proc is not asked for parents.
    expect(runs(both)).toBe(table === procfs);
  });
});

test('By ps, what descends from a carrier or from a listed group counts, too, since macOS hides environments.', async () => {
  const value = newUuid();
  await using group = await startShell(STUBBORN, { CADRE_RUN: value });
  const [, ...nonProtocol] = group.said;
  await hasLeft(...nonProtocol);
  const all = new Set([group.pid, ...group.said]);
  expect(new Set(await ps.carriersOf(`CADRE_RUN=${value}`, []))).toEqual(all);
  expect(new Set(await ps.carriersOf('CADRE_RUN=of-none', [group.pid]))).toEqual(all);
  expect(await ps.carriersOf('CADRE_RUN=of-none', [])).toEqual([]);
});

/** Waits until each of them leads a group of its own. */
async function hasLeft(...pids: number[]): Promise<void> {
  for (const pid of pids) await expectEventually(() => procfs.find(pid)?.group).toBe(pid);
}
