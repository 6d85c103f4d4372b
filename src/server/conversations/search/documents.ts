import { hash } from 'node:crypto';
import path from 'node:path';
import type { Item, Session, Turn } from '../../../api/sessions.ts';
import type { SearchHit } from '../../../api/search.ts';
import { plain } from '../../../core/lib/plain.ts';

/** A text that can be found, as it is shown: without control characters. */
export interface Document {
  kind: SearchHit['kind'];
  session_id: string;
  turn_id: string | null;
  item_id: string | null;
  at: number;
  text: string;
}

/** The searched beginning of a text, in UTF-16 code units. */
const MAX_TEXT = 64 * 1024;
/** The same for the input of a tool, and for each text in it, because most long inputs are contents of files. */
const MAX_INPUT = 8 * 1024;
const MAX_VALUE = 2000;

/** The prompt of a turn; null where it has no text, or retention has deleted it. */
export function promptOf(turn: Turn): Document | null {
  const texts = turn.input.flatMap((one) => (one.type === 'text' ? [one.text] : []));
  const { session_id, turn_id, accepted_at } = turn;
  return document({ kind: 'prompt', session_id, turn_id, item_id: null, at: accepted_at }, texts);
}

/** Returns the message of an agent or the input of a tool; null for reasoning, and for an open item. */
export function itemDocument(item: Item): Document | null {
  const { session_id, turn_id, item_id, created_at, completed_at, tool } = item;
  if (item.kind === 'reasoning' || item.status === 'open') return null;
  const at = completed_at ?? created_at;
  const fields = { session_id, turn_id, item_id, at };
  if (item.kind === 'message') return document({ kind: 'answer', ...fields }, [item.text]);
  return tool && document({ kind: 'tool', ...fields }, [tool.title, ...textsIn(tool.input)]);
}

/** The title of a session; null where it has none, or its first prompt says the same. */
export function titleDocumentOf(session: Session): Document | null {
  const { id: session_id, title, title_source, created_at } = session;
  const fields = { session_id, turn_id: null, item_id: null, at: created_at };
  return title === null || title_source === 'prompt'
    ? null
    : document({ kind: 'title', ...fields }, [title]);
}

function document(fields: Omit<Document, 'text'>, texts: readonly string[]): Document | null {
  const text = plain([...new Set(texts)].join('\n').slice(0, MAX_TEXT));
  return /\S/.test(text) ? { ...fields, text } : null;
}

/** The texts of the input of a tool: commands, paths, patterns. */
function textsIn(input: unknown): string[] {
  const texts: string[] = [];
  let rest = MAX_INPUT;
  const visit = (value: unknown, depth: number): void => {
    if (typeof value === 'string' && value.length <= rest) {
      texts.push(value.slice(0, MAX_VALUE));
      rest -= value.length;
    } else if (typeof value === 'object' && value !== null && depth < 4)
      for (const one of Object.values(value)) visit(one, depth + 1);
  };
  visit(input, 0);
  return texts;
}

/**
 * Marks are words of the index that no text has, because they begin with a character of no script: a filter is then one
 * more word of the query, which costs nothing where it leaves little.
 */
const MARK = '\ue000';

export const kindMark = (kind: Document['kind']) => `${MARK}k${kind}`;
export const providerMark = (provider: string) => `${MARK}p${provider.replaceAll(/\W/g, '')}`;
export const sessionMark = (n: number) => `${MARK}s${n}`;
export const directoryMark = (directory: string) =>
  `${MARK}d${hash('sha256', directory, 'hex').slice(0, 16)}`;

export function marksOf(n: number, { provider, cwd }: Session): string {
  return [
    sessionMark(n),
    providerMark(provider),
    ...directories(cwd).map((one) => directoryMark(one)),
  ].join(' ');
}

function directories(cwd: string): string[] {
  const above = path.dirname(cwd);
  return above === cwd ? [cwd] : [cwd, ...directories(above)];
}
