import path from 'node:path';
import { endpoints } from '../../../api/index.ts';
import type { ProviderId } from '../../../api/provider-kinds.ts';
import type { SearchHit, SearchIndex } from '../../../api/search.ts';
import type { Client } from '../../../client/client.ts';
import { serversOf } from '../../../client/routed.ts';
import { usageError } from '../../../api/errors.ts';
import { clientCommand } from '../command.ts';
import { choicesOf } from '../choices.ts';
import { count } from '../option-values.ts';
import { sessionId, teamId } from '../find.ts';
import { details, ago, mebibytes, shortId } from '../output.ts';
import { dateText, sinceOf } from '../when.ts';
import type { CommandContext } from '../command-io.ts';
import { oneLine } from '../../../core/lib/plain.ts';
import type { Layout } from '../layout.ts';

interface SearchOptions {
  kind?: SearchHit['kind'];
  session?: string;
  team?: string;
  provider?: ProviderId;
  cwd?: string;
  since?: string;
  best?: boolean;
  limit: number;
  status?: boolean;
  forget?: boolean;
}

export const searchCommand = clientCommand({
  name: 'search',
  description: 'Search the prompts, answers, commands and titles of sessions',
  parameters: [
    '[words...]  Words to find, in any order: word, "a phrase" or prefix* (without words, all texts match)',
    {
      line: '--kind <kind>  Search only prompts, answers, tool calls (such as commands) or session titles',
      choices: choicesOf(endpoints.search.query.kind),
    },
    '--session <session>  Search only this session',
    '--team <team>  Search only the sessions of this team',
    {
      line: '--provider <provider>  Search only sessions of this provider',
      choices: choicesOf(endpoints.search.query.provider),
    },
    '--cwd <directory>  Search only sessions in this directory and its subdirectories',
    '--since <time>  Search only texts that are newer than an age such as 2d or 3h, or a time such as 2026-11-01 or 2026-11-01T08:00',
    '--best  Sort the 400 newest matches by relevance (default: newest matches first)',
    { line: '-L, --limit <n>  Maximum number of results', parse: count, default: 20 },
    '--status  Show the progress and size of the search index',
    '--forget  Delete the search index (the next search creates a new index)',
  ],
  help: '\nTo exclude texts with a word, add -- and then -WORD after the words to find.',
  async run(context, words: readonly string[], options: SearchOptions) {
    const { client, show, note, layout, io } = context;
    if (options.status === true) return showStatus(context);
    if (options.forget === true) return forget(context);
    const query = await queryOf(context, words, options);
    const { hits, hasMore } = await upTo(client, query, options.limit);
    const now = io.clock.now();
    show(hits, () => hits.map((hit) => hitText(hit, now, layout)).join('\n'));
    if (hits.length === 0) note('no results');
    if (hasMore && !context.global.json)
      io.stderr.write(`cadre: the first ${hits.length} are shown, and more exist: pass --limit\n`);
    if (!context.global.json) for (const text of await behind(client)) note(text);
  },
});

async function queryOf(
  { client, io }: CommandContext,
  words: readonly string[],
  { kind, session, team, provider, cwd, since, best }: SearchOptions,
) {
  const q = words.map(quoted).join(' ').trim();
  return {
    ...(q === '' ? {} : { q }),
    kind,
    provider,
    ...(session === undefined ? {} : { session_id: await sessionId(client, session) }),
    ...(team === undefined ? {} : { team_id: await teamId(client, team) }),
    ...(cwd === undefined ? {} : { cwd: path.resolve(io.cwd(), cwd) }),
    ...(since === undefined ? {} : { since: sinceOf(since, io.clock.now()) }),
    ...(best === true ? { order: 'best' as const } : {}),
  };
}

/** An argument of several words was quoted in the shell, so its words follow each other. */
function quoted(argument: string): string {
  return /\s/.test(argument) && !argument.includes('"') ? `"${argument}"` : argument;
}

/** The first hits: a page may have fewer than it was asked for, and more come behind it. */
async function upTo(
  client: Client,
  query: Awaited<ReturnType<typeof queryOf>>,
  limit: number,
): Promise<{ hits: SearchHit[]; hasMore: boolean }> {
  const hits: SearchHit[] = [];
  let cursor: string | undefined;
  do {
    const page = { ...query, limit: Math.max(1, Math.min(100, limit - hits.length)), cursor };
    const { value, headers } = await client.ask(endpoints.search, { query: page });
    hits.push(...value);
    cursor = headers['x-next-cursor'] as string | undefined;
  } while (cursor !== undefined && hits.length < limit);
  return { hits: hits.slice(0, limit), hasMore: cursor !== undefined || hits.length > limit };
}

