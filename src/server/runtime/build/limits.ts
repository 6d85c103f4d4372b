import { Limits } from '../../conversations/usage/limits/service.ts';
import type { Base } from '../base.ts';
import type { Sessions } from './sessions.ts';

/** Builds what lets sessions wait for the usage limits of their agents. */
export function buildLimits(base: Base, { sessions }: { sessions: Sessions }) {
  const { inbox, holds, pool, store: sessionStore } = sessions;
  const afterLimit = () => base.config.now.sessions.after_limit;
  const endAgent = (id: string) => void pool.end(id);
  return new Limits({ ...base, sessionStore, holds, inbox, afterLimit, endAgent });
}
