import path from 'node:path';
import { endpoints } from '../../../api/index.ts';
import type { ExportOptions } from '../export/write.ts';
import { conversationDocument } from '../session/read-conversation.ts';
import { sessionArgument, sessionId, teamArgument, teamId } from '../find.ts';
import { clientCommand } from '../command.ts';
import type { Conversation, HandedBack } from '../../../api/conversations.ts';
import { AppError, notFoundError, usageError } from '../../../api/errors.ts';
import {
  agentProvider,
  type ProviderId,
  providerIds,
  providerKinds,
} from '../../../api/provider-kinds.ts';
import { MAX_PAST_TURNS } from '../../../api/session-requests.ts';
import type { Session } from '../../../api/sessions.ts';
import { agentOf } from '../../../client/agent-of.ts';
import type { Client } from '../../../client/client.ts';
import { counted } from '../../../core/lib/counted.ts';
import { oneLine } from '../../../core/lib/plain.ts';
import { shellWord } from '../../../core/lib/shell-word.ts';
import { count } from '../option-values.ts';
import { ago, labelOf, listOf, plain, shortId } from '../output.ts';

const exportOptions = [
  '--html  Write the conversation as one HTML file without scripts (default)',
  '--markdown  Write the conversation as Markdown',
  '--redact  Mask the home directory and secrets of known kinds, such as API keys',
  '--file <file>  File to write (default: stdout)',
  '--force  Replace the file if it exists',
];

export const sessionExport = clientCommand({
  name: 'export',
  description: 'Export the conversation of a session as HTML, Markdown or JSON',
  parameters: [sessionArgument, ...exportOptions],
  async run(context, reference: string, options: ExportOptions) {
    const { client } = context;
    const { readSession, sessionExport: exportOf } = await import('../export/read.ts');
    const { writeExport } = await import('../export/write.ts');
    const read = await readSession(client, await sessionId(client, reference));
    await writeExport(context, options, {
      document: conversationDocument(read),
      exported: exportOf(read),
    });
  },
});

export const teamExport = clientCommand({
  name: 'export',
  description: 'Export the conversations of all members of a team as HTML, Markdown or JSON',
  parameters: [teamArgument, ...exportOptions],
  async run(context, reference: string, options: ExportOptions) {
    const { client } = context;
    const { readSession, teamExport: exportOf } = await import('../export/read.ts');
    const { writeExport } = await import('../export/write.ts');
    const params = { team_id: await teamId(client, reference) };
    const found = await client.call(endpoints.getTeam, { params });
    const sessions = [];
    for (const { agent_id } of found.members) sessions.push(await readSession(client, agent_id));
    const document = { ...found, sessions: sessions.map(conversationDocument) };
    await writeExport(context, options, { document, exported: exportOf(found, sessions) });
  },
});

/** The shortest beginning of an id that names a conversation. */
const MIN_REF = 4;
const MAX_LISTED = 1000;

/** A conversation with the provider that has it, and the agent that the command line names. */
type Listed = Conversation & { provider: ProviderId; agent: string | null };

const agentOptions = [
  { line: '--provider <provider>  Provider of the conversation', choices: providerIds },
  '--agent <agent>  Name of the agent for the provider acp, such as opencode',
];

interface AgentOptions {
  provider?: ProviderId;
  agent?: string;
}

export const sessionImport = clientCommand({
  name: 'import',
  description: "Open a session that continues a conversation of an agent's own program",
  parameters: [
    '<ref>  Id of the conversation, or its beginning (list: cadre sessions import list)',
    '--title <title>  Title of the session (default: title of the conversation)',
    {
      line: `--history <n>  Number of the newest past turns to store, or none (default: ${MAX_PAST_TURNS})`,
      parse: history,
    },
    '--fork  Fork the conversation, which may be open in another program',
    '--cwd <directory>  Working directory (default: directory of the conversation)',
    '--permission-mode <mode>  Permission mode: which agent actions need approval',
    ...agentOptions,
  ],
  async run({ client, show, io }, reference: string, options: ImportOptions) {
    const here = io.cwd();
    const { provider, agent, ref } = await findConversation(client, reference, {
      ...options,
      here,
    });
    const { title, history, fork, cwd, permissionMode } = options;
    const opened = await client.call(endpoints.createSession, {
      body: {
        provider,
        ...(agent === null ? {} : { agent }),
        import: { ref, fork, ...(history === undefined ? {} : { history }) },
        ...(title === undefined ? {} : { title }),
        ...(cwd === undefined ? {} : { cwd: path.resolve(here, cwd) }),
        ...(permissionMode === undefined ? {} : { permission_mode: permissionMode }),
      },
    });
    const params = { session_id: opened.id };
    const session = await client.call(endpoints.getSession, { params });
    show(session, () => importedText(session));
  },
  commands: [
    clientCommand({
      name: 'list',
      description: "List the conversations of agents' own programs, most recently changed first",
      parameters: [
        '--cwd <directory>  Show only conversations of this directory',
        { line: '--limit <n>  Maximum number of conversations (default: 30)', parse: count },
        ...agentOptions,
      ],
      async run(
        { client, show, note, io, layout },
        { cwd, limit = 30, ...wanted }: AgentOptions & { cwd?: string; limit?: number },
      ) {
        const here = io.cwd();
        const query = { limit, ...(cwd === undefined ? {} : { cwd: path.resolve(here, cwd) }) };
        const found = await listAll(client, { ...wanted, here }, query);
        const shown = found.slice(0, limit);
        const print = listOf<Listed>(
          ['PROVIDER', 'ID', 'CHANGED', 'SIZE', 'IN USE BY', 'TITLE', 'DIRECTORY'],
          (one, at) => [
            agentOf(one),
            one.ref.slice(0, 13),
            one.changed_at === 0 ? '-' : ago(one.changed_at, at),
            one.bytes === null ? '-' : `${Math.ceil(one.bytes / 1024)}K`,
            userOf(one),
            plain(one.title ?? '-'),
            plain(one.cwd ?? '-'),
          ],
        );
        show(shown, () =>
          shown.length === 0 ? '' : print(shown, { now: io.clock.now(), layout }),
        );
        if (shown.length === 0)
          note('no conversations: begin one in the program of an agent, such as claude or codex');
      },
    }),
  ],
});

