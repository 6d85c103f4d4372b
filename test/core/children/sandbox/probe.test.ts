import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { Networks } from '../../../../src/core/children/sandbox/network/networks.ts';
import type { BarrierCommand } from '../../../../src/core/children/spawn-barrier.ts';
import { probeSandbox, type SandboxLevel } from '../../../../src/core/children/sandbox/probe.ts';
import { probeThisMachine } from '../../../../src/core/children/sandbox/run-probe.ts';
import {
  type MachineSettings,
  NO_FILTER,
  ProbeTimeout,
  reasonOf,
  reasonOfError,
} from '../../../../src/core/children/sandbox/reasons.ts';
import { Sandbox } from '../../../../src/core/children/sandbox/sandbox.ts';
import { configSchema } from '../../../../src/core/config/schema.ts';
import { systemClock } from '../../../../src/core/lib/clock.ts';
import { silentLog } from '../../../../src/core/lib/log.ts';
import { hasProc } from '../../../../src/core/lib/platform.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { tempDirectory } from '../../../support/temp.ts';

const machine: MachineSettings = {
  maxUserNamespaces: '10000',
  unprivilegedNamespaces: null,
  apparmorRestricts: null,
  isContainer: false,
};

describe('the reason for a failed probe', () => {
  const rows: [string, string, Partial<MachineSettings>, RegExp, RegExp][] = [
    [
      'a limit of namespaces',
      'bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)',
      {},
      /limit of user namespaces/,
      /max_user_namespaces=10000/,
    ],
    [
      'namespaces that are switched off',
      'bwrap: No permissions to creating new namespace, likely because the kernel does not allow non-privileged user namespaces.',
      { maxUserNamespaces: '0' },
      /switched off/,
      /max_user_namespaces=10000/,
    ],
    [
      'namespaces only for root',
      'bwrap: No permissions to create new namespace',
      { unprivilegedNamespaces: '0' },
      /only root/,
      /unprivileged_userns_clone=1/,
    ],
    [
      'a container of Docker',
      'bwrap: No permissions to create new namespace',
      { isContainer: true },
      /container may not create/,
      /seccomp=unconfined/,
    ],
    [
      'another kernel',
      'bwrap: Creating new namespace failed: Invalid argument',
      {},
      /kernel/,
      /dmesg/,
    ],
    [
      'AppArmor of Ubuntu',
      'bwrap: setting up uid map: Permission denied',
      { apparmorRestricts: '1' },
      /AppArmor/,
      /apparmor_parser -r/,
    ],
    [
      'AppArmor and a network namespace',
      'bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted',
      { apparmorRestricts: '1' },
      /AppArmor/,
      /userns,/,
    ],
    [
      'a namespace without rights',
      'bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted',
      {},
      /no rights/,
      /dmesg/,
    ],
    [
      'root without capabilities',
      'bwrap: setting up uid map: Operation not permitted',
      {},
      /CAP_SETFCAP/,
      /ordinary user/,
    ],
    [
      "podman's default",
      "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
      {},
      /covers parts of \/proc/,
      /unmask=ALL/,
    ],
    [
      'an unknown error',
      'bwrap: Unknown option --foo\nmore',
      {},
      /failed: bwrap: Unknown option --foo$/,
      /installation/,
    ],
    ['no error', '', {}, /without an error message/, /installation/],
  ];

  test.each(rows)('The reason for %s has a remedy.', (_what, printed, settings, reason, help) => {
    const found = reasonOf(printed, { ...machine, ...settings });
    expect(found.reason).toMatch(reason);
    expect(found.help).toMatch(help);
  });
});

test('A probe that fails is repeated when a sandbox is needed again.', async () => {
  await using directory = tempDirectory('probe');
  const probe = vi.fn<() => Promise<SandboxLevel>>();
  probe.mockRejectedValueOnce(new Error('spawn EMFILE'));
  probe.mockResolvedValue({ level: 'none', reason: 'x', help: 'y' });
  const sandbox = new Sandbox({
    settings: configSchema.parse({ sandbox: { mode: 'auto' } }).sandbox,
    paths: { home: '/', dataDirectory: directory.path, worktrees: '/', searchPath: '' },
    networks: new Networks({ clock: systemClock, searchPath: '', onProblem: () => undefined }),
    probe,
    clock: systemClock,
    logger: silentLog(),
  });
  await expect(sandbox.describe('/work', undefined)).rejects.toThrow('EMFILE');
  expect(await sandbox.describe('/work', undefined)).toMatch(/^none: /);
  expect(probe).toHaveBeenCalledTimes(2);
});

test('A probe that exceeded its time limit is repeated after a while.', async () => {
  await using directory = tempDirectory('probe');
  const probe = vi.fn<() => Promise<SandboxLevel>>();
  const late = reasonOfError(new ProbeTimeout(10_000), machine);
  expect(late.reason).toBe('bubblewrap failed: no answer within 10 s');
  probe.mockResolvedValueOnce({ level: 'none', ...late });
  probe.mockResolvedValue({
    level: 'partial',
    program: '/bwrap',
    variant: { proc: 'new', filter: null },
    ...NO_FILTER,
  });
  const clock = new ManualClock();
  const sandbox = new Sandbox({
    settings: configSchema.parse({ sandbox: { mode: 'auto' } }).sandbox,
    paths: { home: '/', dataDirectory: directory.path, worktrees: '/', searchPath: '' },
    networks: new Networks({ clock, searchPath: '', onProblem: () => undefined }),
    probe,
    clock,
    logger: silentLog(),
  });
  for (let i = 0; i < 2; i++) expect(await sandbox.describe('/work', undefined)).toMatch(/^none: /);
  expect(probe).toHaveBeenCalledTimes(1);
  clock.advance(10_000);
  for (let i = 0; i < 2; i++)
    expect(await sandbox.describe('/work', undefined)).toMatch(/^partial: /);
  expect(probe).toHaveBeenCalledTimes(2);
});

