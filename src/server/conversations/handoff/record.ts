import type { Approval } from '../../../api/approvals.ts';
import type { EventOf } from '../../../api/events.ts';
import type { Item, Session, Turn } from '../../../api/sessions.ts';
import type { EventLog } from '../../../core/events/log.ts';
import type { Reader } from '../../../core/store/transaction.ts';
import type { SessionStore } from '../sessions/store.ts';

/** A conversation may have been handed over several times. Older sessions are left out of the record. */
const MAX_SESSIONS = 20;

export interface RecordedTurn {
  turn: Turn;
  session: Session;
  items: readonly Item[];
}

/** The content of a conversation, of all sessions that continue each other. */
export interface ConversationRecord {
  session: Session;
  first: RecordedTurn | undefined;
  /** Newest first. */
  newest: readonly RecordedTurn[];
  turnCount: number;
  plan: NonNullable<EventOf<'plan.updated'>['payload']['entries']>;
  declined: Approval | undefined;
}

interface Rows {
  store: SessionStore;
  log: EventLog;
}

/** Reads the conversation of a session and of the sessions that it continues, with at most `limit` turns. */
export function readRecord(
  rx: Reader,
  session: Session,
  limit: number,
  { store, log }: Rows,
): ConversationRecord {
  const sessions = chainOf(rx, session, store);
  const recorded = (turn: Turn, of: Session): RecordedTurn => ({
    turn,
    session: of,
    items: store.itemsOf(rx, turn.turn_id),
  });
  const newest: RecordedTurn[] = [];
  for (const one of sessions)
    for (const turn of store.newestTurns(rx, one.id, limit - newest.length))
      newest.push(recorded(turn, one));
  const root = sessions.at(-1) ?? session;
  const first = store.firstTurn(rx, root.id);
  const counts = sessions.map(({ id }) => store.countTurns(rx, id));
  return {
    session,
    first: first && recorded(first, root),
    newest,
    turnCount: counts.reduce((sum, count) => sum + count, 0),
    plan: log.lastPlan(rx, session.id)?.entries ?? [],
    declined: store.lastDeclined(rx, session.id),
  };
}

function chainOf(rx: Reader, session: Session, store: SessionStore): Session[] {
  const chain = [session];
  while (chain.length < MAX_SESSIONS) {
    const before = chain.at(-1)?.continues;
    const found = before === undefined ? undefined : store.sessions.get(rx, before);
    if (!found) break;
    chain.push(found);
  }
  return chain;
}
