import type { PastTurn } from '../../../api/conversations.ts';
import type { Item, Session, Turn } from '../../../api/sessions.ts';
import { type StoredItem, type StoredTurn, TurnCollector } from '../../../agents/conversations.ts';
import type { Reader } from '../../../core/store/transaction.ts';
import { type ImportStore, timeOf } from '../imports/store.ts';
import type { SessionStore } from '../sessions/store.ts';

/** The maximum number of turns that a fork copies. */
const MAX_TURNS = 200;
/** The program of past turns that were copied from a session. */
const CADRE = 'cadre';

interface Rows {
  store: SessionStore;
  imports: ImportStore;
}

export interface History {
  /** Oldest first. */
  turns: StoredTurn[];
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
  const newestPast = imports.newestTurns(rx, id, MAX_TURNS);
  const past = newestPast
    .map((turn) => ({ at: timeOf(turn), read: () => copyOf(turn) }))
    .filter(({ at }) => at <= last.accepted_at);
  const own = store.turnsUpTo(rx, last, MAX_TURNS);
  const turns = own.map((turn) => ({
    at: turn.accepted_at,
    read: () => storedTurn(turn, store.itemsOf(rx, turn.turn_id)),
  }));
  const newestFirst = [...turns, ...past].toSorted((a, b) => b.at - a.at);
  const collector = new TurnCollector(MAX_TURNS);
  newestFirst.every(({ read }) => collector.add(read()));
  const kept = collector.turns;
  const later = newestPast.length - past.length;
  const stored = store.countTurns(rx, id, last.turn_id) + imports.countTurns(rx, id) - later;
  const earlier = (origin?.omitted_turns ?? 0) + (imported?.omitted_turns ?? 0);
  return { turns: kept, omitted: earlier + stored - kept.length };
}

function copyOf({ ref, program, status, prompt, items, occurred_at }: PastTurn): StoredTurn {
  return { ref, program, status, prompt, items, occurredAt: occurred_at };
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
