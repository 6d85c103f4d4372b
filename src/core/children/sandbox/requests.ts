import type { SessionSandbox } from '../../../api/session-sandbox.ts';
import type { PinnedPath } from './files.ts';
import type { PrivateDirs } from './private-directories.ts';
import type { NetworkMode } from './plan.ts';

/** The children that can run in a sandbox: agents, processes of sessions and external callers, init scripts, other processes. */
export type SandboxedClass = 'agents' | 'tools' | 'init' | 'user';

export interface SandboxSettings {
  mode: 'off' | 'auto' | 'require';
  children: readonly SandboxedClass[];
  network: NetworkMode;
  /** The hosts that `network: "hosts"` reaches. */
  hosts: readonly string[];
  /** Absolute paths. */
  read: readonly string[];
  write: readonly string[];
  hide: readonly string[];
  nests: boolean;
  max_processes: number;
  auto_allow: boolean;
}

export interface SandboxRequest {
  /** The directory that the child may write. */
  root: string;
  cwd: string;
  own: PrivateDirs;
  /** More directories that the child may read. One that contains the home directory is not shown. */
  read?: readonly string[];
  /** The sandbox of its session, if the session has its own. */
  chosen?: SessionSandbox | undefined;
}

/** The agent of a session, and the files that it needs in its sandbox. */
export interface SandboxedAgent extends Pick<SandboxRequest, 'root' | 'own' | 'chosen'> {
  isReadOnly: boolean;
  /** The name of the agent in the configuration, such as `providers.claude`. */
  section: string;
  /** Programs, by absolute paths. */
  programs: readonly string[];
  /** Directories in which the agent keeps its state. They are created. */
  state: readonly string[];
  /** Directories of the agent that are the session's own in the sandbox: programs outside run files in them. They are created. */
  scratch: readonly string[];
  /** Files and directories in or beside them that the agent only reads. */
  settings: readonly string[];
  /** Such paths that are created if they are missing, because programs outside would use what the agent creates there. */
  pinned: readonly PinnedPath[];
  /** The keys of the section, with absolute paths. Null: none. */
  more: AgentSandboxSettings | null;
  /** The hosts that the agent needs, such as the host of its models. */
  hosts: readonly string[];
}

/** Additions to the sandbox of all agents, for one agent. Null: no addition. */
type AgentSandboxSettings = Pick<SandboxSettings, 'read' | 'write' | 'hide' | 'hosts'> & {
  network: NetworkMode | null;
  nests: boolean | null;
};

export const NOTHING_MORE: AgentSandboxSettings = {
  read: [],
  write: [],
  hide: [],
  hosts: [],
  network: null,
  nests: null,
};