interface ImportOptions extends AgentOptions {
  title?: string;
  history?: number;
  fork?: boolean;
  cwd?: string;
  permissionMode?: string;
}

function history(argument: string): number {
  const wanted = argument === 'none' ? 0 : /^\d+$/.test(argument) ? Number(argument) : Number.NaN;
  if (wanted >= 0 && wanted <= MAX_PAST_TURNS) return wanted;
  throw usageError(
    `invalid --history "${argument}": expected none, or a number up to ${MAX_PAST_TURNS}`,
  );
}

function userOf({ in_use, session_id }: Conversation): string {
  if (session_id !== null) return `cadre ${shortId(session_id)}`;
  if (in_use === null) return '-';
  return plain([in_use.program, in_use.pid, in_use.status].filter((one) => one !== null).join(' '));
}

function importedText({ id, title, imported, forked_from: origin }: Session): string {
  const { past_turns: past = 0, omitted_turns: omitted = 0 } = imported ?? origin ?? {};
  const turns = counted(past, 'past turn');
  const more = omitted > 0 ? `, without ${counted(omitted, 'older turn')}` : '';
  return `Imported session ${labelOf(id, title)} (${turns}${more}): continue with cadre sessions send\n`;
}

/** Finds a conversation by its id, or by the beginning of the id. Throws `not_found` and `usage`. */
async function findConversation(client: Client, reference: string, wanted: AgentSelection) {
  const found = await listAll(client, wanted, { limit: MAX_LISTED });
  const exact = found.filter(({ ref }) => ref === reference);
  const matching =
    exact.length > 0 || reference.length < MIN_REF
      ? exact
      : found.filter(({ ref }) => ref.startsWith(reference));
  const [one, ...others] = matching;
  if (!one)
    throw notFoundError(
      `conversation "${reference}" not found: list conversations with cadre sessions import list`,
    );
  if (others.length > 0)
    throw usageError(
      `"${reference}" matches ${matching.length} conversations: pass more of the id`,
    );
  return one;
}

/** `here`: the directory of the command. */
type AgentSelection = AgentOptions & { here: string };
type ListQuery = { limit: number; cwd?: string };

/** Lists conversations of one agent or provider, or of all providers that list conversations. */
async function listAll(
  client: Client,
  wanted: AgentSelection,
  query: ListQuery,
): Promise<Listed[]> {
  const { provider = wanted.agent === undefined ? undefined : agentProvider } = wanted;
  if (provider !== undefined) return listOne(client, provider, wanted, query);
  const lists = await Promise.all(
    providerIds.map((one) => listOne(client, one, wanted, query).catch(nothingIf)),
  );
  return lists.flat().toSorted((a, b) => b.changed_at - a.changed_at);
}

async function listOne(
  client: Client,
  provider: ProviderId,
  { agent, here }: AgentSelection,
  query: ListQuery,
): Promise<Listed[]> {
  const list = (cwd = query.cwd) =>
    client.call(endpoints.listConversations, {
      params: { provider },
      query: { ...query, ...(agent !== undefined && { agent }), ...(cwd !== undefined && { cwd }) },
    });
  const found = await list();
  const isNamed = providerKinds[provider].hasNamedAgents;
  // Some agents list the conversations of one directory only.
  const all = found.length === 0 && isNamed && query.cwd === undefined ? await list(here) : found;
  return all.map((one) => ({ ...one, provider, agent: agent ?? null }));
}

/** No conversations of a provider that is not available or does not list any. Throws every other error. */
function nothingIf(error: unknown): [] {
  const isExpected =
    error instanceof AppError &&
    ['provider_unavailable', 'conflict', 'not_found', 'invalid'].includes(error.code);
  if (isExpected) return [];
  throw error;
}

export function handBackText({ cwd, ref, command }: HandedBack): string {
  if (command.length === 0)
    return `Continue the conversation ${oneLine(ref)} in the agent's own program, in ${plain(cwd)}: the documentation of the agent has the command\n`;
  return `cd ${shellWord(cwd)} && ${command.map(shellWord).join(' ')}\n`;
}
