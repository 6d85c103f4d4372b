import path from 'node:path';
import { invalidError } from '../../../api/errors.ts';
import { isInside } from '../../lib/paths.ts';
import { type Found, type Mount, type MountKind, type MountPoint, nearest } from './files.ts';
import type { HostView } from './host-view.ts';
import { NEVER_WORKED_IN, UNSET } from './host-paths.ts';
import type { PrivateDirs } from './private-directories.ts';
import type { GitDirectories } from './git-directories.ts';
import { type GitStandIn, PACKING, REAL } from './git-stand-in.ts';

/**
 * The network of a sandbox: its own loopback interface, also listed hosts, also other hosts that a person allows, or the network
 * of the machine.
 */
export type NetworkMode = 'none' | 'hosts' | 'ask' | 'all';

/** Whether a sandbox has a network namespace of its session with a proxy. */
export function hasProxy(mode: NetworkMode): boolean {
  return mode === 'hosts' || mode === 'ask';
}

/** The port of the proxy in a network with listed hosts. The kernel gives it to no program, and few programs choose it. */
export const PROXY_PORT = 61_128;

/** The network of a sandbox in words, for people who decide about a command. */
export const NETWORK_TEXTS: Record<NetworkMode, string> = {
  none: 'no network',
  hosts: 'the hosts of sandbox.hosts',
  ask: 'the hosts of sandbox.hosts, and hosts that a person allows',
  all: 'the whole network',
};

/** How much of a full sandbox the machine allows. */
export interface SandboxVariant {
  /** `new`: only processes of the sandbox are in /proc. `host`: the kernel allows no new /proc. */
  proc: 'new' | 'host';
  /** The file of the system call filter. Null: cadre has no filter for this architecture. */
  filter: string | null;
}

export interface PlanInput {
  view: HostView;
  variant: SandboxVariant;
  /** The directory that the child may write. */
  root: string;
  /** Whether the root is read-only too. */
  isReadOnly: boolean;
  /** The working directory of the child: the root, or a directory that the sandbox shows. */
  cwd: string;
  own: PrivateDirs;
  /** More paths that are shown read-only. */
  read: readonly Found[];
  /** More paths that the child may write. */
  write: readonly Found[];
  /** More paths that are hidden. */
  hide: readonly Found[];
  /** Directories that are mounted at directories of the agent. */
  scratch: readonly { at: string; source: string }[];
  repository: GitDirectories | null;
  /** The stand-in for the common directory of the repository. Null: the common directory is read-only. */
  standIn: GitStandIn | null;
  /** With `hosts` and `ask`, the child starts in a network namespace that has the proxy. */
  network: NetworkMode;
  /** Whether programs inside may create namespaces. */
  nests: boolean;
  maxProcesses: number;
}

/** The view and the rights of one child, as arguments of bubblewrap. */
export interface SandboxPlan {
  /** The words before the command: options of bubblewrap, and the shell inside that starts the command. */
  words: readonly string[];
  /** The file of the filter, which is passed as descriptor 9. */
  filter: string | null;
  /** Files and directories that have to exist in the own directories, parents first: other paths are mounted on them. */
  mountPoints: readonly MountPoint[];
  mounts: readonly Mount[];
}

/** The namespaces of every sandbox. It ends with the server, and has no capabilities. */
const ISOLATION = [
  '--unshare-user',
  '--unshare-pid',
  '--unshare-ipc',
  '--unshare-uts',
  '--unshare-cgroup-try',
  '--die-with-parent',
  '--cap-drop',
  'ALL',
];

/** The home directory inside if the server has `/` as its home directory. */
const HOME_INSTEAD_OF_ROOT = '/home/cadre';

/** How programs inside find the proxy. The loopback interface is their own, so they reach it without the proxy. */
const PROXY_VARIABLES = {
  ...bothCases('HTTP_PROXY', `http://127.0.0.1:${PROXY_PORT}`),
  ...bothCases('HTTPS_PROXY', `http://127.0.0.1:${PROXY_PORT}`),
  ...bothCases('ALL_PROXY', `http://127.0.0.1:${PROXY_PORT}`),
  ...bothCases('NO_PROXY', 'localhost,127.0.0.1,::1'),
  NODE_USE_ENV_PROXY: '1',
};

function bothCases(name: string, value: string): Record<string, string> {
  return { [name]: value, [name.toLowerCase()]: value };
}

/**
 * The shell inside. It limits the number of processes, which counts in the new user namespace alone (the option is `-u` in
 * bash, `-p` in dash and BusyBox), and exits with 127 for a command that does not exist.
 */
const shellInside = (maxProcesses: number) => [
  '/bin/sh',
  '-c',
  `ulimit -u ${maxProcesses} 2>/dev/null || ulimit -p ${maxProcesses} 2>/dev/null; exec "$@"`,
  'cadre',
];

