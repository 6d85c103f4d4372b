import type { PastTurn } from '../../../api/conversations.ts';
import type { Approval } from '../../../api/approvals.ts';
import type { EventOf } from '../../../api/events.ts';
import type { Item, Session, Turn } from '../../../api/sessions.ts';
import type { EventLog } from '../../../core/events/log.ts';
import { sum } from '../../../core/lib/sum.ts';
import type { Reader } from '../../../core/store/transaction.ts';
import { type ImportStore, timeOf } from '../imports/store.ts';
import { chainOf } from '../sessions/chain.ts';
import type { SessionStore } from '../sessions/store.ts';
import { hasEnded, newTurn } from '../sessions/turn.ts';

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
  imports: ImportStore;
  log: EventLog;
}

/** Reads the conversation of a session and of the sessions that it continues, with at most `limit` turns. */
export function readRecord(
  rx: Reader,
  session: Session,
  limit: number,
  { store, imports, log }: Rows,
): ConversationRecord {
  const sessions = chainOf(rx, session, store);
  const recorded = (turn: Turn, of: Session): RecordedTurn => ({
    turn,
    session: of,
    items: store.itemsOf(rx, turn.turn_id),
  });
  const newest: RecordedTurn[] = [];
  for (const one of sessions) {
    const room = limit - newest.length;
    const own = store.newestTurns(rx, one.id, room).filter(hasEnded);
    const past = imports.newestTurns(rx, one.id, room);
    const turns = [
      ...own.map((turn) => recorded(turn, one)),
      ...past.map((turn) => recordedPastTurn(turn, one)),
    ];
    newest.push(
      ...turns.toSorted((a, b) => b.turn.accepted_at - a.turn.accepted_at).slice(0, room),
    );
  }
  const counts = sessions.map(({ id }) => store.countTurns(rx, id) + imports.countTurns(rx, id));
  const unfinished = session.active_turn_id === null ? 0 : 1;
  return {
    session,
    first: firstOf(rx, sessions.at(-1) ?? session, { store, imports, log }),
    newest,
    turnCount: sum(counts) - unfinished,
    plan: log.lastPlan(rx, session.id)?.entries ?? [],
    declined: store.lastDeclined(rx, session.id),
  };
}

function firstOf(rx: Reader, session: Session, { store, imports }: Rows): RecordedTurn | undefined {
  const own = store.firstTurn(rx, session.id);
  const past = imports.firstTurn(rx, session.id);
  if (past && (!own || timeOf(past) < own.accepted_at)) return recordedPastTurn(past, session);
  return own && { turn: own, session, items: store.itemsOf(rx, own.turn_id) };
}

/** A past turn in the form of a turn. */
function recordedPastTurn(past: PastTurn, session: Session): RecordedTurn {
  const { past_turn_id: turn_id, session_id, prompt, status } = past;
  const accepted_at = timeOf(past);
  const input = [{ type: 'text' as const, text: prompt }];
  const turn = newTurn({ turn_id, session_id, source: 'user', input, accepted_at });
  const items = past.items.map(({ kind, status: how, title, text }, at): Item => ({
    item_id: `${turn_id} ${at}`,
    session_id,
    turn_id,
    kind,
    status: how === 'unknown' ? 'interrupted' : how,
    text,
    tool: kind === 'tool' ? { call_ref: '', title: title ?? '', kind: '', input: null } : null,
    created_at: accepted_at,
    completed_at: accepted_at,
  }));
  return { turn: { ...turn, status: status === 'unknown' ? 'completed' : status }, session, items };
}
