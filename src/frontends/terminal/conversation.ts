import type { Approval } from '../../api/approvals.ts';
import type { PastTurn } from '../../api/conversations.ts';
import type { NoticeEvent } from '../../api/events.ts';
import type { ToolCall } from '../../api/tool-call.ts';
import type { Item, Turn } from '../../api/sessions.ts';
import { deciderText } from '../../core/lib/decider-text.ts';
import { inputText } from '../../core/lib/input-text.ts';
import { oneLine, plain } from '../../core/lib/plain.ts';

/** One thing in a conversation, in the order in which it happened. `key` is the id of what it shows. */
export type Block =
  | { type: 'prompt'; key: string; at: number; source: Turn['source']; text: string }
  | { type: 'message' | 'thought'; key: string; status: Item['status']; text: string }
  | {
      type: 'tool';
      key: string;
      status: Item['status'];
      title: string;
      locations?: ToolCall['locations'];
      input: unknown;
      output: string;
    }
  | { type: 'approval'; key: string; approval: ConversationApproval }
  | { type: 'plan'; key: string; entries: readonly { content: string; status: string }[] }
  | { type: 'notice'; key: string; code: string; message: string }
  | { type: 'end'; key: string; status: Turn['status']; message: string | null };

export type ConversationApproval = Pick<
  Approval,
  'id' | 'kind' | 'title' | 'status' | 'decided_by' | 'reason'
>;

export interface TurnWithItems {
  turn: Turn;
  items: readonly Item[];
}

/** The events of a conversation that belong to no item. */
export type Notice = NoticeEvent;

/**
 * The conversation of some turns, oldest first. `approvals` and `notices` of these turns may have any order. `past`: the turns
 * that ran in the agent's own program or before a fork, oldest first.
 */
export function conversation(
  turns: readonly TurnWithItems[],
  approvals: readonly Approval[] = [],
  notices: readonly Notice[] = [],
  past: readonly PastTurn[] = [],
): Block[] {
  const before = (from: number, end: number) =>
    pastBlocks(past.filter((one) => timeOf(one) >= from && timeOf(one) < end));
  const last = turns.at(-1)?.turn.accepted_at ?? 0;
  const shown = turns.flatMap(({ turn, items }, at) => {
    const earlier = before(turns[at - 1]?.turn.accepted_at ?? 0, turn.accepted_at);
    const isOfTurn = ({ turn_id }: { turn_id: string | null }) => turn_id === turn.turn_id;
    const next = turns[at + 1]?.turn.accepted_at ?? Number.POSITIVE_INFINITY;
    // One of no turn stands where it came.
    const isShownHere = (notice: Notice) =>
      isOfTurn(notice) ||
      (notice.turn_id === null &&
        notice.created_at >= turn.accepted_at &&
        notice.created_at < next);
    const done = [
      ...items.map((item) => ({ at: item.created_at, block: blockOfItem(item) })),
      ...approvals
        .filter(isOfTurn)
        .map((approval) => ({ at: approval.created_at, block: blockOfApproval(approval) })),
      ...notices
        .filter(isShownHere)
        .map((notice) => ({ at: notice.created_at, block: blockOfNotice(notice) })),
    ].toSorted((a, b) => a.at - b.at);
    return [...earlier, promptOf(turn), ...done.map(({ block }) => block), ...turnEndText(turn)];
  });
  return [...shown, ...before(last, Number.POSITIVE_INFINITY)];
}

function timeOf({ occurred_at, created_at }: PastTurn): number {
  return occurred_at ?? created_at;
}

/** Past turns, above a line that says where they ran. Turns of other sessions have the program `cadre`. */
function pastBlocks(past: readonly PastTurn[]): Block[] {
  const last = past.at(-1);
  if (!last) return [];
  const isForked = last.program === 'cadre';
  const where = isForked
    ? 'before the fork of this session'
    : `in ${last.program ?? 'another program'}, outside of cadre`;
  const line: Block = {
    type: 'notice',
    key: `${last.past_turn_id} end`,
    code: isForked ? 'forked' : 'imported',
    message: `the ${past.length === 1 ? 'turn' : `${past.length} turns`} above ran ${where}`,
  };
  return [...past.flatMap(pastTurnBlocks), line];
}

function pastTurnBlocks(turn: PastTurn): Block[] {
  const { past_turn_id: id, prompt: text } = turn;
  const items = turn.items.map(({ kind, status: how, title, text }, at): Block => {
    const key = `${id} ${at}`;
    const status = how === 'unknown' ? 'interrupted' : how;
    if (kind === 'tool')
      return { type: 'tool', key, status, title: title ?? '', input: null, output: text };
    return { type: kind === 'message' ? 'message' : 'thought', key, status, text };
  });
  return [{ type: 'prompt', key: id, at: timeOf(turn), source: 'user', text }, ...items];
}

export function promptOf(
  turn: Pick<Turn, 'turn_id' | 'accepted_at' | 'source' | 'input' | 'trimmed'>,
): Block {
  const { turn_id, accepted_at, source, input, trimmed } = turn;
  const isHandoff = source === 'handoff' && input.length > 1;
  const text = trimmed
    ? '(text deleted to save space)'
    : isHandoff
      ? `(record of the earlier conversation)\n\n${inputText(input.slice(-1))}`
      : inputText(input);
  return { type: 'prompt', key: turn_id, at: accepted_at, source, text };
}

