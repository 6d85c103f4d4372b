import path from 'node:path';
import type { Process } from '../../../api/processes.ts';
import type { Session } from '../../../api/sessions.ts';
import { agentOf } from '../../../client/agent-of.ts';
import { oneLine } from '../../../client/event-summary.ts';
import { lastTurnText } from '../../../client/last-turn.ts';
import { ago, durationText } from '../../terminal/time.ts';
import type { RaceEntry } from '../overview.ts';
import type { Tone } from '../styled-text.tsx';
import { type ListItem, type ItemStatus, sinceOf, itemStatusOf } from './list-items.ts';

/** The texts of a row, each one line of plain text; empty if an item has no such text. */
export interface RowText {
  symbol: string;
  tone: Tone;
  title: string;
  isBold: boolean;
  isPinned: boolean;
  isMuted: boolean;
  /** The server, where there are several; else empty. */
  node: string;
  /** Whether that server does not answer. */
  isAway: boolean;
  /** Repository and branch, or the directory. */
  location: string;
  agent: string;
  age: string;
  /** Its last message, or its present work. */
  words: string;
}

/** The symbol of each item status, one column wide, and its colour. */
export const symbols: Record<ItemStatus, readonly [symbol: string, tone: Tone]> = {
  waiting: ['◆', 'asks'],
  failed: ['✗', 'bad'],
  unseen: ['●', 'name'],
  running: ['◐', 'good'],
  idle: ['○', 'faint'],
  snoozed: ['z', 'faint'],
  done: ['·', 'faint'],
};

/** An agent that has shown nothing of a turn for this time is silent. */
const SILENT_MS = 5000;

/** Returns the texts of an item's row at a time in Unix milliseconds. */
export function rowTextOf(item: ListItem, now: number): RowText {
  const itemStatus = itemStatusOf(item, now);
  const [symbol, tone] = symbols[itemStatus];
  const { name: node = '', isAway = false } = item.node ?? {};
  return {
    symbol,
    tone: isAway ? 'faint' : tone,
    node: isAway ? `${node}?` : node,
    isAway,
    age: ageOf(now - sinceOf(item)),
    isBold: itemStatus === 'unseen' || itemStatus === 'waiting',
    isPinned: item.kind === 'session' && item.now.session.pinned,
    isMuted: isMuted(item),
    ...wordsOf(item, now),
  };
}

/** Whether an item rings no bell. An approval is muted if its session is. */
export function isMuted(item: ListItem): boolean {
  if (item.kind === 'approval') return item.session?.muted ?? false;
  return item.kind === 'session' && item.now.session.muted;
}

function wordsOf(
  item: ListItem,
  now: number,
): Pick<RowText, 'title' | 'location' | 'agent' | 'words'> {
  switch (item.kind) {
    case 'approval': {
      const { title, kind } = item.approval;
      const whose = item.session;
      return {
        title: oneLine(title),
        location: whose ? sessionTitleOf(whose) : item.approval.session_id.slice(-8),
        agent: kind.replace('_', ' '),
        words: '',
      };
    }
    case 'session': {
      const { session, since } = item.now;
      const isSilent = session.status === 'running' && since !== null && now - since >= SILENT_MS;
      const doing = item.now.doing ?? (isSilent ? 'waiting: no answer yet' : null);
      const last =
        session.failure?.message ?? doing ?? lastTurnText(session) ?? session.last_words ?? '';
      const worktree = item.worktree;
      return {
        title: sessionTitleOf(session),
        location: worktree
          ? `${path.basename(worktree.repo_root)}/${oneLine(worktree.branch)}`
          : shortPath(session.cwd),
        agent: agentOf(session),
        words: [
          session.muted ? 'muted' : '',
          limitText(session, now),
          handoffText(session),
          item.race ? raceText(item.race) : '',
          item.queued === undefined ? '' : `${item.queued} queued`,
          oneLine(last),
        ]
          .filter(Boolean)
          .join(' · '),
      };
    }
    case 'process': {
      const { process } = item;
      const { command, cwd } = process;
      return {
        title: oneLine(command),
        location: shortPath(cwd),
        agent: '',
        words: endOf(process),
      };
    }
    case 'team':
      return { title: oneLine(item.team.name), location: '', agent: '', words: '' };
  }
}

