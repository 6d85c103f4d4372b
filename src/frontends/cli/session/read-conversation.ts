import type { Approval } from '../../../api/approvals.ts';
import type { PastTurn } from '../../../api/conversations.ts';
import { endpoints } from '../../../api/index.ts';
import type { Session, Turn } from '../../../api/sessions.ts';
import type { Client } from '../../../client/client.ts';
import { recordsOf } from '../../../client/records-of.ts';
import { readNotices } from '../../../client/replay.ts';
import type { Notice, TurnWithItems } from '../../terminal/conversation.ts';

export interface ReadConversation {
  session: Session;
  turns: TurnWithItems[];
  /** The approvals of these turns, newest first. */
  approvals: Approval[];
  /** The notices of the session that the log still has, oldest first. */
  notices: Notice[];
  /** The past turns, oldest first. */
  past: PastTurn[];
}

/**
 * The newest `wanted` turns of a session with everything in them, or the one with this id. A whole
 * conversation includes its past turns. Throws `not_found`.
 */
export async function readConversation(
  client: Client,
  session: Session,
  wanted: number | string = Number.POSITIVE_INFINITY,
): Promise<ReadConversation> {
  const { id: session_id, imported, forked_from: origin } = session;
  const params = { session_id };
  const newest =
    typeof wanted === 'string'
      ? [await client.call(endpoints.getTurn, { params: { ...params, turn_id: wanted } })]
      : await upTo(wanted, (query) => client.ask(endpoints.listTurns, { params, query }));
  const turns: TurnWithItems[] = [];
  for (const turn of newest.toReversed()) turns.push({ turn, items: await itemsOf(client, turn) });
  const approvals = await upTo(Number.POSITIVE_INFINITY, (query) =>
    client.ask(endpoints.listSessionApprovals, { params, query }),
  );
  const ids = new Set(newest.map(({ turn_id }) => turn_id));
  const notices = typeof wanted === 'string' ? [] : await readNotices(client, session_id);
  const past =
    (imported || origin) && wanted === Number.POSITIVE_INFINITY
      ? await upTo(wanted, (query) => client.ask(endpoints.listPastTurns, { params, query }))
      : [];
  return {
    session,
    turns,
    approvals: approvals.filter(({ turn_id }) => ids.has(turn_id)),
    notices,
    past: past.toReversed(),
  };
}

/** The JSON document of a conversation: each turn with its items. */
export function conversationDocument({ past, ...read }: ReadConversation) {
  const turns = read.turns.map(({ turn, items }) => ({ ...turn, items }));
  return { ...read, turns, ...(past.length > 0 && { past_turns: past }) };
}

function itemsOf(client: Client, { session_id, turn_id }: Turn) {
  return client.call(endpoints.listItems, { params: { session_id, turn_id } });
}

async function upTo<T>(count: number, ask: Parameters<typeof recordsOf<T>>[0]): Promise<T[]> {
  const found: T[] = [];
  for await (const one of recordsOf(ask)) {
    found.push(one);
    if (found.length >= count) break;
  }
  return found.slice(0, count);
}
