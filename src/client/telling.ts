import type { RuntimeEventRecord, StreamGap } from '../api/events.ts';
import { plain } from '../lib/plain.ts';

/** The parts of payloads that a line of text is made from. */
interface Telling {
  text?: string;
  status?: string;
  tool?: { title: string };
  approval?: { title: string; status: string; decided_by: string | null; reason: string | null };
  usage?: { context_tokens: number | null; context_window: number | null };
  entries?: { content: string; status: string }[];
  turn?: { error: { message: string } | null; input?: { text?: string }[]; status: string };
  session?: { cwd: string; title: string | null; failure: { message: string } | null };
  process?: { status: string; command?: string; exit_code: number | null };
  team?: { name: string };
  message?: { input: { text?: string }[] | { text?: string } };
  delivery?: { error: { message: string } | null };
  worktree?: { worktree_name: string };
}

/** A summary of an event, as one line of plain text; empty where its kind says everything. */
export function telling({ kind, payload }: RuntimeEventRecord): string {
  return oneLine(tellingPart(kind, payload));
}

/** A text as one line, without control characters. */
export function oneLine(text: string): string {
  return plain(text).replaceAll(/\s+/g, ' ').trim();
}

function tellingPart(kind: string, payload: Telling): string {
  const { text, status = '', tool, approval, entries, usage, turn, session, process } = payload;
  if (tool) {
    const how = kind.endsWith(status) ? '' : `${status} `;
    return `${how}${tool.title}${text ? `: ${text}` : ''}`;
  }
  if (text !== undefined) return text;
  if (approval) return tellingOfApproval(approval);
  if (entries) return tellingOfPlan(entries);
  if (usage) return tellingOfUsage(usage);
  if (turn) return turn.error?.message ?? tellingOfInput(turn);
  if (session) return session.failure?.message ?? session.title ?? session.cwd;
  const { team, message, delivery, worktree } = payload;
  if (message) return tellingOfInput({ input: [message.input].flat() });
  if (delivery) return delivery.error?.message ?? '';
  if (worktree) return worktree.worktree_name;
  if (team) return team.name;
  if (!process) return '';
  return process.command ?? (process.exit_code === null ? '' : `exit code ${process.exit_code}`);
}

function tellingOfApproval({
  title,
  status,
  decided_by,
  reason,
}: NonNullable<Telling['approval']>): string {
  if (status === 'pending') return title;
  const by = decided_by === null ? '' : ` by ${decided_by}`;
  return `${status}${by}: ${title}${reason === null ? '' : ` (${reason})`}`;
}

/** How many entries of a plan are done, and the entry in progress. */
function tellingOfPlan(entries: NonNullable<Telling['entries']>): string {
  const done = entries.filter(({ status }) => status === 'completed').length;
  const now = entries.find(({ status }) => status === 'in_progress');
  return `${done}/${entries.length}${now ? `: ${now.content}` : ''}`;
}

/** The input of a turn or a message. */
function tellingOfInput({ input = [] }: { input?: { text?: string }[] }): string {
  return input.map(({ text }) => text ?? '[image]').join(' ');
}

/** How much of the context window is used. */
function tellingOfUsage({ context_tokens, context_window }: NonNullable<Telling['usage']>): string {
  if (context_tokens === null) return '';
  return `${context_tokens}${context_window === null ? '' : ` of ${context_window}`} tokens`;
}

/** Which events are missing, and why. */
export function describeGap({ requested, trimmed_seq, latest_seq }: StreamGap): string {
  return requested > latest_seq
    ? `the log ends at ${latest_seq}, before ${requested}: what was there is gone; going on with what is new`
    : `some events between ${requested} and ${trimmed_seq} are gone: retention took them`;
}
