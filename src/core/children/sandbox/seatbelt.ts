import path from 'node:path';
import type { PlanInput } from './plan.ts';

/** The input of a profile. The paths have no links: on macOS, /tmp and /var are links into /private. */
export type SeatbeltInput = Pick<
  PlanInput,
  'view' | 'root' | 'isReadOnly' | 'own' | 'repository'
> & {
  read: readonly string[];
  write: readonly string[];
  hide: readonly string[];
  /** The ports of the machine that programs inside reach, such as the port of the proxy. `all`: the whole network. */
  ports: readonly number[] | 'all';
};

/** Directories of macOS that every program reads. */
const SYSTEM = ['/usr', '/bin', '/sbin', '/System', '/Library', '/opt', '/private/etc', '/dev'];
const DEVICES = ['/dev/null', '/dev/zero', '/dev/tty', '/dev/ptmx'];
/** Services that programs need to look up names, users and the time. The keychain is not among them. */
const SERVICES = [
  'com.apple.system.opendirectoryd.libinfo',
  'com.apple.system.logger',
  'com.apple.system.notification_center',
  'com.apple.bsd.dirhelper',
  'com.apple.trustd.agent',
];
/** The parts of a common git directory that programs inside write, and files in the git directory of a worktree that they do not. */
const GIT_WRITABLE = ['objects', 'refs', 'logs/refs'];
const GIT_READABLE = ['objects/info', 'refs/cadre', 'logs/refs/cadre'];
const GIT_PINNED = ['commondir', 'gitdir', 'config.worktree'];

/**
 * Returns the profile of a sandbox for `sandbox-exec -p` on macOS. The last rule for a path decides. Nobody has
 * run such a profile yet, so the level on macOS is `none`.
 */
export function seatbeltProfile(input: SeatbeltInput): string {
  const { view, root, isReadOnly, own, repository, read, write, hide, ports } = input;
  const found = (all: readonly { path: string }[]) => all.map((one) => one.path);
  const git = repository === null ? null : gitPaths(repository);
  const owned = [own.home, own.tmp, own.scratch];
  const writable = [...owned, ...write, ...(isReadOnly ? [] : [root, ...(git?.writable ?? [])])];
  const shown = [...found([...view.homeReadable, ...view.tools]), ...read];
  const common = repository === null ? [] : [repository.commonDirectory];
  return [
    '(version 1)',
    '(deny default)',
    '(allow process-exec)',
    '(allow process-fork)',
    '(allow process-info* (target same-sandbox))',
    '(allow signal (target same-sandbox))',
    '(allow sysctl-read)',
    '(allow pseudo-tty)',
    `(allow mach-lookup ${SERVICES.map((name) => `(global-name ${quoted(name)})`).join(' ')})`,
    // Programs look up the directories above their files.
    '(allow file-read-metadata)',
    rule('allow', 'file-read*', [...SYSTEM, ...shown]),
    // Before the root, because worktrees are in the data directory.
    rule('deny', 'file-read*', [view.dataDirectory]),
    rule('allow', 'file-read*', [root, ...common, ...writable]),
    rule('allow', 'file-write*', [...writable, ...DEVICES]),
    rule('deny', 'file-write*', git?.pinned ?? []),
    rule('deny', 'file-read* file-write*', [...found(view.secrets), ...hide]),
    ...networkRules(ports),
    '',
  ].join('\n');
}

/** Returns the parts of a repository. In a main worktree, all of `.git` is pinned, because the index is beside the settings. */
function gitPaths({
  commonDirectory,
  gitDirectory,
  file,
}: NonNullable<SeatbeltInput['repository']>) {
  if (file === null) return { writable: [], pinned: [commonDirectory] };
  const inCommon = (name: string) => path.join(commonDirectory, name);
  return {
    writable: [...GIT_WRITABLE.map(inCommon), gitDirectory],
    pinned: [
      file,
      ...GIT_READABLE.map(inCommon),
      ...GIT_PINNED.map((name) => path.join(gitDirectory, name)),
    ],
  };
}

function networkRules(ports: SeatbeltInput['ports']): string[] {
  if (ports === 'all') return ['(allow network*)'];
  return [
    '(allow network-bind (local ip "localhost:*"))',
    '(allow network-inbound (local ip "localhost:*"))',
    ...ports.map((port) => `(allow network-outbound (remote ip "localhost:${port}"))`),
  ];
}

function rule(verdict: 'allow' | 'deny', operations: string, paths: readonly string[]): string {
  if (paths.length === 0) return '';
  return `(${verdict} ${operations} ${paths.map((one) => `(subpath ${quoted(one)})`).join(' ')})`;
}

function quoted(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
