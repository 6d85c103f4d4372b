import type { AuthStatus } from '../api/providers.ts';

/** A login state, and how old it is. */
export interface SeenLogin extends AuthStatus {
  /** When it was reported or seen (Unix ms); null: never. */
  checked_at: number | null;
  /** Whether it is older than a minute or from before a change of the login, and no newer one was reported. */
  is_stale: boolean;
}
