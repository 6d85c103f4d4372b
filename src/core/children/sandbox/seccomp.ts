/**
 * The system call filter of a sandbox, as the program of classic BPF that `bwrap --seccomp` reads. The server generates
 * it, so that cadre needs no compiler and ships no binary.
 */

/** The system call numbers of one architecture that the filter refuses or examines. */
interface Calls {
  /** The number of the architecture in the kernel (AUDIT_ARCH). */
  audit: number;
  /** A bit in the numbers of a second ABI, whose calls are refused; 0 where there is none. */
  otherAbi: number;
  ioctl: number;
  sockets: readonly number[];
  clone: number;
  unshare: number;
  /** Calls that answer ENOSYS, because programs then use an older call. */
  missing: { clone3: number; ioUring: readonly number[] };
  /** Calls for mounts and namespaces, which a sandbox with `nests` allows. */
  mounts: readonly number[];
  /** Calls that no sandbox allows. */
  refused: readonly number[];
}

/** The modern calls for mounts, from open_tree to open_tree_attr, have the same numbers on all architectures. */
const NEW_MOUNT_CALLS = [428, 429, 430, 431, 432, 433, 442, 467];
const IO_URING = [425, 426, 427];

const calls = {
  x64: {
    audit: 0xc000003e,
    otherAbi: 0x40000000,
    ioctl: 16,
    // socket, socketpair
    sockets: [41, 53],
    clone: 56,
    unshare: 272,
    missing: { clone3: 435, ioUring: IO_URING },
    // mount, umount2, pivot_root, chroot, setns
    mounts: [165, 166, 155, 161, 308, ...NEW_MOUNT_CALLS],
    refused: [
      // add_key, request_key, keyctl, bpf, perf_event_open, userfaultfd
      248, 249, 250, 321, 298, 323,
      // kexec_load, kexec_file_load, init_module, finit_module, delete_module
      246, 320, 175, 313, 176,
      // open_by_handle_at, syslog, acct, swapon, swapoff, reboot, quotactl
      304, 103, 163, 167, 168, 169, 179,
      // iopl, ioperm, vhangup, move_pages
      172, 173, 153, 279,
    ],
  },
  arm64: {
    audit: 0xc00000b7,
    otherAbi: 0,
    ioctl: 29,
    sockets: [198, 199],
    clone: 220,
    unshare: 97,
    missing: { clone3: 435, ioUring: IO_URING },
    mounts: [40, 39, 41, 51, 268, ...NEW_MOUNT_CALLS],
    // The same calls as on x64, without iopl and ioperm.
    refused: [
      217, 218, 219, 280, 241, 282, 104, 294, 105, 273, 106, 265, 116, 89, 224, 225, 142, 60, 58,
      239,
    ],
  },
} satisfies Record<string, Calls>;

type FilteredArch = keyof typeof calls;

/** The flags of clone and unshare that create namespaces (CLONE_NEW*), without the one for time. */
const NEW_NAMESPACE = 0x7e020000;
/** The flag for a time namespace. In the flags of clone, its bit belongs to the exit signal. */
const NEW_TIME = 0x80;
/** The socket families that the filter allows: unix, inet, inet6, netlink. */
const FAMILIES = [1, 2, 10, 16];
/** The requests of ioctl that write into the input of a terminal: TIOCSTI, TIOCLINUX. */
const TERMINAL_INPUT = [0x5412, 0x541c];

const LOAD = 0x20;
const IF_EQUAL = 0x15;
const IF_BITS = 0x45;
const RETURN = 0x06;

const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const EPERM = 0x50001;
const ENOSYS = 0x50026;
const EAFNOSUPPORT = 0x50061;

/** Offsets in the data of a call. Both architectures are little-endian, so the low word of an argument comes first. */
const NUMBER_AT = 0;
const ARCH_AT = 4;
const lowWordOf = (argument: number) => 16 + 8 * argument;

/** One instruction: jumps skip `ifTrue` or `ifFalse` instructions. */
interface Instruction {
  code: number;
  value: number;
  ifTrue: number;
  ifFalse: number;
}

export function hasFilter(arch: string): arch is FilteredArch {
  return Object.hasOwn(calls, arch);
}

/** Returns the filter. With `nests`, programs inside may create namespaces of their own. */
export function filterFor(arch: FilteredArch, { nests }: { nests: boolean }): Buffer {
  const { audit, otherAbi, ioctl, sockets, clone, unshare, missing, mounts, refused }: Calls =
    calls[arch];
  return encode([
    load(ARCH_AT),
    // The numbers of another architecture, such as 32-bit x86, mean other calls.
    ...unless(audit, [give(KILL)]),
    load(NUMBER_AT),
    ...(otherAbi === 0 ? [] : ifBits(otherAbi, [give(ENOSYS)])),
    ...refused.flatMap((number) => ifEqual(number, [give(EPERM)])),
    ...missing.ioUring.flatMap((number) => ifEqual(number, [give(ENOSYS)])),
    ...(nests
      ? []
      : [
          ...mounts.flatMap((number) => ifEqual(number, [give(EPERM)])),
          // Its flags are in memory, where a filter cannot read them.
          ...ifEqual(missing.clone3, [give(ENOSYS)]),
          ...ifEqual(clone, refuseBits(NEW_NAMESPACE)),
          ...ifEqual(unshare, refuseBits(NEW_NAMESPACE | NEW_TIME)),
        ]),
    ...ifEqual(ioctl, [
      load(lowWordOf(1)),
      ...TERMINAL_INPUT.flatMap((request) => ifEqual(request, [give(EPERM)])),
      give(ALLOW),
    ]),
    ...sockets.flatMap((number) =>
      ifEqual(number, [
        load(lowWordOf(0)),
        ...FAMILIES.flatMap((family) => ifEqual(family, [give(ALLOW)])),
        give(EAFNOSUPPORT),
      ]),
    ),
    give(ALLOW),
  ]);
}

function refuseBits(bits: number): Instruction[] {
  return [load(lowWordOf(0)), ...ifBits(bits, [give(EPERM)]), give(ALLOW)];
}

function load(offset: number): Instruction {
  return { code: LOAD, value: offset, ifTrue: 0, ifFalse: 0 };
}

function give(answer: number): Instruction {
  return { code: RETURN, value: answer, ifTrue: 0, ifFalse: 0 };
}

function ifEqual(value: number, then: readonly Instruction[]): Instruction[] {
  return [{ code: IF_EQUAL, value, ifTrue: 0, ifFalse: then.length }, ...then];
}

function unless(value: number, then: readonly Instruction[]): Instruction[] {
  return [{ code: IF_EQUAL, value, ifTrue: then.length, ifFalse: 0 }, ...then];
}

function ifBits(bits: number, then: readonly Instruction[]): Instruction[] {
  return [{ code: IF_BITS, value: bits, ifTrue: 0, ifFalse: then.length }, ...then];
}

function encode(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [at, { code, value, ifTrue, ifFalse }] of program.entries()) {
    bytes.writeUInt16LE(code, at * 8);
    bytes.writeUInt8(ifTrue, at * 8 + 2);
    bytes.writeUInt8(ifFalse, at * 8 + 3);
    bytes.writeUInt32LE(value >>> 0, at * 8 + 4);
  }
  return bytes;
}
