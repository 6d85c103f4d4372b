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
  thing: ListItem;
  /** The change of the row, or the reason why there is none. */
  effect: string;
  answers: readonly Answer[];
}

/** Declines the marked requests, and the requests of the marked sessions. */
export function declining(
  things: readonly ListItem[],
  { approvals }: Overview,
  actions: UserActions,
): Batch {
  const rows = things.flatMap((thing): BatchRow[] => {
    const own =
      thing.kind === 'approval'
        ? [thing.approval]
        : [...approvals.values()].filter((one) => one.session_id === sessionIdOf(thing));
    if (own.length === 0) return [{ thing, effect: 'skip: no pending approval', answers: [] }];
    return own
      .filter(({ id }) => thing.id === id || !things.some((other) => other.id === id))
      .map((approval) => {
        const work = () => actions.decide(approval, { decision: 'decline', reason: null });
        return {
          thing: { kind: 'approval', id: approval.id, approval, session: null },
          effect: 'decline',
          answers: [{ keys: 'y', label: 'y decline', work }],
        };
      });
  });
  return batch('Decline', rows, { y: { label: 'decline', done: 'Declined' } });
}

/** Interrupts turns and kills processes, or closes the sessions, too. */
export function stoppingAll(
  things: readonly ListItem[],
  overview: Overview,
  client: Client,
): Batch {
  // A session that is marked, and its request, too, is one thing to stop.
  const targets = new Map(things.map((thing) => [targetOf(thing, overview).id, thing]));
  const rows = [...targets.values()].map((marked): BatchRow => {
    const thing = targetOf(marked, overview);
    const question = stopping(thing, overview, client);
    if (typeof question === 'string') return { thing, effect: `skip: ${question}`, answers: [] };
    return { thing, effect: effectOf(thing, question.answers), answers: question.answers };
  });
  return batch('Stop', rows, {
    y: { label: 'interrupt or kill', done: 'Stopped' },
    x: { label: 'close or kill', done: 'Closed or stopped' },
  });
}

/** Pins all sessions; unpins them where all are pinned. */
export function pinning(things: readonly ListItem[], actions: UserActions): Batch {
  const sessions = things.filter((thing) => thing.kind === 'session');
  const pinned = sessions.some((thing) => !thing.now.session.pinned);
  const verb = pinned ? 'pin' : 'unpin';
  const rows = things.map((thing): BatchRow => {
    if (thing.kind !== 'session') return { thing, effect: 'skip: not a session', answers: [] };
    const work = () => actions.update(thing.id, { pinned });
    return { thing, effect: verb, answers: [{ keys: 'y', label: `y ${verb}`, work }] };
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
  const failures: { thing: ListItem; why: string }[] = [];
  let count = 0;
  for (const { thing, answers } of rows) {
    const answer = answers.find(({ keys }) => keys.includes(key));
    if (!answer) continue;
    try {
      await answer.work();
      count++;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      failures.push({ thing, why: error.message });
    }
  }
  const total = count + failures.length;
  const [first] = failures;
  const done = `${verbs[key]?.done ?? ''} ${first ? `${count} of ${total}` : total}`;
  return {
    text: first ? `${done}: "${nameOf(first.thing)}": ${first.why}` : done,
    failed: failures.map(({ thing }) => thing.id),
  };
}

function batch(verb: string, rows: readonly BatchRow[], verbs: Batch['verbs']): Batch {
  return { title: `${verb} ${counted(rows.length, 'row')}?`, rows, verbs };
}

/** The session of a request; any other row is stopped itself. */
function targetOf(thing: ListItem, { sessions }: Overview): ListItem {
  const now = thing.kind === 'approval' ? sessions.get(thing.approval.session_id) : undefined;
  return now ? { kind: 'session', id: now.session.id, now, worktree: null } : thing;
}

function effectOf(thing: ListItem, answers: readonly Answer[]): string {
  if (thing.kind === 'process') return 'kill';
  if (thing.kind === 'team') return 'interrupt all members';
  return answers.map(({ label }) => label).join('  ');
}
