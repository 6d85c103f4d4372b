import type { Process } from '../../../api/processes.ts';
import type { Session } from '../../../api/sessions.ts';
import type { Acts } from '../acts.ts';
import { nameOf, sessionTitleOf } from '../list/row-text.ts';
import type { ListItem } from '../list/list-items.ts';
import type { Overview } from '../overview.ts';
import type { Question } from './question.ts';

/** The question before a thing is stopped; a text where there is nothing to stop. A second x is the firmer answer. */
export function stopping(thing: ListItem, { sessions }: Overview, acts: Acts): Question | string {
  switch (thing.kind) {
    case 'approval': {
      const whose = sessions.get(thing.approval.session_id)?.session;
      return whose
        ? stoppingSession(whose, acts)
        : 'the session of this approval is not in the list';
    }
    case 'session':
      return stoppingSession(thing.now.session, acts);
    case 'process':
      return stoppingProcess(thing.process, acts);
    case 'team':
      return {
        text: `Interrupt all members of "${nameOf(thing)}"?`,
        answers: [{ keys: 'yx', label: 'y yes', work: () => acts.interruptTeam(thing.id) }],
      };
  }
}

function stoppingSession(session: Session, acts: Acts): Question | string {
  if (session.status === 'closed') return `session "${sessionTitleOf(session)}" is already closed`;
  const isAtWork = session.active_turn_id !== null;
  const interrupt = {
    keys: 'y',
    label: 'y interrupt turn',
    work: () => acts.interrupt(session),
  };
  const close = { keys: 'x', label: 'x close', work: () => acts.close(session) };
  return {
    text: `${isAtWork ? 'Stop' : 'Close'} "${sessionTitleOf(session)}"?`,
    answers: [...(isAtWork ? [interrupt] : []), close],
  };
}

function stoppingProcess(process: Process, acts: Acts): Question | string {
  const name = nameOf({ kind: 'process', id: process.process_id, process });
  if (process.ended_at !== null) return `"${name}" has already exited`;
  return {
    text: `Kill "${name}"?`,
    answers: [{ keys: 'yx', label: 'y yes', work: () => acts.kill(process) }],
  };
}
