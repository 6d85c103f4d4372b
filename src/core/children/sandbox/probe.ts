import fs from 'node:fs/promises';
import type { Socket } from 'node:net';
import path from 'node:path';
import type { Clock } from '../../lib/clock.ts';
import { findProgram } from '../../lib/find-program.ts';
import { hasProc } from '../../lib/platform.ts';
import { shellWord } from '../../lib/shell-word.ts';
import { isNoRoom, isShortage } from '../../lib/system-error.ts';
import type { BarrierCommand } from '../spawn-barrier.ts';
import { SandboxNetwork } from './network/network.ts';
import { createMountPoints } from './files.ts';
import { readHostView } from './host-view.ts';
import { hasProxy, type NetworkMode, planOf, PROXY_PORT, type SandboxVariant } from './plan.ts';
import { privateDirsIn } from './private-directories.ts';
import {
  type MachineSettings,
  NESTS_AS_ROOT,
  NO_BUBBLEWRAP,
  NO_FILTER,
  NOT_CONFINED,
  NOT_LINUX,
  type Reason,
  readMachineSettings,
  reasonOf,
  reasonOfError,
} from './reasons.ts';
import { filterFor, hasFilter } from './seccomp.ts';

export type SandboxLevel =
  | { level: 'full'; program: string; variant: SandboxVariant }
  | ({ level: 'partial'; program: string; variant: SandboxVariant } & Reason)
  | ({ level: 'none' } & Reason);

export interface ProbeOptions {
  /** Runs a command to its end. Rejects if it takes too long. */
  run: (command: BarrierCommand) => Promise<{ stdout: string; stderr: string }>;
  clock: Clock;
  /** The value of PATH, in which bubblewrap is searched. */
  searchPath: string;
  network: NetworkMode;
  nests: boolean;
  /** The directory for the file of the filter, and for the files of the probe. */
  directory: string;
  arch?: string;
  readMachine?: () => Promise<MachineSettings>;
}

const CONFINED = 'confined';
/** The names of directories with the files of a probe; a server that was killed may leave one. */
export const PROBE_PREFIX = 'probe-';

/**
 * Starts a sandbox to find the level. The command inside reports whether it is confined: a wrapper does not pass. Rejects if
 * the server itself has no descriptor, memory or space for the probe.
 */
export async function probeSandbox(options: ProbeOptions): Promise<SandboxLevel> {
  const { searchPath, nests, directory, arch = process.arch } = options;
  if (!hasProc) return { level: 'none', ...NOT_LINUX };
  const program = findProgram('bwrap', searchPath);
  if (program === null) return { level: 'none', ...NO_BUBBLEWRAP };
  if (nests && process.geteuid?.() === 0) return { level: 'none', ...NESTS_AS_ROOT };
  const filter = await writeFilter(directory, arch, nests);
  const full = { proc: 'new', filter } as const;
  const failed = await tryVariant(program, full, options);
  if (failed === null)
    return filter === null
      ? { level: 'partial', program, variant: full, ...NO_FILTER }
      : { level: 'full', program, variant: full };
  const partial = { proc: 'host', filter } as const;
  return (await tryVariant(program, partial, options)) === null
    ? { level: 'partial', program, variant: partial, ...failed }
    : { level: 'none', ...failed };
}

/** Starts one sandbox. Returns why it does not confine; null if it does. */
async function tryVariant(
  program: string,
  variant: SandboxVariant,
  {
    run,
    searchPath,
    network,
    nests,
    directory,
    clock,
    readMachine = readMachineSettings,
  }: ProbeOptions,
): Promise<Reason | null> {
  const scratch = await fs.mkdtemp(path.join(await fs.realpath(directory), PROBE_PREFIX));
  try {
    const at = Object.fromEntries(
      ['home', 'data', 'root', 'own'].map((name) => [name, path.join(scratch, name)]),
    ) as Record<'home' | 'data' | 'root' | 'own', string>;
    const own = privateDirsIn(at.own);
    for (const one of [...Object.values(at), own.home, own.tmp]) await fs.mkdir(one);
    const secret = path.join(at.home, 'secret');
    await fs.writeFile(secret, '');
    const view = await readHostView({
      home: at.home,
      dataDirectory: at.data,
      worktrees: path.join(at.data, 'worktrees'),
      searchPath,
    });
    const plan = planOf({
      view,
      variant,
      root: at.root,
      isReadOnly: false,
      cwd: at.root,
      own,
      read: [],
      write: [],
      hide: [],
      scratch: [],
      repository: null,
      standIn: null,
      network,
      nests,
      maxProcesses: 4096,
    });
    await createMountPoints(at.own, plan.mountPoints);
    await using entered = hasProxy(network) ? await openNetwork(searchPath, clock) : null;
    const mode = variant.filter === null ? 0 : 2;
    const text = `while read -r name value; do [ "$name" = Seccomp: ] && mode=$value; done < /proc/self/status
[ ! -e ${shellWord(secret)} ] && [ -w . ] && [ ! -w /usr ] && [ "$mode" = ${mode} ] && echo ${CONFINED}`;
    const { stdout, stderr } = await run({
      command: '/bin/sh',
      args: ['-c', text],
      cwd: at.root,
      env: { PATH: searchPath },
      stdin: 'none',
      sandbox: {
        words: [...(entered?.words ?? []), program, ...plan.words],
        filter: plan.filter,
        gitSettings: {},
        kept: { owner: scratch, isAgent: false, network, hosts: [], mounts: [] },
        onFailure: () => undefined,
      },
    });
    if (stdout.trim() === CONFINED) return null;
    return stderr.trim() === '' ? NOT_CONFINED : reasonOf(stderr, await readMachine());
  } catch (error) {
    // Without a descriptor, memory or space, nothing was found out.
    if (isShortage(error) || isNoRoom(error)) throw error;
    return reasonOfError(error, await readMachine());
  } finally {
    await fs.rm(scratch, { recursive: true, force: true });
  }
}

function openNetwork(searchPath: string, clock: Clock): Promise<SandboxNetwork> {
  const port = { port: PROXY_PORT, accept: (socket: Socket) => void socket.destroy() };
  return SandboxNetwork.open(searchPath, [port], clock);
}

/** Writes the file of the filter. Resolves with null if there is no filter for this architecture. */
export async function writeFilter(
  directory: string,
  arch: string,
  nests: boolean,
): Promise<string | null> {
  if (!hasFilter(arch)) return null;
  const file = path.join(directory, nests ? `${arch}-nests.bpf` : `${arch}.bpf`);
  await fs.writeFile(file, filterFor(arch, { nests }), { mode: 0o600 });
  return file;
}
