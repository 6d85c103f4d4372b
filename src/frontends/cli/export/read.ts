import { endpoints } from '../../../api/index.ts';
import type { Session } from '../../../api/sessions.ts';
import type { TeamWithMembers } from '../../../api/teams.ts';
import { agentOf } from '../../../client/agent-of.ts';
import type { Client } from '../../../client/client.ts';
import { conversation } from '../../terminal/conversation.ts';
import { readConversation, type ReadConversation } from '../session/read-conversation.ts';
import type { Exported, ExportedTurn } from './html.ts';

/** Reads the whole conversation of a session. Throws `not_found`. */
export async function readSession(client: Client, session_id: string): Promise<ReadConversation> {
  const session = await client.call(endpoints.getSession, { params: { session_id } });
  return readConversation(client, session);
}

export function sessionExport(exported: ReadConversation): Exported {
  const { session } = exported;
  return {
    title: session.title ?? session.id,
    facts: [...factsOf(session), ['session', session.id]],
    turns: turnsOf(exported, null).map(({ turn }) => turn),
  };
}

/** The export of a team: the turns of all its members in the order in which they were sent, each with its speaker. */
export function teamExport(
  { team, members }: TeamWithMembers,
  sessions: readonly ReadConversation[],
): Exported {
  const roleOf = new Map(members.map(({ agent_id, title }) => [agent_id, title]));
  const nameOf = ({ id, title }: Session) => roleOf.get(id) ?? title ?? id;
  return {
    title: team.name,
    facts: [
      ...sessions.map(({ session }) => {
        const lead = session.id === team.lead_agent_id ? ' (lead)' : '';
        const facts = [agentOf(session), session.model, session.cwd].filter(Boolean);
        return [nameOf(session), `${facts.join(', ')}${lead}`] as const;
      }),
      ['team', team.id],
    ],
    turns: sessions
      .flatMap((one) => turnsOf(one, nameOf(one.session)))
      .toSorted((a, b) => a.at - b.at)
      .map(({ turn }) => turn),
  };
}

function factsOf(session: Session): [string, string][] {
  const { model, cwd, created_at } = session;
  return [
    ['agent', agentOf(session)],
    ...(model === null ? [] : ([['model', model]] satisfies [string, string][])),
    ['directory', cwd],
    ['started', new Date(created_at).toISOString()],
  ];
}

function turnsOf(
  { turns, approvals, notices, past }: ReadConversation,
  speaker: string | null,
): { at: number; turn: ExportedTurn }[] {
  // In one conversation, because a notice of no turn belongs to the turn before it.
  const blocks = conversation(turns, approvals, notices, past);
  const starts = blocks.flatMap((block, index) =>
    block.type === 'prompt' ? [{ index, at: block.at }] : [],
  );
  return starts.map(({ index, at }, i) => ({
    at,
    turn: { speaker, blocks: blocks.slice(index, starts[i + 1]?.index) },
  }));
}
