import type { Diagnostics } from '../../api/runtime.ts';
import type { Client } from '../../client/client.ts';

/** One of several servers, as the screen knows it. */
export interface NodeState {
  name: string;
  url: string;
  /** Null where nothing can be asked of it. */
  client: Client | null;
  state: 'reading' | 'live' | 'away';
  /** Why it is away, in a sentence; null where it is not. */
  detail: string | null;
  /** Since when it is away, in Unix milliseconds; null where it is not. */
  since: number | null;
  /** As of the last poll; null before the first. */
  server: Diagnostics | null;
}
