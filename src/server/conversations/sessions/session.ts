import { isDeepStrictEqual } from 'node:util';
import type { SessionInEvents } from '../../../api/event-kinds/sessions.ts';
import type { BodyOf } from '../../../api/endpoint.ts';
import type { updateSession } from '../../../api/session-requests.ts';
import type { Session, Turn, Usage } from '../../../api/sessions.ts';
import { AppError, invalidError } from '../../../api/errors.ts';
import { cutLine, firstLine } from '../../../core/lib/cut-line.ts';
import { lineWithoutControls, oneLine } from '../../../core/lib/plain.ts';
import { saturatingSum } from '../../../core/lib/reported-numbers.ts';
import { hasContent } from '../../../agents/conversations.ts';
import type { KnownSession } from '../../../agents/provider.ts';
import { addUsage } from './known-usage.ts';
import { changedSettings } from './settings.ts';
import { summedFields } from './turn-usage.ts';
import { noUsage } from './turn.ts';

const TITLE_CHARACTERS = 80;
const LAST_WORDS_CHARACTERS = 200;

export type SessionChange = BodyOf<typeof updateSession>;

type LastTurn = Pick<Session, 'last_turn_status' | 'last_turn_error'>;

/** The last turn of a session without one that has ended. */
export const noLastTurn: LastTurn = { last_turn_status: null, last_turn_error: null };

/** The fields of a new session; every other field begins empty. */
type Opening = Pick<
  Session,
  | 'id'
  | 'provider'
  | 'agent'
  | 'agent_asks'
  | 'agent_mode'
  | 'model'
  | 'cwd'
  | 'permission_mode'
  | 'thinking_effort'
  | 'metadata'
  | 'title'
  | 'after_limit'
  | 'created_at'
> & { sandbox: Session['sandbox'] | null };

export function newSession({ sandbox, ...opening }: Opening): Session {
  return {
    ...opening,
    title_source: opening.title === null ? null : 'person',
    pinned: false,
    snoozed_until: null,
    muted: false,
    seen_seq: 0,
    news_seq: 0,
    last_activity_at: opening.created_at,
    last_words: null,
    status: 'ready',
    active_turn_id: null,
    last_turn_id: null,
    ...noLastTurn,
    provider_session_ref: null,
    provider_defaults: null,
    worktree_id: null,
    usage: null,
    close_reason: null,
    failure: null,
    usage_limit: null,
    ...(sandbox ? { sandbox } : {}),
    updated_at: opening.created_at,
    closed_at: null,
    trimmed: false,
  };
}

export function beginTurn(session: Session, turn: Turn, now: number): Session {
  const title = session.title ?? titleFrom(promptOf(turn));
  return {
    ...session,
    status: 'running',
    active_turn_id: turn.turn_id,
    last_turn_id: turn.turn_id,
    title,
    ...(session.title === null ? { title_source: title === null ? null : 'prompt' } : {}),
    last_activity_at: now,
    updated_at: now,
  };
}

/** A title of an agent that has no information, such as "New session". */
const BLANK_TITLE = /^(?:new|untitled) (?:session|chat|conversation|thread)\b/i;

/** Returns the session with the title from its agent; the same session if a user has set a title. */
export function titledByAgent(session: Session, text: string, now: number): Session {
  const title = titleFrom(text);
  const isGiven =
    session.title_source === 'person' || (!session.title_source && session.title !== null);
  if (title === null || title === session.title || isGiven) return session;
  if (session.title !== null && BLANK_TITLE.test(title)) return session;
  return { ...session, title, title_source: 'agent', updated_at: now };
}

/** Returns the title that a prompt gives its session; null if the prompt is blank. */
export function titleFrom(prompt: string | null | undefined): string | null {
  return firstLine(prompt ?? '', TITLE_CHARACTERS);
}

/** Returns a person's title on one line, without control characters. Throws `invalid` for a blank one. */
export function titleOfPerson(text: string): string {
  const title = lineWithoutControls(text);
  if (oneLine(title) === '')
    throw invalidError('body.title: the title is blank: send a title, or null to remove the title');
  return title;
}

/** Returns the first text that a person says in a turn; undefined for any other turn, and for images alone. */
function promptOf({ source, input }: Turn): string | undefined {
  const isOfPerson = source === 'user' || source === 'queue';
  const item = isOfPerson ? input.find(({ type }) => type === 'text') : undefined;
  return item?.type === 'text' ? item.text : undefined;
}

