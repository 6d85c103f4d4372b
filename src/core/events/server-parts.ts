import type { Clock } from '../lib/clock.ts';
import type { Failpoint } from '../lib/failpoint.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import type { Database } from '../store/database.ts';
import type { EventLog } from './log.ts';

/** The dependencies that every part of the server can use. */
export interface ServerParts {
  db: Database;
  log: EventLog;
  clock: Clock;
  ids: Ids;
  logger: Logger;
  failpoint: Failpoint;
}
