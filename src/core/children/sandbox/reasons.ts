import fs from 'node:fs/promises';

/** The settings of a machine that explain why bubblewrap fails. Null: the machine has no such setting. */
export interface MachineSettings {
  maxUserNamespaces: string | null;
  unprivilegedNamespaces: string | null;
  apparmorRestricts: string | null;
  isContainer: boolean;
}

/** The reason why the machine allows no full sandbox, and a remedy. */
export interface Reason {
  reason: string;
  help: string;
  /** Whether the probe exceeded its time limit, so that a later one may find a sandbox. */
  isTemporary?: true;
}

/** A part of a probe exceeded its time limit. */
export class ProbeTimeout extends Error {
  constructor(limitMs: number) {
    super(`no answer within ${limitMs / 1000} s`);
  }
}

/** Returns the reason for an error of a probe. */
export function reasonOfError(error: unknown, machine: MachineSettings): Reason {
  const { message } = error as Error;
  if (!(error instanceof ProbeTimeout)) return reasonOf(message, machine);
  return {
    reason: `bubblewrap failed: ${message}`,
    help: 'cadre tries again when a sandbox is needed; check the load of the machine',
    isTemporary: true,
  };
}

export function textOf({ reason, help }: Reason): string {
  return `${reason}: ${help}`;
}

const SYSCTL = {
  reason: 'user namespaces are switched off (user.max_user_namespaces is 0)',
  help: 'run "sysctl user.max_user_namespaces=10000" as root',
};

export const NO_BUBBLEWRAP: Reason = {
  reason: 'bubblewrap is not installed',
  help: 'install the package bubblewrap',
};

export const NOT_LINUX: Reason = {
  reason: 'cadre has a sandbox only on Linux',
  help: 'run the server in a container or on a separate machine',
};

export const NOT_CONFINED: Reason = {
  reason: 'the program bwrap runs commands without confining them',
  help: 'replace the program bwrap on the PATH of the server by bubblewrap',
};

export const NESTS_AS_ROOT: Reason = {
  reason: 'sandbox.nests requires a server of an ordinary user',
  help: 'set sandbox.nests to false, or run the server as another user',
};

export const NO_FILTER: Reason = {
  reason: 'cadre has no system call filter for this architecture',
  help: 'use a machine with x86-64 or arm64',
};

/** Returns the reason that the error output of bubblewrap shows. */
export function reasonOf(printed: string, machine: MachineSettings): Reason {
  const { maxUserNamespaces, unprivilegedNamespaces, apparmorRestricts, isContainer } = machine;
  if (printed.includes('(ENOSPC)'))
    return {
      reason: 'the limit of user namespaces is reached, or the server runs in another sandbox',
      help: `${SYSCTL.help}, or run the server outside of the other sandbox`,
    };
  if (
    /No permissions to creat\w+ new namespace|Creating new namespace failed|unshare failed/.test(
      printed,
    )
  ) {
    if (maxUserNamespaces === '0') return SYSCTL;
    if (unprivilegedNamespaces === '0')
      return {
        reason: 'only root may create user namespaces (kernel.unprivileged_userns_clone is 0)',
        help: 'run "sysctl kernel.unprivileged_userns_clone=1" as root',
      };
    if (isContainer)
      return {
        reason: 'this container may not create namespaces',
        help: 'start the container with "--security-opt seccomp=unconfined --security-opt systempaths=unconfined", or use the container itself as the sandbox',
      };
    return {
      reason: 'the kernel creates no user namespace',
      help: 'see the log of the kernel (dmesg)',
    };
  }
  if (
    /setting up uid map: Permission denied|RTM_NEWADDR|Failed to make \/ slave|loopback/.test(
      printed,
    )
  )
    return apparmorRestricts === '1'
      ? {
          reason: 'AppArmor removes all rights from the namespaces of bubblewrap',
          help: 'as root, write the line "profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }" to /etc/apparmor.d/bwrap, and run "apparmor_parser -r /etc/apparmor.d/bwrap"',
        }
      : {
          reason: 'namespaces have no rights on this machine',
          help: 'see the log of the kernel (dmesg)',
        };
  if (/setting up uid map: Operation not permitted/.test(printed))
    return {
      reason: 'the server runs as root without the capability CAP_SETFCAP',
      help: 'run the server as an ordinary user',
    };
  if (printed.includes("Can't mount proc"))
    return {
      reason:
        'this container covers parts of /proc, so names of processes outside of the sandbox are visible',
      help: 'start the container with "--security-opt systempaths=unconfined" (podman: "--security-opt unmask=ALL")',
    };
  const [first = ''] = printed.trim().split('\n');
  return {
    reason:
      first === ''
        ? 'bubblewrap failed without an error message'
        : `bubblewrap failed: ${first.slice(0, 200)}`,
    help: 'check the installation of bubblewrap',
  };
}

export async function readMachineSettings(): Promise<MachineSettings> {
  const [maxUserNamespaces, unprivilegedNamespaces, apparmorRestricts, cgroup] = (await Promise.all(
    [
      '/proc/sys/user/max_user_namespaces',
      '/proc/sys/kernel/unprivileged_userns_clone',
      '/proc/sys/kernel/apparmor_restrict_unprivileged_userns',
      '/proc/1/cgroup',
    ].map(readSetting),
  )) as [string | null, string | null, string | null, string | null];
  const marks = await Promise.all(['/.dockerenv', '/run/.containerenv'].map(exists));
  const isContainer = marks.includes(true) || /docker|containerd|kubepods|lxc/.test(cgroup ?? '');
  return { maxUserNamespaces, unprivilegedNamespaces, apparmorRestricts, isContainer };
}

/** Files of /proc cannot be replaced by another user, and never block. */
function readSetting(file: string): Promise<string | null> {
  return fs.readFile(file, 'utf8').then(
    (text) => text.trim(),
    () => null,
  );
}

function exists(file: string): Promise<boolean> {
  return fs.access(file).then(
    () => true,
    () => false,
  );
}
