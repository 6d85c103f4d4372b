import type { Session } from '../../../api/sessions.ts';
import type { Reader } from '../../../core/store/transaction.ts';
import type { SessionStore } from './store.ts';

/** A conversation may have been handed over several times. Older sessions are left out. */
const MAX_SESSIONS = 20;

/** Returns a session and the sessions that it continues, newest first. */
export function chainOf(rx: Reader, session: Session, store: SessionStore): Session[] {
  const chain = [session];
  while (chain.length < MAX_SESSIONS) {
    const before = chain.at(-1)?.continues;
    const found = before === undefined ? undefined : store.sessions.get(rx, before);
    if (!found) break;
    chain.push(found);
  }
  return chain;
}
