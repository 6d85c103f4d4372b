import type { Approval } from '../api/approvals.ts';
import {
  type DescribedEvent,
  type EventOf,
  isDescribed,
  isIn,
  type KindIn,
  type Payload,
  type RuntimeEventRecord,
  type StreamGap,
} from '../api/events.ts';
import type { Usage } from '../api/sessions.ts';
import { deciderText } from '../core/lib/decider-text.ts';
import { spentText } from '../core/lib/amounts.ts';
import { oneLine } from '../core/lib/plain.ts';
import { counted } from '../core/lib/counted.ts';
import { inputText } from '../core/lib/input-text.ts';

export { oneLine };

/** A summary of an event, as one line of plain text; empty where its kind says everything, or is of a newer version. */
export function summarizeEvent(event: RuntimeEventRecord): string {
  return isDescribed(event) ? oneLine(summaryPart(event)) : '';
}

function summaryPart(event: DescribedEvent): string {
  const { kind, payload } = event;
  if ('tool' in payload) {
    const status = kind.endsWith(payload.status) ? '' : `${payload.status} `;
    const output = 'text' in payload && payload.text ? `: ${payload.text}` : '';
    return `${status}${payload.tool.title}${output}`;
  }
  if ('text' in payload) return payload.text ?? '';
  if ('approval' in payload) return summaryOfApproval(payload.approval);
  if ('entries' in payload && payload.entries) return summaryOfPlan(payload.entries);
  if ('usage' in payload) return summaryOfUsage(payload.usage);
  if ('session' in payload) {
    const { failure, title, cwd } = payload.session;
    return failure?.message ?? title ?? cwd;
  }
  if ('delivery' in payload) return payload.delivery.error?.message ?? '';
  if (isIn('queue', event)) return summaryOfQueue(event);
  if (isIn('hook', event)) return summaryOfHook(event);
  if (isIn('budget', event)) return summaryOfBudget(event);
  if (isIn('review', event)) return summaryOfReview(event);
  if (isIn('goal', event)) return summaryOfGoal(event);
  if (isIn('watch', event)) return summaryOfWatch(event);
  if (isIn('race', event)) return summaryOfRace(event);
  if ('past_turn' in payload) return payload.past_turn.prompt;
  if ('worktree' in payload) return payload.worktree.worktree_name;
  if ('team' in payload) return payload.team.name;
  return summaryOfInputOrEnd(event);
}

function summaryOfInputOrEnd(event: DescribedEvent): string {
  const { kind, payload } = event;
  if (kind === 'session.notice' || kind === 'sandbox.host_refused') return payload.message;
  if (kind === 'turn.accepted') return inputText(payload.turn.input ?? [], ' ');
  if ('turn' in payload) return payload.turn.error?.message ?? '';
  if (kind === 'team.message_created') return inputText([payload.message.input ?? []].flat(), ' ');
  if (kind === 'process.queued') return payload.process.command;
  if (!('process' in payload) || payload.process.exit_code === null) return '';
  return `exit code ${payload.process.exit_code}`;
}

function summaryOfApproval({
  title,
  status,
  decided_by,
  reason,
}: Pick<Approval, 'title' | 'status' | 'decided_by' | 'reason'>): string {
  if (status === 'pending') return title;
  const by = decided_by === null ? '' : ` by ${deciderText(decided_by)}`;
  return `${status}${by}: ${title}${reason === null ? '' : ` (${reason})`}`;
}

function summaryOfBudget({ payload: { budget } }: EventOf<KindIn<'budget'>>): string {
  const { session_id, team_id, time_zone } = budget;
  const whose = (session_id ?? team_id)?.slice(-8) ?? 'all sessions';
  return `${whose}${time_zone === null ? '' : ' today'}: ${spentText(budget)}`;
}

/** An entry of a queue by its name, else by what it says or its id, and what has become of it. */
function summaryOfQueue({ kind, payload }: EventOf<KindIn<'queue'>>): string {
  if (kind === 'queue.moved') return '';
  if (!('entry' in payload)) return payload.hold.message;
  const { id, name, hold } = payload.entry;
  const hasPrompt = kind === 'queue.added' || kind === 'queue.edited';
  const prompt = hasPrompt ? inputText(payload.entry.input ?? [], ' ') : '';
  const label = name ?? (prompt === '' ? id.slice(-8) : prompt);
  if (kind === 'queue.skipped')
    return `${label}: ${counted(payload.count, 'run')} (${payload.why})`;
  if (kind === 'queue.held' && hold) return `${label}: ${hold.message}`;
  if (kind === 'queue.removed') return `${label}: ${payload.why}`;
  return kind === 'queue.finished' ? `${label}: ${payload.status}` : label;
}

/** A hook, and what became of the events that are for it. */
function summaryOfHook({ kind, payload }: EventOf<KindIn<'hook'>>): string {
  if (kind === 'hook.failing') return `${payload.hook}: ${payload.error}`;
  if (kind === 'hook.recovered') return payload.hook;
  const end = kind === 'hook.gap' ? payload.trimmed_seq : payload.up_to_seq;
  const first = payload.after_seq + 1;
  return `${payload.hook}: ${first === end ? `event ${end}` : `events ${first} to ${end}`}`;
}

/** A comment on a diff by its location and text, or how many were sent or dropped. */
function summaryOfReview({ payload }: EventOf<KindIn<'review'>>): string {
  if (!('comment' in payload)) {
    const count = payload.comment_ids?.length;
    return count === undefined ? '' : counted(count, 'comment');
  }
  const { path, first_line, text } = payload.comment;
  return `${path}:${first_line}: ${text}`;
}

function summaryOfGoal({ payload: { goal } }: EventOf<KindIn<'goal'>>): string {
  const { status, reason, round, max_rounds, command } = goal;
  return `${reason ?? status} (${round} of ${max_rounds}): ${command}`;
}

function summaryOfWatch({ payload: { watch } }: EventOf<KindIn<'watch'>>): string {
  const { reason, changes, command } = watch;
  return `${reason ?? counted(changes, 'change')}: ${command}`;
}

function summaryOfRace({ payload }: EventOf<KindIn<'race'>>): string {
  if ('contender' in payload) {
    const { contender, status, failure } = payload.contender;
    return `${payload.race_name}: ${contender} ${failure?.message ?? status}`;
  }
  const { name, status, kept } = payload.race;
  return `${name}: ${kept === null ? status : `kept ${kept}`}`;
}

function summaryOfPlan(entries: Payload<'plan.updated'>['entries']): string {
  const done = entries.filter(({ status }) => status === 'completed').length;
  const now = entries.find(({ status }) => status === 'in_progress');
  return `${done}/${entries.length}${now ? `: ${now.content}` : ''}`;
}

function summaryOfUsage({ context_tokens, context_window }: Usage): string {
  if (context_tokens === null) return '';
  return `${context_tokens}${context_window === null ? '' : ` of ${context_window}`} tokens`;
}

/** Which events are missing, and why. */
export function describeGap({ requested, trimmed_seq, latest_seq }: StreamGap): string {
  return requested > latest_seq
    ? `event ${requested} is past the end of the log (${latest_seq}): the missing events are lost; continuing with new events`
    : `some events between ${requested} and ${trimmed_seq} were removed by retention`;
}
