import { plain } from '../../../core/lib/plain.ts';
import { shorten } from '../../../core/lib/shorten.ts';

/** A word that completes the line, and its description. */
export interface Offer {
  word: string;
  about: string;
}

type Row = Readonly<Record<string, unknown>>;
export type Get = (path: string) => Promise<unknown>;

interface Kind {
  /** The path of the list; null if the line does not name the record that the list belongs to. */
  path(values: LineContext): Promise<string | null> | string | null;
  /** The rows of the answer, if it is not the list itself. */
  rows?: (answer: unknown, values: LineContext) => readonly Row[];
  id: string;
  /** Whether the command wants the whole id. */
  whole?: boolean;
  /** A field that the command takes as well as the id. */
  name?: string;
  keeps?(row: Row): boolean;
  about(row: Row): readonly unknown[];
}

/** The records, the provider and the agent that the command line names. */
interface LineContext {
  session: () => Promise<string | null>;
  team: () => Promise<string | null>;
  provider: () => Promise<string | null>;
  agent: string | undefined;
  /** The word at the cursor, as far as it is there. */
  typed: string;
  get: Get;
}

const list = (resource: string) => `/v1/${resource}?limit=100`;

/** How the records are found that a placeholder stands for. */
const kinds: Readonly<Record<string, Kind>> = {
  session: {
    path: () => list('sessions'),
    id: 'id',
    name: 'title',
    about: ({ status, last_turn_status: end, title, last_words, cwd }) => [
      status === 'ready' && end === 'failed' ? 'turn failed' : status,
      title ?? last_words ?? cwd,
    ],
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
  entry: {
    path: () => list('queue'),
    id: 'id',
    name: 'name',
    about: ({ status, name, input }) => [
      status,
      name ?? rowsOf(input).find(({ type }) => type === 'text')?.text,
    ],
  },
  worktree: {
    path: () => list('worktrees'),
    id: 'id',
    name: 'worktree_name',
    about: ({ status, worktree_name, repo_root }) => [status, worktree_name, repo_root],
  },
  race: {
    path: () => list('races'),
    id: 'id',
    name: 'name',
    about: ({ status, prompt }) => [status, prompt],
  },
  team: {
    path: () => list('teams'),
    id: 'id',
    name: 'name',
    keeps: ({ deleted_at }) => deleted_at === null,
    about: ({ name }) => [name],
  },
  budget: {
    path: () => list('budgets'),
    id: 'id',
    about: ({ per, status }) => [per, status],
  },
  rule: {
    path: () => list('approval-rules'),
    id: 'id',
    about: ({ effect, command, path, tool }) => [effect, command ?? path ?? tool],
  },
  token: {
    path: () => list('tokens'),
    id: 'id',
    name: 'name',
    about: ({ scope, name }) => [scope, name],
  },
  hook: {
    path: () => '/v1/hooks',
    id: 'name',
    whole: true,
    about: ({ state, target }) => [state, target],
  },
  member: {
    path: async ({ team }) => below('teams', await team(), '/view?message_limit=0'),
    rows: (answer) => rowsOf((answer as Row).members),
    id: 'agent_id',
    name: 'title',
    about: ({ state, title }) => [state, title],
  },
  message: {
    path: async ({ team }) => below('teams', await team(), '/messages?limit=100'),
    id: 'id',
    about: ({ priority, input }) => [priority, (input as { text?: string } | null)?.text],
  },
  comment: {
    path: async ({ session }) => below('sessions', await session(), '/review'),
    rows: (answer) => rowsOf((answer as { comments?: unknown }).comments),
    id: 'id',
    about: ({ path, first_line, text }) => [path, first_line, text],
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
  item: {
    path: async ({ session, get }) => {
      const sessionPath = below('sessions', await session(), '');
      const { last_turn_id: turn } = sessionPath === null ? {} : ((await get(sessionPath)) as Row);
      return typeof turn === 'string' ? `${sessionPath}/turns/${turn}/items` : null;
    },
    id: 'item_id',
    whole: true,
    about: ({ kind, text, tool }) => [kind, (tool as { title?: string } | null)?.title ?? text],
  },
  agent: {
    path: () => '/v1/providers',
    rows: agentsIn,
    id: 'name',
    whole: true,
    about: ({ display_name, healthy, detail }) => [display_name, healthy === true ? '' : detail],
  },
  'agent-mode': {
    path: () => '/v1/providers',
    rows: (answer, { agent }) => {
      const found = agentsIn(answer).find((one) => (agent ? one.name === agent : one.default));
      const { modes, mode_names: names } = found ?? {};
      if (!Array.isArray(modes)) return [];
      const nameOf = (id: unknown) => (names as Row | undefined)?.[String(id)];
      return modes.map((id: unknown) => ({ id, name: nameOf(id) }));
    },
    id: 'id',
    whole: true,
    about: ({ name }) => [name],
  },
  // The slash commands of a session.
  text: {
    path: async ({ session, typed }) =>
      typed.startsWith('/') ? below('sessions', await session(), '/commands') : null,
    rows: (answer) => rowsOf(answer).map((row) => ({ ...row, id: `/${textOf(row.name)}` })),
    id: 'id',
    whole: true,
    about: ({ description }) => [description],
  },
  model: {
    path: async ({ provider, agent }) =>
      below(
        'providers',
        await provider(),
        agent === undefined ? '/models' : `/models?agent=${encodeURIComponent(agent)}`,
      ),
    id: 'id',
    whole: true,
    about: ({ display_name }) => [display_name],
  },
};

/** The records that a placeholder stands for; none for other placeholders, and where the server has none. */
export async function recordOffers(
  placeholder: string,
  typed: string,
  values: ReadonlyMap<string, string>,
  get: Get,
): Promise<Offer[]> {
  const kind = kinds[placeholder];
  if (!kind) return [];
  const session = () => wholeId('session', values.get('session') ?? values.get('--session'), get);
  const team = () => wholeId('team', values.get('team'), get);
  const agent = values.get('--agent');
  const provider = async () =>
    values.get('--provider') ??
    // The providers with one agent are named like it; acp is the only one whose agents have names.
    (agent === undefined
      ? providerOf(await session(), get)
      : agent === 'claude' || agent === 'codex'
        ? agent
        : 'acp');
  const line: LineContext = { session, team, provider, agent, typed, get };
  const path = await kind.path(line);
  if (path === null) return [];
  const answer = await get(path);
  return (kind.rows?.(answer, line) ?? rowsOf(answer))
    .filter((row) => kind.keeps?.(row) ?? true)
    .flatMap((row) => offersOf(kind, row, typed));
}

export function isRecord(placeholder: string): boolean {
  return placeholder in kinds;
}

/** The id of a record, and also its name if the typed text may be the beginning of the name. */
function offersOf(kind: Kind, row: Row, typed: string): Offer[] {
  const id = textOf(row[kind.id]);
  if (!/^[\w.:/@-]+$/.test(id)) return [];
  const about = shorten(kind.about(row).map(textOf).filter(Boolean).join('  '), ABOUT_CHARACTERS);
  const isWhole = kind.whole === true || /^[a-z]+_/.test(typed);
  const name = kind.name === undefined ? '' : textOf(row[kind.name]);
  const isName = typed !== '' && /^[\w.-]+( [\w.-]+)*$/.test(name) && name.startsWith(typed);
  return [
    { word: isWhole ? id : id.slice(-8), about },
    ...(isName ? [{ word: name, about: `${id.slice(-8)}  ${about}` }] : []),
  ];
}

const ABOUT_CHARACTERS = 60;

/** The whole id of a record that an argument names by its id, the end of it, or its name. */
async function wholeId(
  kind: string,
  reference: string | undefined,
  get: Get,
): Promise<string | null> {
  if (reference === undefined || /_[0-9a-f]{32}$/.test(reference)) return reference ?? null;
  const found = rowsOf(await get(`/v1/${kind}s?limit=500`)).find(
    ({ id, name, title }) => textOf(id).endsWith(reference) || (name ?? title) === reference,
  );
  return found ? textOf(found.id) : null;
}

/** The provider of a session; without one, the default of new sessions, else the only provider that is ready. */
async function providerOf(session: string | null, get: Get): Promise<string | null> {
  const sessionPath = below('sessions', session, '');
  if (sessionPath !== null) return textOf(((await get(sessionPath)) as Row).provider) || null;
  const all = rowsOf(await get('/v1/providers'));
  const preferred = all.find((one) => one.default === true);
  const ready = preferred ? [preferred] : all.filter(({ healthy }) => healthy === true);
  return ready.length === 1 ? textOf(ready[0]?.id) : null;
}

function below(resource: string, id: string | null, more: string): string | null {
  return id === null ? null : `/v1/${resource}/${encodeURIComponent(id)}${more}`;
}

/** The agents of all providers, in the list of these. */
function agentsIn(providers: unknown): readonly Row[] {
  return rowsOf(providers).flatMap((one) => rowsOf(one.agents));
}

function rowsOf(value: unknown): readonly Row[] {
  return Array.isArray(value) ? (value as Row[]) : [];
}

/** One line of plain text; '' for a value that is not a text. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? plain(value).replaceAll(/\s+/g, ' ').trim() : '';
}