/** The title of a session; its id where it has none. */
export function sessionTitleOf({ id, title }: { id: string; title: string | null }): string {
  const text = oneLine(title ?? '');
  return text === '' ? id.slice(-8) : text;
}

/** The name of an item in questions and notices. */
export function nameOf(item: ListItem): string {
  return wordsOf(item, 0).title;
}

/** The time that a session waits for a usage limit; empty if it does not. The text changes at most once a minute. */
export function limitText({ usage_limit: limit }: Session, now: number): string {
  if (!limit) return '';
  const { resumes_at: at, waits_because: why, hands_over_to: next } = limit;
  if (why === 'handoff') return `usage limit: handing over to ${next}`;
  if (why === 'consent') return `usage limit: handoff to ${next} not allowed yet`;
  return at === null
    ? 'usage limit: resume manually'
    : `usage limit: resumes in ${durationText(Math.max(60_000, at - now))}`;
}

/** Where the history of a session comes from, and which session continues it, by the ends of ids; else empty. */
function handoffText(session: Session): string {
  const { continues, continued_by: next, forked_from: origin, imported } = session;
  return [
    imported
      ? `imported${imported.program === null ? '' : ` from ${oneLine(imported.program)}`}`
      : '',
    origin === undefined
      ? ''
      : `forked from ${(origin.session_id ?? origin.conversation ?? '').slice(-8)}`,
    continues === undefined ? '' : `continues ${continues.slice(-8)}`,
    next === undefined ? '' : `continued by ${next.slice(-8)}`,
  ]
    .filter(Boolean)
    .join(', ');
}

/** The race of a session, and whether the session was kept once one was. */
function raceText({ race_name, contender, kept }: RaceEntry): string {
  const result = kept === null ? '' : kept === contender ? ', kept' : ', not kept';
  return `race ${oneLine(race_name)}${result}`;
}

/** The race of a session with its id and the name of the session in the race, for the title of the pane. */
export function raceDetails({ race_id, race_name, contender, kept }: RaceEntry): string {
  const result =
    kept === null
      ? 'none kept yet'
      : kept === contender
        ? 'kept'
        : `not kept (kept: ${oneLine(kept)})`;
  return `race ${oneLine(race_name)} (${race_id.slice(-8)}): ${oneLine(contender)}, ${result}`;
}

/** How a process ended; empty while it runs. */
function endOf({ status, exit_code, signal, failure }: Process): string {
  if (status === 'running') return '';
  if (status === 'queued') return 'queued';
  const how = exit_code === null ? (signal ?? failure?.message ?? '') : `exit ${exit_code}`;
  return `${status.replace('_', ' ')}${how === '' ? '' : `, ${oneLine(how)}`}`;
}

/** The last two names of a path, which tell apart what one works on. */
function shortPath(directory: string): string {
  const names = oneLine(directory).split('/').filter(Boolean);
  return names.length > 2 ? names.slice(-2).join('/') : oneLine(directory);
}

/** An age that changes once a minute at most. */
function ageOf(ms: number): string {
  return ms < 60_000 ? 'now' : ago(ms);
}

/** Whether the title, id, directory or last message of an item contains a text. */
export function containsText(item: ListItem, text: string): boolean {
  if (text === '') return true;
  const wanted = text.toLowerCase();
  const { title, location, agent, words } = wordsOf(item, 0);
  const node = item.node?.name ?? '';
  const cwd =
    item.kind === 'session'
      ? item.now.session.cwd
      : item.kind === 'process'
        ? item.process.cwd
        : '';
  return [title, location, agent, words, node, item.id, cwd].some((part) =>
    part.toLowerCase().includes(wanted),
  );
}
