import type { SessionTokens } from '../access/session-tokens.ts';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../lib/clock.ts';
import type { Failpoint } from '../lib/failpoint.ts';
import type { Ids } from '../lib/ids.ts';
import type { Provider } from '../providers/provider.ts';
import type { FileSystem } from '../store/host/file-system.ts';

/** What a server is started with. */
export interface RuntimeOptions {
  config: Config;
  /** The directory of all data; made where it does not exist. */
  directory: string;
  /** Where log lines go. */
  logTo: NodeJS.WritableStream & { isTTY?: boolean };
  clock?: Clock;
  ids?: Ids;
  failpoint?: Failpoint;
  /** The tokens of sessions' agents; their secret is made anew for each run. */
  sessionTokens?: SessionTokens;
  /** Instead of the configured providers: for tests of the rules, with agents of their own. */
  providers?: readonly Provider[];
  /** The file operations of the store: the seam at which tests make disks fill, fail and be slow. */
  fs?: FileSystem;
  /** Called once when the store can promise nothing any more. It has to end the process. */
  onFatal: (error: Error) => void;
}
