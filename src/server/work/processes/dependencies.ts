import type { Sandbox } from '../../../core/children/sandbox/sandbox.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { Supervisor } from '../../../core/children/supervisor.ts';
import type { Config } from '../../../core/config/schema.ts';
import type { SessionStore } from '../../conversations/sessions/store.ts';
import type { ExitNotices } from './notices.ts';
import type { ProcessStore } from './store.ts';

export interface ProcessDependencies extends Pick<ServerParts, 'db' | 'clock' | 'ids' | 'logger'> {
  store: ProcessStore;
  sessionStore: SessionStore;
  supervisor: Supervisor;
  sandbox: Pick<Sandbox, 'planFor' | 'privateDirectories' | 'publish' | 'sweep'>;
  notices: ExitNotices;
  /** The directory of the logs. */
  directory: string;
  settings: () => Config['processes'];
  /** Returns the names of the environment variables that hold agents' keys. */
  secretVariables: () => readonly string[];
  /** Throws `storage_full` if there is no room for new work. */
  assertRoom: () => void;
}
