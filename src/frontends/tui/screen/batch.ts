import { AppError } from '../../../api/errors.ts';
import type { Client } from '../../../client/client.ts';
import type { UserActions } from '../user-actions.ts';
import { nameOf } from '../list/row-text.ts';
import { type ListItem, sessionIdOf } from '../list/list-items.ts';
import type { Overview } from '../overview.ts';
import { type Answer, stopping } from './stop.ts';
import { counted } from '../../../core/lib/counted.ts';

/** A question about several rows, which lists them all before it is answered once. */
export interface Batch {
  title: string;
  rows: readonly BatchRow[];
  /** The keys that answer it, and what each does to the rows that have an answer for it. */
  verbs: Readonly<Record<string, Verb>>;
}

interface Verb {
  label: string;
  done: string;
}

interface BatchRow {
  item: ListItem;
  /** The change of the row, or the reason why there is none. */
  effect: string;
  answers: readonly Answer[];
}

/** Declines the marked requests, and the requests of the marked sessions. */
export function declining(
  items: readonly ListItem[],
  { approvals }: Overview,
  actions: UserActions,
): Batch {
  const rows = items.flatMap((item): BatchRow[] => {
    const own =
      item.kind === 'approval'
        ? [item.approval]
        : [...approvals.values()].filter((one) => one.session_id === sessionIdOf(item));
    if (own.length === 0) return [{ item, effect: 'skip: no pending approval', answers: [] }];
    return own
      .filter(({ id }) => item.id === id || !items.some((other) => other.id === id))
      .map((approval) => {
        const work = () => actions.decide(approval, { decision: 'decline', reason: null });
        return {
          item: { kind: 'approval', id: approval.id, approval, session: null },
          effect: 'decline',
          answers: [{ keys: 'y', label: 'y decline', work }],
        };
      });
  });
  return batch('Decline', rows, { y: { label: 'decline', done: 'Declined' } });
}

/** Interrupts turns and kills processes, or closes the sessions, too. */
export function stoppingAll(items: readonly ListItem[], overview: Overview, client: Client): Batch {
  // A session that is marked, and its request, too, is one item to stop.
  const targets = new Map(items.map((item) => [targetOf(item, overview).id, item]));
  const rows = [...targets.values()].map((marked): BatchRow => {
    const item = targetOf(marked, overview);
    const question = stopping(item, overview, client);
    if (typeof question === 'string') return { item, effect: `skip: ${question}`, answers: [] };
    return { item, effect: effectOf(item, question.answers), answers: question.answers };
  });
  return batch('Stop', rows, {
    y: { label: 'interrupt or kill', done: 'Stopped' },
    x: { label: 'close or kill', done: 'Closed or stopped' },
  });
}

/** Pins all sessions; unpins them where all are pinned. */
export function pinning(items: readonly ListItem[], actions: UserActions): Batch {
  const sessions = items.filter((item) => item.kind === 'session');
  const pinned = sessions.some((item) => !item.now.session.pinned);
  const verb = pinned ? 'pin' : 'unpin';
  const rows = items.map((item): BatchRow => {
    if (item.kind !== 'session') return { item, effect: 'skip: not a session', answers: [] };
    const work = () => actions.update(item.id, { pinned });
    return { item, effect: verb, answers: [{ keys: 'y', label: `y ${verb}`, work }] };
  });
  return batch(pinned ? 'Pin' : 'Unpin', rows, {
    y: { label: verb, done: pinned ? 'Pinned' : 'Unpinned' },
  });
}

export function countFor({ rows }: Batch, key: string): number {
  return rows.filter(({ answers }) => answers.some(({ keys }) => keys.includes(key))).length;
}

/** Carries out the answer of a key for each row that has it. Resolves with what was done, and the rows that failed. */
export async function carriedOut(
  { rows, verbs }: Batch,
  key: string,
): Promise<{ text: string; failed: string[] }> {
  const failures: { item: ListItem; why: string }[] = [];
  let count = 0;
  for (const { item, answers } of rows) {
    const answer = answers.find(({ keys }) => keys.includes(key));
    if (!answer) continue;
    try {
      await answer.work();
      count++;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      failures.push({ item, why: error.message });
    }
  }
  const total = count + failures.length;
  const [first] = failures;
  const done = `${verbs[key]?.done ?? ''} ${first ? `${count} of ${total}` : total}`;
  return {
    text: first ? `${done}: "${nameOf(first.item)}": ${first.why}` : done,
    failed: failures.map(({ item }) => item.id),
  };
}

function batch(verb: string, rows: readonly BatchRow[], verbs: Batch['verbs']): Batch {
  return { title: `${verb} ${counted(rows.length, 'row')}?`, rows, verbs };
}

/** The session of a request; any other row is stopped itself. */
function targetOf(item: ListItem, { sessions }: Overview): ListItem {
  const now = item.kind === 'approval' ? sessions.get(item.approval.session_id) : undefined;
  return now ? { kind: 'session', id: now.session.id, now, worktree: null } : item;
}

function effectOf(item: ListItem, answers: readonly Answer[]): string {
  if (item.kind === 'process') return 'kill';
  if (item.kind === 'team') return 'interrupt all members';
  return answers.map(({ label }) => label).join('  ');
}