/** Returns the changed session; the same one if nothing changed. Throws `invalid` for a `seen_seq` of no event yet. */
export function changeSession(
  session: Session,
  change: SessionChange,
  { now, newestSeq }: { now: number; newestSeq: number },
): Session {
  if ((change.seen_seq ?? 0) > newestSeq)
    throw invalidError(
      `body.seen_seq: no event has the sequence number ${change.seen_seq} yet: the newest event has ${newestSeq}`,
    );
  const after = {
    ...session,
    ...(change.title === undefined
      ? {}
      : change.title === null
        ? { title: null, title_source: null }
        : { title: titleOfPerson(change.title), title_source: 'person' as const }),
    pinned: change.pinned ?? session.pinned,
    snoozed_until:
      change.snoozed_until === undefined ? session.snoozed_until : change.snoozed_until,
    muted: change.muted ?? session.muted,
    seen_seq: Math.max(session.seen_seq, change.seen_seq ?? 0),
    ...(change.after_limit === undefined ? {} : { after_limit: change.after_limit }),
    ...changedSettings(session, change),
  };
  return isDeepStrictEqual(after, session) ? session : { ...after, updated_at: now };
}

/**
 * Throws `turn_conflict`, `session_closed`, `session_failed` or `turn_in_progress`, in this order of precedence, unless
 * a turn may be sent to the session. `expected` is the id that the sender expects of the session's most recent turn;
 * undefined or null: it expects none in particular.
 */
export function assertAcceptsTurn(session: Session, expected: string | null | undefined): void {
  const { id, last_turn_id: last } = session;
  if (expected !== undefined && expected !== null && expected !== last) {
    const found = last === null ? `${id} has no turns` : `the most recent turn of ${id} is ${last}`;
    throw new AppError(
      'turn_conflict',
      `expected_turn_id is "${expected}", but ${found}: read the turns of the session, then send the prompt again`,
    );
  }
  assertNotClosed(session);
  if (session.status === 'failed') {
    throw new AppError(
      'session_failed',
      `session ${id} has failed (${session.failure?.message ?? 'unknown'}): open a new session`,
    );
  }
  assertNoTurn(session);
}

/** Throws `turn_in_progress` if a turn of the session runs. */
export function assertNoTurn({ id, active_turn_id: active }: Session): void {
  if (active)
    throw new AppError(
      'turn_in_progress',
      `turn ${active} of session ${id} is still running: wait until the turn ends`,
    );
}

/** Throws `session_closed` or `session_failed` for a session that accepts no new work. */
export function assertOpen(session: Session): void {
  assertNotClosed(session);
  if (session.status === 'failed')
    throw new AppError(
      'session_failed',
      `session ${session.id} has failed: resume the session, or open a new session`,
    );
}

/** Throws `session_closed`. */
export function assertNotClosed({ id, status }: Session): void {
  if (status === 'closed')
    throw new AppError('session_closed', `session ${id} is closed: open a new session`);
}

export function endTurn(session: Session, turn: Turn, now: number): Session {
  if (session.active_turn_id !== turn.turn_id) return session;
  return {
    ...session,
    status: session.status === 'closed' || session.status === 'failed' ? session.status : 'ready',
    active_turn_id: null,
    usage: addUsage(session.usage, turn.usage),
    ...lastTurnOf(turn),
    last_words: cutLine(turn.text ?? '', LAST_WORDS_CHARACTERS) ?? session.last_words,
    last_activity_at: now,
    updated_at: now,
  };
}

/** Returns the fields of a session that come from its last turn, if that turn has ended. */
export function lastTurnOf({ status, error }: Turn): LastTurn {
  if (status !== 'completed' && status !== 'interrupted' && status !== 'failed') return noLastTurn;
  return { last_turn_status: status, last_turn_error: error && shortError(error) };
}

function shortError(error: NonNullable<Turn['error']>): NonNullable<Turn['error']> {
  return { ...error, message: cutLine(error.message, LAST_WORDS_CHARACTERS) ?? error.code };
}

/** Returns the session as closed, which is final. */
export function closedSession(session: Session, reason: string | null, now: number): Session {
  return {
    ...session,
    status: 'closed',
    close_reason: reason,
    active_turn_id: null,
    closed_at: now,
    usage_limit: null,
    updated_at: now,
  };
}

/** Returns the session as failed, because no agent can resume it. */
export function failSession(
  session: Session,
  failure: { code: string; message: string },
  now: number,
): Session {
  return { ...session, status: 'failed', failure, active_turn_id: null, updated_at: now };
}

/** Returns the session after its agent has amended the usage of a turn, which had ended with the usage `before`. */
export function amendUsage(session: Session, before: Usage | null, after: Usage): Session {
  const usage = { ...(session.usage ?? noUsage) };
  for (const field of summedFields)
    if (after[field] !== null)
      usage[field] = saturatingSum(usage[field] ?? 0, after[field] - (before?.[field] ?? 0));
  usage.context_tokens = after.context_tokens ?? usage.context_tokens;
  usage.context_window = after.context_window ?? usage.context_window;
  return { ...session, usage };
}

/** Returns the session for events after `session.created`, without `metadata`, which never changes and may be large. */
export function sessionInEvents({ metadata: _metadata, ...session }: Session): SessionInEvents {
  return session;
}

/** Returns the session as its provider knows it; null if no agent has seen the session. */
export function knownSession({
  provider_session_ref: ref,
  cwd,
  usage,
  imported,
}: Session): KnownSession | null {
  return ref === null ? null : { ref, cwd, isEmpty: !hasContent({ usage, imported }) };
}
