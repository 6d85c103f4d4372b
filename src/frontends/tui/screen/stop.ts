import type { Process } from '../../../api/processes.ts';
import type { Session } from '../../../api/sessions.ts';
import { endpoints } from '../../../api/index.ts';
import type { Client } from '../../../client/client.ts';
import { nameOf, sessionTitleOf } from '../list/row-text.ts';
import type { ListItem } from '../list/list-items.ts';
import type { Overview } from '../overview.ts';

/** A question that single keys answer; any other key is a no. */
export interface Question {
  text: string;
  answers: readonly Answer[];
}

export interface Answer {
  keys: string;
  label: string;
  work: () => Promise<unknown>;
}

/**
 * Returns the question before an item is stopped, or a text if there is nothing to stop. A second x selects the stronger
 * action.
 */
export function stopping(
  item: ListItem,
  { sessions }: Overview,
  client: Client,
): Question | string {
  switch (item.kind) {
    case 'approval': {
      const whose = sessions.get(item.approval.session_id)?.session;
      return whose
        ? stoppingSession(whose, client)
        : 'the session of this approval is not in the list';
    }
    case 'session':
      return stoppingSession(item.now.session, client);
    case 'process':
      return stoppingProcess(item.process, client);
    case 'team': {
      const call = { params: { team_id: item.id }, body: {} };
      const work = () => client.call(endpoints.interruptTeam, call);
      return {
        text: `Interrupt all members of "${nameOf(item)}"?`,
        answers: [{ keys: 'yx', label: 'y yes', work }],
      };
    }
  }
}

function stoppingSession(session: Session, client: Client): Question | string {
  if (session.status === 'closed') return `session "${sessionTitleOf(session)}" is already closed`;
  const { id: session_id, active_turn_id: turn_id } = session;
  const answers: Answer[] = [];
  if (turn_id !== null) {
    const call = { params: { session_id, turn_id }, body: {} };
    const work = () => client.call(endpoints.interruptTurn, call);
    answers.push({ keys: 'y', label: 'y interrupt turn', work });
  }
  const close = () => client.call(endpoints.closeSession, { params: { session_id }, body: {} });
  answers.push({ keys: 'x', label: 'x close', work: close });
  const verb = turn_id === null ? 'Close' : 'Stop';
  return { text: `${verb} "${sessionTitleOf(session)}"?`, answers };
}

function stoppingProcess(process: Process, client: Client): Question | string {
  const name = nameOf({ kind: 'process', id: process.process_id, process });
  if (process.ended_at !== null) return `"${name}" has already exited`;
  const call = { params: { process_id: process.process_id }, body: {} };
  const work = () => client.call(endpoints.killProcess, call);
  return { text: `Kill "${name}"?`, answers: [{ keys: 'yx', label: 'y yes', work }] };
}
