import type { Client } from '../../client/client.ts';
import { plain } from '../../lib/plain.ts';
import { shorten } from '../../lib/shorten.ts';

/** A word that may be typed, and what it is about. */
export interface Offer {
  word: string;
  about: string;
}

type Row = Readonly<Record<string, unknown>>;
/** Reads a path of the server as rows. */
type Rows = (path: string) => Promise<readonly Row[]>;

interface Kind {
  /** The path of the list; null where the line does not say what it is of. */
  path(given: Given): Promise<string | null> | string | null;
  /** The field with the list, if the answer is not the list itself. */
  within?: string;
  id: string;
  /** Whether the command wants the whole id. */
  whole?: boolean;
  /** A field that the command takes as well as the id. */
  name?: string;
  keeps?(row: Row): boolean;
  about(row: Row): readonly unknown[];
}

/** What is on the line already: the ids of the records that arguments name. */
interface Given {
  session: () => Promise<string | null>;
  team: () => Promise<string | null>;
  provider: string | undefined;
}

const list = (noun: string) => `/v1/${noun}?limit=100`;

/** How the records are found that a placeholder stands for. */
const kinds: Readonly<Record<string, Kind>> = {
  session: {
    path: () => list('sessions'),
    id: 'id',
    about: ({ status, title, last_words, cwd }) => [status, title ?? last_words ?? cwd],
  },
  process: {
    path: () => list('processes'),
    id: 'process_id',
    about: ({ status, command }) => [status, command],
  },
  approval: {
    path: () => `${list('approvals')}&status=pending`,
    id: 'id',
    about: ({ kind, title }) => [kind, title],
  },
  worktree: {
    path: () => list('worktrees'),
    id: 'id',
    name: 'worktree_name',
    about: ({ status, worktree_name, repo_root }) => [status, worktree_name, repo_root],
  },
  team: {
    path: () => list('teams'),
    id: 'id',
    name: 'name',
    keeps: ({ deleted_at }) => deleted_at === null,
    about: ({ name }) => [name],
  },
  token: {
    path: () => list('tokens'),
    id: 'id',
    name: 'name',
    about: ({ scope, name }) => [scope, name],
  },
  member: {
    path: async ({ team }) => below('teams', await team(), '/view?message_limit=0'),
    within: 'members',
    id: 'agent_id',
    name: 'title',
    about: ({ state, title }) => [state, title],
  },
  message: {
    path: async ({ team }) => below('teams', await team(), '/messages?limit=100'),
    id: 'id',
    about: ({ priority, input }) => [priority, (input as { text?: string } | null)?.text],
  },
  delivery: {
    path: async ({ team }) => below('teams', await team(), '/deliveries?limit=100'),
    id: 'id',
    about: ({ status, error }) => [status, (error as { message?: string } | null)?.message],
  },
  turn: {
    path: async ({ session }) => below('sessions', await session(), '/turns?limit=100'),
    id: 'turn_id',
    whole: true,
    about: ({ status, text }) => [status, text],
  },
  model: {
    path: ({ provider }) => (provider === undefined ? null : `/v1/providers/${provider}/models`),
    id: 'id',
    whole: true,
    about: ({ display_name }) => [display_name],
  },
};

/** The records that a placeholder stands for; none for other placeholders, and where the server has none. */
export async function recordOffers(
  placeholder: string,
  typed: string,
  given: ReadonlyMap<string, string>,
  client: Client,
  signal: AbortSignal,
): Promise<Offer[]> {
  const kind = kinds[placeholder];
  if (!kind) return [];
  const rows: Rows = async (path) => rowsOf(await client.get(path, signal));
  const path = await kind.path({
    session: () => wholeId('session', given.get('session'), rows),
    team: () => wholeId('team', given.get('team'), rows),
    provider: given.get('--provider'),
  });
  if (path === null) return [];
  const answer = await client.get(path, signal);
  return rowsOf(kind.within === undefined ? answer : (answer as Row)[kind.within])
    .filter((row) => kind.keeps?.(row) ?? true)
    .flatMap((row) => offersOf(kind, row, typed));
}

export function isRecord(placeholder: string): boolean {
  return placeholder in kinds;
}

/** An id as it can be typed, and its name where what is typed may be the beginning of it. */
function offersOf(kind: Kind, row: Row, typed: string): Offer[] {
  const id = textOf(row[kind.id]);
  if (!/^[\w.:/@-]+$/.test(id)) return [];
  const about = shorten(kind.about(row).map(textOf).filter(Boolean).join('  '), ABOUT_CHARACTERS);
  const isWhole = kind.whole === true || /^[a-z]+_/.test(typed);
  const name = kind.name === undefined ? '' : textOf(row[kind.name]);
  const isName = typed !== '' && /^[\w.-]+$/.test(name) && name.startsWith(typed);
  return [
    { word: isWhole ? id : id.slice(-8), about },
    ...(isName ? [{ word: name, about: `${id.slice(-8)}  ${about}` }] : []),
  ];
}

const ABOUT_CHARACTERS = 60;

/** The whole id of a record that an argument names by its id, the end of it, or its name. */
async function wholeId(noun: string, said: string | undefined, rows: Rows): Promise<string | null> {
  if (said === undefined || /_[0-9a-f]{32}$/.test(said)) return said ?? null;
  const found = (await rows(`/v1/${noun}s?limit=500`)).find(
    ({ id, name, title }) => textOf(id).endsWith(said) || (name ?? title) === said,
  );
  return found ? textOf(found.id) : null;
}

function below(noun: string, id: string | null, more: string): string | null {
  return id === null ? null : `/v1/${noun}/${encodeURIComponent(id)}${more}`;
}

function rowsOf(value: unknown): readonly Row[] {
  return Array.isArray(value) ? (value as Row[]) : [];
}

/** One line of plain text; '' for what is no text. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? plain(value).replaceAll(/\s+/g, ' ').trim() : '';
}
