import type { Model } from '../../api/providers.ts';
import { AuthRecord } from './auth-record.ts';

/**
 * What was last seen of an agent by any of its processes, so that it can be told without starting one. It is empty when
 * the server starts.
 */
export interface LastSeen {
  models: readonly Model[];
  readonly auth: AuthRecord;
}

export function nothingSeen(): LastSeen {
  return { models: [], auth: new AuthRecord() };
}