export function blockOfItem({ item_id: key, kind, status, text, tool }: Item): Block {
  if (kind === 'message') return { type: 'message', key, status, text };
  if (kind === 'reasoning') return { type: 'thought', key, status, text };
  const { title = '', locations, input } = tool ?? {};
  return { type: 'tool', key, status, title, locations, input, output: text };
}

export function blockOfApproval(approval: ConversationApproval): Block {
  return { type: 'approval', key: approval.id, approval };
}

export function blockOfNotice({ id, payload }: Notice): Block {
  return { type: 'notice', key: id, code: noticeCode(payload), message: payload.message };
}

export function noticeCode(payload: Notice['payload']): string {
  return 'code' in payload ? payload.code : 'host_refused';
}

/** How a turn ended; nothing where it completed, or has not ended. */
export function turnEndText(turn: Pick<Turn, 'turn_id' | 'status' | 'error'>): Block[] {
  const { turn_id, status, error } = turn;
  if (status !== 'failed' && status !== 'interrupted') return [];
  return [{ type: 'end', key: `${turn_id} end`, status, message: error?.message ?? null }];
}

/** The first line of a prompt that says something. */
export function promptLine({ text }: Extract<Block, { type: 'prompt' }>): string {
  return oneLine(text.trim().split('\n', 1)[0] ?? '');
}

/**
 * The conversation as a Markdown document: every message whole, every tool call and approval as one line. `agent` is the
 * name of the agent in headings.
 */
export function conversationMarkdown(blocks: readonly Block[], agent = 'Agent'): string {
  const parts = blocks.map((block, at) => {
    const text = plain(markdownOf(block)).trim();
    const speaks = speaker(block, agent);
    const isNew = speaks !== speaker(blocks[at - 1], agent);
    return isNew ? `## ${speaks}\n\n${text}` : text;
  });
  return `${parts.filter(Boolean).join('\n\n')}\n`;
}

function speaker(block: Block | undefined, agent: string): string {
  if (!block) return '';
  return block.type === 'prompt' ? promptSpeaker(block) : agent;
}

export function promptSpeaker({ source }: Extract<Block, { type: 'prompt' }>): string {
  return source === 'user' ? 'You' : speakers[source];
}

/** Who gave a prompt that no person gave. */
export const speakers: Record<Exclude<Turn['source'], 'user'>, string> = {
  queue: 'From the queue',
  team_message: 'Team message',
  process_exit: 'Process exit',
  onboarding: 'Team introduction',
  usage_limit: 'After a usage limit',
  goal: 'Failed check',
  watch: 'Changed output',
  handoff: 'Handoff',
};

function markdownOf(block: Block): string {
  switch (block.type) {
    case 'prompt':
    case 'message':
      return block.text;
    case 'thought':
      return block.text.replaceAll(/^/gm, '> ');
    case 'tool':
      return `- ${toolText(block)} (${block.status})`;
    case 'approval':
      return `- ${approvalText(block.approval)}`;
    case 'plan':
      return block.entries
        .map((one) => `- [${one.status === 'completed' ? 'x' : ' '}] ${oneLine(one.content)}`)
        .join('\n');
    case 'notice':
      return `- ${noticeText(block)}`;
    case 'end':
      return `*${endText(block)}*`;
  }
}

export const toolMarks = { open: '…', completed: '✓', failed: '✗', interrupted: '✗' } as const;

/** The fields of the input of a tool call, each with its value as a text: JSON with `indent` for other values. */
export function inputFields(input: unknown, indent?: number): [name: string, text: string][] {
  if (input === null || input === undefined) return [];
  const fields: [string, unknown][] =
    typeof input === 'object' ? Object.entries(input) : [['input', input]];
  return fields.map(([name, value]) => [
    name,
    typeof value === 'string' ? value : (JSON.stringify(value, null, indent) ?? ''),
  ]);
}

/** A tool call in a line: its title, and the locations that it is about where the title does not name their files. */
export function toolText({ title, locations = [] }: Pick<ToolCall, 'title' | 'locations'>): string {
  const unnamed = locations.filter(({ path }) => !title.includes(path.split('/').at(-1) ?? path));
  return oneLine([title, locationsText(unnamed)].filter(Boolean).join(': '));
}

/** Locations as a text: `src/a.ts:12, src/b.ts`. */
export function locationsText(locations: ToolCall['locations'] = []): string {
  const texts = locations.map(({ path, line }) => (line === null ? path : `${path}:${line}`));
  return [...new Set(texts)].join(', ');
}

export function approvalText(approval: ConversationApproval): string {
  const { kind, title, status, decided_by, reason } = approval;
  const by = decided_by === null ? '' : ` by ${deciderText(decided_by)}`;
  const why = reason === null ? '' : ` (${oneLine(reason)})`;
  const state = status === 'pending' ? 'needs approval' : `${status}${by}${why}`;
  return `${kind}: ${oneLine(title)}: ${state}`;
}

export function noticeText({ code, message }: { code: string; message: string }): string {
  return `${oneLine(code)}: ${oneLine(message)}`;
}

export function endText({ status, message }: Extract<Block, { type: 'end' }>): string {
  const how = status === 'failed' ? 'Turn failed' : 'Turn interrupted';
  return message === null ? how : `${how}: ${oneLine(message)}`;
}