describe.skipIf(!hasProc)('the level', () => {
  /** Probes with a program `bwrap`, whose runs answer in order. */
  async function probeWith(
    answers: readonly { stdout?: string; stderr?: string }[],
    options: { nests?: boolean; arch?: string } = {},
  ) {
    await using directory = tempDirectory('probe');
    fs.writeFileSync(path.join(directory.path, 'bwrap'), '#!/bin/sh\n', { mode: 0o755 });
    const left = [...answers];
    return await probeSandbox({
      searchPath: directory.path,
      network: 'none',
      nests: false,
      directory: directory.path,
      arch: 'x64',
      readMachine: async () => machine,
      clock: systemClock,
      run: async () => ({ stdout: '', stderr: '', ...left.shift() }),
      ...options,
    });
  }
  const confined = { stdout: 'confined\n' };
  const noProc = { stderr: "bwrap: Can't mount proc on /newroot/proc: Operation not permitted" };

  test('A confined command is a full sandbox.', async () => {
    expect(await probeWith([confined])).toMatchObject({ level: 'full', variant: { proc: 'new' } });
  });

  test('A sandbox that only works without a new /proc is partial, with the reason.', async () => {
    const level = await probeWith([noProc, confined]);
    expect(level).toMatchObject({
      level: 'partial',
      variant: { proc: 'host' },
      reason: expect.stringContaining('/proc'),
    });
  });

  test('A sandbox without a filter for the architecture is partial.', async () => {
    expect(await probeWith([confined], { arch: 'riscv64' })).toMatchObject({
      level: 'partial',
      variant: { proc: 'new', filter: null },
      reason: expect.stringContaining('architecture'),
    });
  });

  test('A machine that allows no namespace has no sandbox.', async () => {
    const printed = { stderr: 'bwrap: No permissions to create new namespace' };
    expect(await probeWith([printed, printed])).toMatchObject({ level: 'none' });
  });

  test('The command of the probe is valid in a data directory with a quote in its name.', async () => {
    await using directory = tempDirectory("o'brien");
    fs.writeFileSync(path.join(directory.path, 'bwrap'), '#!/bin/sh\n', { mode: 0o755 });
    const options = {
      searchPath: directory.path,
      network: 'none',
      nests: false,
      directory: directory.path,
      arch: 'x64',
      clock: systemClock,
    } as const;
    const texts: string[] = [];
    const run = async ({ args }: BarrierCommand) => {
      texts.push(args[1] ?? '');
      return { stdout: 'confined\n', stderr: '' };
    };
    await probeSandbox({ ...options, run });
    expect(texts.map((text) => spawnSync('/bin/sh', ['-n', '-c', text]).status)).toEqual([0]);
  });

  test('A server without a free descriptor does not learn from a probe that there is no sandbox.', async () => {
    await using directory = tempDirectory('probe');
    fs.writeFileSync(path.join(directory.path, 'bwrap'), '#!/bin/sh\n', { mode: 0o755 });
    const options = {
      searchPath: directory.path,
      network: 'none',
      nests: false,
      directory: directory.path,
      clock: systemClock,
    } as const;
    const short = Object.assign(new Error('spawn EMFILE'), { code: 'EMFILE' });
    const run = () => Promise.reject(short);
    await expect(probeSandbox({ ...options, run })).rejects.toBe(short);
  });

  test('A machine without bubblewrap has no sandbox.', async () => {
    const options = {
      searchPath: '/nonexistent',
      network: 'none',
      nests: false,
      directory: '/',
      clock: systemClock,
    } as const;
    const run = () => Promise.reject(new Error('not run'));
    expect(await probeSandbox({ ...options, run })).toEqual({
      level: 'none',
      reason: 'bubblewrap is not installed',
      help: 'install the package bubblewrap',
    });
  });

  test('A program bwrap that merely runs commands is not a sandbox.', async () => {
    await using directory = tempDirectory('fake');
    const script = '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n';
    fs.writeFileSync(path.join(directory.path, 'bwrap'), script, { mode: 0o755 });
    const options = {
      searchPath: `${directory.path}:${process.env.PATH ?? ''}`,
      network: 'none',
      nests: false,
      directory: directory.path,
    } as const;
    expect(await probeThisMachine(options, systemClock)).toMatchObject({
      level: 'none',
      reason: expect.stringContaining('without confining'),
    });
  });

  test.skipIf(process.getuid?.() !== 0)('A server of root has no sandbox with nests.', async () => {
    expect(await probeWith([confined], { nests: true })).toMatchObject({
      level: 'none',
      reason: expect.stringContaining('ordinary user'),
    });
  });
});
