import type { PastTurn } from '../../../api/conversations.ts';
import type { Item, Session, Turn } from '../../../api/sessions.ts';
import { type StoredItem, TurnCollector } from '../../../agents/conversations.ts';
import type { Reader } from '../../../core/store/transaction.ts';
import { type ImportStore, timeOf } from '../imports/store.ts';
import type { SessionStore } from '../sessions/store.ts';
import { hasEnded } from '../sessions/turn.ts';

/** The maximum number of turns that a fork copies. */
const MAX_TURNS = 200;
/** The program of past turns that were copied from a session. */
export const CADRE = 'cadre';

interface Rows {
  store: SessionStore;
  imports: ImportStore;
}

export interface History {
  /** Oldest first. */
  turns: Pick<PastTurn, 'ref' | 'program' | 'status' | 'prompt' | 'items' | 'occurred_at'>[];
  /** The number of older turns that were left out. */
  omitted: number;
}

/** Reads the past turns and the turns of a session up to a turn, in the order of their times. */
export function readHistory(
  rx: Reader,
  { id, forked_from: origin, imported }: Session,
  last: Turn,
  { store, imports }: Rows,
): History {
  const past = imports
    .newestTurns(rx, id, MAX_TURNS)
    .map((turn) => ({ at: timeOf(turn), read: () => ({ ...turn, occurredAt: turn.occurred_at }) }))
    .filter(({ at }) => at <= last.accepted_at);
  const own = store.turnsUpTo(rx, last, MAX_TURNS).filter(hasEnded);
  const turns = own.map((turn) => ({
    at: turn.accepted_at,
    read: () => storedTurn(turn, store.itemsOf(rx, turn.turn_id)),
  }));
  const newestFirst = [...turns, ...past].toSorted((a, b) => b.at - a.at);
  const collector = new TurnCollector(MAX_TURNS);
  const kept = newestFirst.findIndex(({ read }) => !collector.add(read()));
  const earlier = (origin?.omitted_turns ?? 0) + (imported?.omitted_turns ?? 0);
  return {
    turns: collector.turns.map(({ occurredAt, items, ...turn }) => ({
      ...turn,
      items: items.map((item) => ({ ...item })),
      occurred_at: occurredAt,
    })),
    omitted: earlier + (kept < 0 ? 0 : newestFirst.length - kept),
  };
}

function storedTurn({ turn_id, status, input, accepted_at }: Turn, items: readonly Item[]) {
  const texts = input.map((one) => (one.type === 'text' ? one.text : '[image]'));
  return {
    ref: turn_id,
    program: CADRE,
    status: status === 'failed' || status === 'interrupted' ? status : ('completed' as const),
    prompt: texts.join('\n'),
    items: items.map(storedItem),
    occurredAt: accepted_at,
  };
}

function storedItem({ kind, status, tool, text }: Item): StoredItem {
  const isKnown = status === 'completed' || status === 'failed';
  return { kind, status: isKnown ? status : 'unknown', title: tool?.title ?? null, text };
}
