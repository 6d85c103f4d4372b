import { z } from 'zod';
import { HOST_MESSAGE, HOST_PATTERN } from '../../api/host-pattern.ts';
import { valueText } from '../lib/value-text.ts';

const children = ['agents', 'tools', 'init', 'user'] as const;

/** A path of the user; the home directory is `~`. */
const hostPath = z
  .string()
  .regex(/^(\/|~\/|~$)/, 'has to be an absolute path, or start with ~/')
  .refine((text) => !text.includes('\0'), 'contains a NUL character');

const host = z.string().regex(HOST_PATTERN, HOST_MESSAGE);

function noClass(value: unknown): string {
  return `"${valueText(value)}" is not a class of child processes; classes: ${children.join(', ')}`;
}

/** `[sandbox]`: the isolation of child processes. */
export const sandboxSection = z
  .strictObject({
    /** off: no sandbox; auto: a sandbox if the machine allows one; require: child processes without a sandbox are refused. */
    mode: z.enum(['off', 'auto', 'require']).default('off'),
    /** agents: the agents of sessions; tools: processes of sessions and external callers; init: init scripts; user: all other processes. */
    children: z
      .array(z.enum(children, { error: ({ input }) => noClass(input) }))
      .default(['tools', 'init']),
    /** none: no network; hosts: the listed hosts; ask: a person decides about other hosts; all: the network of the machine, with all ports of the machine itself. */
    network: z.enum(['none', 'hosts', 'ask', 'all']).default('none'),
    /** Hosts for `network = "hosts"` and `"ask"`. Only an entry with a port allows addresses of this machine and of private networks. */
    hosts: z.array(host).default([]),
    /** More paths that child processes may read. */
    read: z.array(hostPath).default([]),
    /** More paths that child processes may write. */
    write: z.array(hostPath).default([]),
    /** More paths that are hidden where a directory above them is shown. */
    hide: z.array(hostPath).default([]),
    /** Whether programs inside may create namespaces, as browsers and container engines do. */
    nests: z.boolean().default(false),
    /** The maximum number of processes in one sandbox. It has no effect for a server of root. */
    max_processes: z.int().min(16).max(1_000_000).default(4096),
    /** Whether commands of cadre_process_run need no approval in a full sandbox without a network. */
    auto_allow: z.boolean().default(false),
  })
  .prefault({});

/** `[providers.X.sandbox]`: keys for the sandbox of one agent, in addition to `[sandbox]`. */
export const agentSandboxSection = z
  .strictObject({
    /** null: as `sandbox.network` says. */
    network: z.enum(['none', 'hosts', 'ask', 'all']).nullable().default(null),
    hosts: z.array(host).default([]),
    read: z.array(hostPath).default([]),
    write: z.array(hostPath).default([]),
    hide: z.array(hostPath).default([]),
    /** null: as `sandbox.nests` says. */
    nests: z.boolean().nullable().default(null),
  })
  .nullable()
  .default(null);

type SandboxPaths = Record<'read' | 'write' | 'hide', readonly string[]>;

/** Returns the section with absolute paths. */
export function withHome<T extends SandboxPaths>(section: T, home: string): T {
  const expand = (paths: readonly string[]) =>
    paths.map((one) => one.replace(/^~(?=\/|$)/, () => home));
  const { read, write, hide } = section;
  return { ...section, read: expand(read), write: expand(write), hide: expand(hide) };
}
