import { describe, expect, test } from 'vitest';
import { filterFor, hasFilter } from '../../../../src/core/children/sandbox/seccomp.ts';
import { evaluateFilter } from './evaluate-filter.ts';

/** Newer calls, whose numbers all architectures share. */
const newerMounts = {
  open_tree: 428,
  move_mount: 429,
  fsopen: 430,
  fsconfig: 431,
  fsmount: 432,
  fspick: 433,
  mount_setattr: 442,
  open_tree_attr: 467,
};

const [EPERM, ENOSYS, EAFNOSUPPORT] = [1, 38, 97];
/** Bits of an argument that the kernel ignores where it reads 32 bits. */
const HIGH = 0xdeadbeef_00000000n;
const SIGCHLD = 17n;

/** Numbers of the kernel, in the order of the names. */
const numbers = {
  x64: {
    refused: {
      add_key: 248,
      request_key: 249,
      keyctl: 250,
      bpf: 321,
      perf_event_open: 298,
      userfaultfd: 323,
      kexec_load: 246,
      kexec_file_load: 320,
      init_module: 175,
      finit_module: 313,
      delete_module: 176,
      open_by_handle_at: 304,
      syslog: 103,
      acct: 163,
      swapon: 167,
      swapoff: 168,
      reboot: 169,
      quotactl: 179,
      iopl: 172,
      ioperm: 173,
      vhangup: 153,
      move_pages: 279,
    },
    mounts: {
      mount: 165,
      umount2: 166,
      pivot_root: 155,
      chroot: 161,
      setns: 308,
      ...newerMounts,
    },
    allowed: { read: 0, open: 2, ptrace: 101, kill: 62, execve: 59, pidfd_open: 434 },
    clone: 56,
    unshare: 272,
    ioctl: 16,
    socket: 41,
    socketpair: 53,
  },
  arm64: {
    refused: {
      add_key: 217,
      request_key: 218,
      keyctl: 219,
      bpf: 280,
      perf_event_open: 241,
      userfaultfd: 282,
      kexec_load: 104,
      kexec_file_load: 294,
      init_module: 105,
      finit_module: 273,
      delete_module: 106,
      open_by_handle_at: 265,
      syslog: 116,
      acct: 89,
      swapon: 224,
      swapoff: 225,
      reboot: 142,
      quotactl: 60,
      vhangup: 58,
      move_pages: 239,
    },
    mounts: {
      mount: 40,
      umount2: 39,
      pivot_root: 41,
      chroot: 51,
      setns: 268,
      ...newerMounts,
    },
    allowed: { read: 63, openat: 56, ptrace: 117, kill: 129, execve: 221, pidfd_open: 434 },
    clone: 220,
    unshare: 97,
    ioctl: 29,
    socket: 198,
    socketpair: 199,
  },
} as const;

const namespaces: [string, bigint][] = [
  ['mnt', 0x00020000n],
  ['cgroup', 0x02000000n],
  ['uts', 0x04000000n],
  ['ipc', 0x08000000n],
  ['user', 0x10000000n],
  ['pid', 0x20000000n],
  ['net', 0x40000000n],
];

describe.each(['x64', 'arm64'] as const)('the filter for %s', (arch) => {
  const { refused, mounts, allowed, clone, unshare, ioctl, socket, socketpair } = numbers[arch];
  const strict = filterFor(arch, { nests: false });
  const nesting = filterFor(arch, { nests: true });
  const ask = (filter: Buffer, number: number, ...args: bigint[]) =>
    evaluateFilter(filter, { arch, number, args });

  test('The filter refuses calls for keys, kernel code, other machines of the kernel, and the system.', () => {
    for (const [name, number] of Object.entries(refused))
      for (const filter of [strict, nesting])
        expect([name, ask(filter, number)]).toEqual([name, EPERM]);
  });

  test('The filter reports io_uring as missing.', () => {
    for (const number of [425, 426, 427])
      for (const filter of [strict, nesting]) expect(ask(filter, number)).toBe(ENOSYS);
  });

  test('The filter allows the calls of ordinary programs and debuggers.', () => {
    for (const number of Object.values(allowed))
      for (const filter of [strict, nesting]) expect(ask(filter, number)).toBe('allow');
  });

  test('Only a sandbox with nests allows mounts and namespaces.', () => {
    for (const [name, number] of Object.entries(mounts)) {
      expect([name, ask(strict, number)]).toEqual([name, EPERM]);
      expect([name, ask(nesting, number)]).toEqual([name, 'allow']);
    }
    expect([ask(strict, 435), ask(nesting, 435)]).toEqual([ENOSYS, 'allow']);
    for (const [name, flag] of namespaces)
      for (const number of [clone, unshare]) {
        expect([name, ask(strict, number, flag | SIGCHLD)]).toEqual([name, EPERM]);
        expect([name, ask(strict, number, HIGH | flag)]).toEqual([name, EPERM]);
        expect([name, ask(nesting, number, flag)]).toEqual([name, 'allow']);
      }
  });

  test('A clone without namespaces is allowed, and a time namespace is refused.', () => {
    expect(ask(strict, clone, SIGCHLD)).toBe('allow');
    // The bit of a time namespace belongs to the exit signal of clone.
    expect(ask(strict, clone, 0x80n)).toBe('allow');
    expect(ask(strict, unshare, 0x80n)).toBe(EPERM);
    // CLONE_FILES and CLONE_FS.
    expect(ask(strict, unshare, 0x600n)).toBe('allow');
  });

  test('A request that writes into a terminal is refused, whatever its upper bits are.', () => {
    for (const request of [0x5412n, 0x541cn, HIGH | 0x5412n])
      expect(ask(strict, ioctl, 0n, request)).toBe(EPERM);
    expect(ask(strict, ioctl, 0x5412n, 0x5401n)).toBe('allow');
  });

  test('Only sockets of the families unix, inet, inet6 and netlink are allowed.', () => {
    for (const number of [socket, socketpair]) {
      for (const family of [1n, 2n, 10n, 16n, HIGH | 2n])
        expect(ask(strict, number, family)).toBe('allow');
      for (const family of [0n, 17n, 31n, 38n, 40n, HIGH | 40n])
        expect(ask(strict, number, family)).toBe(EAFNOSUPPORT);
    }
  });

  test('A call of another architecture kills the program.', () => {
    const others = (['x64', 'arm64', 'i386'] as const).filter((other) => other !== arch);
    const answers = others.map((other) => evaluateFilter(strict, { arch: other, number: 1 }));
    expect(answers).toEqual(['kill', 'kill']);
  });
});

test('The filter for x64 refuses the calls of the ABI x32.', () => {
  const filter = filterFor('x64', { nests: false });
  expect(evaluateFilter(filter, { arch: 'x64', number: 0x40000000 + 1 })).toBe(ENOSYS);
});

test('Other architectures have no filter.', () => {
  expect(['x64', 'arm64', 'riscv64', 'toString'].map(hasFilter)).toEqual([
    true,
    true,
    false,
    false,
  ]);
});
