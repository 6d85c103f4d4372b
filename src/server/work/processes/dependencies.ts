import type { Sandbox } from '../../../core/children/sandbox/sandbox.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { Supervisor } from '../../../core/children/supervisor.ts';
import type { SessionStore } from '../../conversations/sessions/store.ts';
import type { ExitNotices } from './notices.ts';
import type { ProcessStore } from './store.ts';

export interface ProcessSettings {
  allow_shell: boolean;
  max_concurrent: number;
  max_queued: number;
  kill_grace_ms: number;
  max_output_bytes_per_process: number;
  env_remove: readonly string[];
  env_pass: readonly string[];
  max_per_session: number;
  max_queued_per_session: number;
  default_timeout_ms: number;
}

/** The dependencies of everything that accepts and runs processes. */
export interface ProcessDependencies extends Pick<ServerParts, 'db' | 'clock' | 'ids' | 'logger'> {
  store: ProcessStore;
  sessionStore: SessionStore;
  supervisor: Supervisor;
  sandbox: Pick<Sandbox, 'planFor' | 'ownDirectories'>;
  notices: ExitNotices;
  /** The directory of the logs. */
  directory: string;
  settings: () => ProcessSettings;
  /** Returns the names of the environment variables that hold agents' keys. */
  secretVariables: () => readonly string[];
  /** Throws `storage_full` if there is no room for new work. */
  assertRoom: () => void;
}