/** Returns the plan of a child from facts alone. Throws `invalid` for a directory in which nothing could be hidden. */
export function planOf(input: PlanInput): SandboxPlan {
  assertRoot(input);
  const mounts = new Map<string, Mount>();
  addShown(mounts, input);
  addHidden(mounts, input);
  const mountPoints = pinAncestors(mounts);
  assertVisible(input, mounts);
  const { view, variant, cwd, network, nests, maxProcesses } = input;
  const sorted = sortedByPath(mounts);
  const words = [
    ...ISOLATION,
    ...(network === 'none' ? ['--unshare-net'] : []),
    // Without a filter, only this option refuses further namespaces.
    ...(variant.filter === null && !nests ? ['--disable-userns'] : []),
    ...view.top.flatMap(({ path: at, link }) =>
      link === null ? ['--ro-bind', at, at] : ['--symlink', link, at],
    ),
    ...(variant.proc === 'new' ? ['--proc', '/proc'] : ['--ro-bind', '/proc', '/proc']),
    '--dev',
    '/dev',
    '--tmpfs',
    '/run',
    // A masked /proc would prevent programs inside from mounting a new one.
    ...(variant.proc === 'new' && !nests ? procMasks(view) : []),
    ...sorted.flatMap(wordsOf),
    // Last, because deeper mounts need their mount points.
    ...[...hiddenDirectories(sorted), '/run', '/'].flatMap((at) => ['--remount-ro', at]),
    '--chdir',
    cwd,
    ...environmentInside(view, network),
    ...(variant.filter === null ? [] : ['--seccomp', '9']),
    '--',
    ...shellInside(maxProcesses),
  ];
  return { words, filter: variant.filter, mountPoints, mounts: sorted };
}

/**
 * Returns the options of bubblewrap for a trusted command that sees all files, and can write only below some directories. If
 * a link leads the command elsewhere, its write fails.
 */
export function writerOptions(directories: readonly string[]): string[] {
  // A device in a read-only view cannot be opened, so there is a new /dev.
  const devices = ['--dev', '/dev', '--ro-bind-try', '/dev/shm', '/dev/shm'];
  const writable = directories.flatMap((one) => ['--bind', one, one]);
  return [
    '--unshare-user',
    '--die-with-parent',
    '--ro-bind',
    '/',
    '/',
    ...devices,
    ...writable,
    '--',
  ];
}

function hiddenDirectories(mounts: readonly Mount[]): string[] {
  return mounts.filter((one) => one.kind === 'hidden' && one.isDirectory).map(({ at }) => at);
}

function environmentInside(view: HostView, network: NetworkMode): string[] {
  const proxy = hasProxy(network) ? PROXY_VARIABLES : {};
  const set = { HOME: homeInside(view), TMPDIR: '/tmp', ...proxy };
  return [
    ...Object.entries(set).flatMap(([name, value]) => ['--setenv', name, value]),
    ...UNSET.flatMap((name) => ['--unsetenv', name]),
  ];
}

function homeInside({ home }: HostView): string {
  return home === '/' ? HOME_INSTEAD_OF_ROOT : home;
}

/** Throws `invalid` for a root that shows secrets of the user or files of the system. */
function assertRoot({ view, root, write, hide }: PlanInput): void {
  const { home, dataDirectory, worktrees } = view;
  const refuse = (reason: string) => {
    throw invalidError(
      `cannot use "${root}" in the sandbox, because ${reason}: use another directory, or switch the sandbox off with sandbox.mode`,
    );
  };
  if (isInside(home, root)) refuse('this directory is or contains the home directory');
  if (isInside(dataDirectory, root)) refuse('this directory is or contains the data directory');
  const isWorktree = root !== worktrees && isInside(root, worktrees);
  if (isWorktree) return;
  if (isInside(root, dataDirectory)) refuse('this directory is in the data directory');
  const isSystem = (one: string) => isInside(one, root) || isInside(root, one);
  if (NEVER_WORKED_IN.some(isSystem) && !root.startsWith('/dev/shm/'))
    refuse('this directory belongs to the system');
  if (root === '/tmp' || root === '/var/tmp')
    refuse('this directory has files of all programs of the machine');
  if (hide.some((one) => isInside(root, one.path))) refuse('sandbox.hide hides this directory');
  const isHiddenName =
    home !== '/' &&
    isInside(root, path.join(home, '.')) &&
    path.relative(home, root).startsWith('.');
  if (isHiddenName && !write.some((one) => isInside(root, one.path)))
    refuse('programs read their settings from such directories, unless sandbox.write lists it');
}

/** Throws `invalid` for a working directory that does not exist inside. */
function assertVisible({ view, root, cwd }: PlanInput, mounts: ReadonlyMap<string, Mount>): void {
  if (cwd === '/tmp' || cwd === homeInside(view)) return;
  const mount = nearest(mounts, cwd);
  if (mount && mount.kind !== 'hidden' && mount.kind !== 'own') return;
  throw invalidError(
    `cwd "${cwd}" is not visible in the sandbox of "${root}": use a directory below it, or add the directory to sandbox.read or sandbox.write`,
  );
}