/** The missing parts of the indexes, with a line for each server. */
async function behind(client: Client): Promise<string[]> {
  const indexes = await indexesOf(client);
  return indexes.flatMap(({ node, index }) => {
    const text = behindText(index);
    return text === null ? [] : [node === null ? text : `${node}: ${text}`];
  });
}

async function indexesOf(client: Client) {
  const servers = serversOf(client);
  if (!servers) return [{ node: null, index: await client.call(endpoints.getSearchIndex, {}) }];
  const entries = (await servers.list()).flatMap(({ name, client: one }) =>
    one ? [{ node: name, client: one }] : [],
  );
  return Promise.all(
    entries.map(async ({ node, client: one }) => ({
      node,
      index: await one.call(endpoints.getSearchIndex, {}),
    })),
  );
}

async function showStatus({ client, show, layout }: CommandContext): Promise<void> {
  const indexes = await indexesOf(client);
  const document = indexes.map(({ node, index }) => (node === null ? index : { node, ...index }));
  show(document.length === 1 ? document[0] : document, () =>
    indexes
      .map(({ node, index }) =>
        details({ ...(node === null ? {} : { node }), ...indexDetails(index) }, { layout }),
      )
      .join('\n'),
  );
}

async function forget({ client, show }: CommandContext): Promise<void> {
  if (serversOf(client))
    throw usageError('--forget works on only one server: choose the server with --url');
  const index = await client.call(endpoints.dropSearchIndex, {});
  show(index, () => 'Deleted the search index (the next search creates a new one)\n');
}

const KIND_COLUMNS = 6;

/** A result: its session, the text, and the command that shows the whole turn. */
function hitText(hit: SearchHit, now: number, { palette }: Layout): string {
  const { kind, session_title: title, session_id, created_at, node } = hit;
  const of = [
    palette.strong(title === null ? `session ${shortId(session_id)}` : oneLine(title)),
    ...(typeof node === 'string' ? [oneLine(node)] : []),
  ];
  const head = `${ago(created_at, now).padEnd(4)} ${kind.padEnd(KIND_COLUMNS)} ${of.join('  ')}`;
  return `${head}\n  ${marked(hit, palette.found)}\n  ${palette.faint(commandFor(hit))}\n`;
}

/** The command that shows a hit with its surroundings. */
function commandFor({ session_id, turn_id }: SearchHit): string {
  const show = `cadre sessions show ${session_id}`;
  return turn_id === null ? show : `${show} --turn ${turn_id}`;
}

function marked({ text, marks }: SearchHit, style: (text: string) => string): string {
  let line = '';
  let at = 0;
  for (const { start, end } of marks) {
    line += oneLineOf(text.slice(at, start)) + style(oneLineOf(text.slice(start, end)));
    at = end;
  }
  return line + oneLineOf(text.slice(at));
}

/** A part of a line, which keeps its spaces. */
function oneLineOf(text: string): string {
  const inner = oneLine(text);
  if (inner === '') return text === '' ? '' : ' ';
  return `${/^\s/.test(text) ? ' ' : ''}${inner}${/\s$/.test(text) ? ' ' : ''}`;
}

/** The missing part of an index, as text; null if the index is complete. */
function behindText({ state, done, back_to, detail }: SearchIndex): string | null {
  if (state === 'ready' || state === 'off') return null;
  if (state === 'waiting')
    return `the search index is not up to date: ${detail ?? 'it cannot be written'}`;
  const from = back_to === null ? '' : `; texts before ${dateText(back_to)} are not found yet`;
  return `the search index is being built (${percent(done)} done)${from}`;
}

function indexDetails({ state, documents, done, back_to, bytes, detail }: SearchIndex) {
  return {
    state,
    documents,
    done: percent(done),
    ...(back_to === null ? {} : { 'back to': dateText(back_to) }),
    size: mebibytes(bytes),
    ...(detail === null ? {} : { detail }),
  };
}

function percent(part: number): string {
  return `${Math.floor(part * 100)} %`;
}
