import type { Provider } from '../../agents/provider.ts';
import type { SessionTokens } from '../../core/access/session-tokens.ts';
import type { ServerParts } from '../../core/events/server-parts.ts';
import { prepareDirectory, withDataDirectory } from '../../core/config/data-directory.ts';
import { LiveConfig } from '../../core/config/live.ts';
import type { Config } from '../../core/config/schema.ts';
import { secretsOf } from '../../core/config/secrets.ts';
import { withToken } from '../../core/config/token.ts';
import { EventLog } from '../../core/events/log.ts';
import { type Clock, systemClock } from '../../core/lib/clock.ts';
import { type Failpoint, noFailpoints } from '../../core/lib/failpoint.ts';
import { type Ids, systemIds } from '../../core/lib/ids.ts';
import { createLog } from '../../core/lib/log.ts';
import { isTestOfPosix } from '../../core/lib/platform.ts';
import { readBuilt, sqlWasm, version } from '../../core/lib/self.ts';
import { Database } from '../../core/store/database.ts';
import type { FileSystem } from '../../core/store/host/file-system.ts';
import { lockDirectory } from '../../core/store/lock.ts';
import { lossText } from '../../core/store/lost-store.ts';
import type { Undo } from '../../core/lib/undo.ts';

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

/** The dependencies of every component. */
export interface Base extends ServerParts {
  directory: string;
  /** `config.now` is the current configuration; values that a reload may change are read at each use. */
  config: LiveConfig;
  /** The address of the server, once it listens. */
  address: { url: string };
}

/** To change data of this size takes so long that people ask what a start is doing. */
const LARGE_BYTES = 256 * 1024 * 1024;

/** Locks the data directory, then opens and migrates its store. Throws AppError. */
export async function openBase(options: RuntimeOptions, undo: Undo): Promise<Base> {
  const { directory, clock = systemClock, ids = systemIds, failpoint = noFailpoints } = options;
  const config = withDataDirectory(directory, () => {
    prepareDirectory(directory);
    return new LiveConfig(withToken(options.config, directory));
  });
  const logger = createLog({
    level: options.config.log.level,
    destination: options.logTo,
    pretty: options.logTo.isTTY === true,
    secrets: () => secretsOf(config.now),
  });
  if (isTestOfPosix)
    logger.warn(
      'CADRE_TEST_ONLY_PLATFORM is set: processes are searched as on systems without /proc',
    );
  undo.use(withDataDirectory(directory, () => lockDirectory(directory)));
  const db = await Database.open({
    directory,
    wasm: sqlWasm,
    durability: options.config.data.durability,
    clock,
    failpoint,
    onFatal: options.onFatal,
    onWarning: (message, error) => logger.warn({ err: error }, message),
    onMigrating: (older) =>
      logger[older.bytes < LARGE_BYTES ? 'info' : 'warn'](
        older,
        'migrating the data of an older version before the server accepts requests: this takes minutes for large data',
      ),
    version,
    newEpoch: () => ids.next('epoch'),
    ...(options.fs ? { fs: options.fs } : { template: readBuilt('empty.cadre') }),
  });
  undo.defer(() => db.close());
  if (db.migration)
    logger.info(db.migration, 'migrated the data of an older version; a copy was kept');
  if (db.lost) logger.error(db.lost, `${lossText(db.lost)}; the event log has a new epoch`);
  const log = new EventLog({ db, clock, ids });
  return { directory, config, logger, clock, ids, failpoint, db, log, address: { url: '' } };
}
