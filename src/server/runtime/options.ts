import type { SessionTokens } from '../../core/access/session-tokens.ts';
import type { Config } from '../../core/config/schema.ts';
import type { Clock } from '../../core/lib/clock.ts';
import type { Failpoint } from '../../core/lib/failpoint.ts';
import type { Ids } from '../../core/lib/ids.ts';
import type { Provider } from '../../agents/provider.ts';
import type { FileSystem } from '../../core/store/host/file-system.ts';

export interface RuntimeOptions {
  config: Config;
  /** The directory of all data; created if it does not exist. */
  directory: string;
  logTo: NodeJS.WritableStream & { isTTY?: boolean };
  clock?: Clock;
  ids?: Ids;
  failpoint?: Failpoint;
  /** The tokens of sessions' agents; default: new ones for each run. */
  sessionTokens?: SessionTokens;
  /** An agent that has completed a turn has this long to ask for the tools; tests pass another time, or Infinity. */
  toolsWithinMs?: number;
  /** Whether programs of agents are asked for their login state in the background (default true). */
  asksLogins?: boolean;
  /** Replaces the configured providers, for tests with agents of their own. */
  providers?: readonly Provider[];
  /** The file operations of the store; tests pass others to make disks full, faulty or slow. */
  fs?: FileSystem;
  /** Listens on any free port if the configured port is in use. */
  freePort?: boolean;
  /** Called once when the server has been idle for `server.stop_after_idle_ms`. It has to stop the server. */
  onIdle?: () => void;
  /** Called once when the store can no longer promise durability. It has to end the process. */
  onFatal: (error: Error) => void;
}