/** Adds the visible paths. A later line replaces an earlier one at the same path. */
function addShown(mounts: Map<string, Mount>, input: PlanInput): void {
  const { view, root, isReadOnly, own, read, write, repository, standIn } = input;
  const put = (at: string, kind: MountKind, isDirectory = true, source = at) =>
    mounts.set(at, { at, source, kind, isDirectory });
  const show = (kind: MountKind) => (found: Found) => {
    if (!isMisleading(found, input)) put(found.path, kind, found.isDirectory);
  };
  view.system.forEach(show('read'));
  put('/tmp', 'own', true, own.tmp);
  put('/var/tmp', 'own', true, own.tmp);
  put(homeInside(view), 'own', true, own.home);
  for (const found of view.homeReadable) {
    show('read')(found);
    // A link to a file keeps its name. In a directory, names of secrets would not be hidden.
    if (!found.isDirectory && !isMisleading(found, input))
      put(found.asked, 'read', false, found.path);
  }
  [...view.tools, ...read].forEach(show('read'));
  write.forEach(show('write'));
  for (const { at, source } of input.scratch) put(at, 'own', true, source);
  put(root, isReadOnly ? 'read' : 'write');
  if (repository === null) return;
  // After the root, because the root contains them: git outside runs programs that these directories name.
  if (repository.file !== null) put(repository.file, 'read', false);
  if (standIn === null) put(repository.commonDirectory, 'read');
  else addStandIn(put, repository.commonDirectory, standIn);
}

/** Mounts a stand-in: git outside must find nothing in the common directory that git inside has not written. */
function addStandIn(
  put: (at: string, kind: MountKind, isDirectory?: boolean, source?: string) => void,
  commonDirectory: string,
  { directory, writable, readable }: GitStandIn,
): void {
  const at = (name: string) => path.join(commonDirectory, name);
  put(commonDirectory, 'own', true, directory);
  put(at(REAL), 'read', true, commonDirectory);
  put(at(PACKING), 'own', true, path.join(directory, PACKING));
  for (const name of writable) put(at(name), 'write');
  for (const one of readable) put(at(one.path), 'read', one.isDirectory);
}

/** Whether a link to a path is in a directory that programs inside write: they could make it lead anywhere. */
function isMisleading({ links }: Found, { root, write }: PlanInput): boolean {
  const writable = [root, ...write.map((one) => one.path)];
  return links.some((link) => writable.some((directory) => isInside(link, directory)));
}

/** Hides secrets, the data directory and `hide` where a directory of the host above them is shown. */
function addHidden(mounts: Map<string, Mount>, { view, read, write, hide }: PlanInput): void {
  const named = new Set([...read, ...write].map((one) => one.path));
  const data = { path: view.dataDirectory, isDirectory: true };
  const secrets = [...view.secrets, data].filter((one) => !named.has(one.path));
  for (const { path: at, isDirectory } of [...secrets, ...hide]) {
    const above = nearest(mounts, at);
    if (above && (above.kind === 'read' || above.kind === 'write'))
      mounts.set(at, { at, source: at, kind: 'hidden', isDirectory });
  }
}

/**
 * Makes each directory between an own directory and a deeper mount a mount itself, and returns the mount points in own
 * directories. Programs inside cannot rename or replace a mount. Otherwise they could replace such a directory by a link, and
 * bubblewrap would create the mount points of the next child wherever the link leads, outside of the sandbox.
 */
function pinAncestors(mounts: Map<string, Mount>): MountPoint[] {
  const points: MountPoint[] = [];
  const addPoint = (at: string, isDirectory: boolean) => points.push({ path: at, isDirectory });
  for (const { at, isDirectory } of sortedByPath(mounts)) {
    const base = nearest(mounts, path.dirname(at));
    if (base?.kind !== 'own' || at === base.at) continue;
    const names = path.relative(base.at, at).split('/');
    const last = names.pop() ?? '';
    let [inside, source] = [base.at, base.source];
    for (const name of names) {
      [inside, source] = [path.join(inside, name), path.join(source, name)];
      mounts.set(inside, { at: inside, source, kind: 'own', isDirectory: true });
      addPoint(source, true);
    }
    addPoint(path.join(source, last), isDirectory);
  }
  return points;
}

/** Returns the mounts so that a deeper one comes after those above it. */
function sortedByPath(mounts: ReadonlyMap<string, Mount>): Mount[] {
  return [...mounts.values()].toSorted((a, b) => (a.at < b.at ? -1 : 1));
}

function wordsOf({ at, source, kind, isDirectory }: Mount): string[] {
  if (kind === 'hidden') return maskOf(at, isDirectory);
  return [kind === 'read' ? '--ro-bind' : '--bind', source, at];
}

function maskOf(at: string, isDirectory: boolean): string[] {
  return isDirectory ? ['--tmpfs', at] : ['--ro-bind', '/dev/null', at];
}

function procMasks({ procReadOnly, procHidden }: HostView): string[] {
  return [
    ...procReadOnly.flatMap(({ path: at }) => ['--ro-bind', at, at]),
    ...procHidden.flatMap(({ path: at, isDirectory }) => [
      ...maskOf(at, isDirectory),
      ...(isDirectory ? ['--remount-ro', at] : []),
    ]),
  ];
}
