import {
  type EventOf,
  type KindIn,
  type RuntimeEventRecord,
  isIn,
  isNotice,
  noticeKinds,
} from '../../../api/events.ts';
import { addDelta, type KnownBytes, type TextPiece } from '../../../client/streamed-text.ts';
import {
  type Block,
  blockOfApproval,
  blockOfNotice,
  promptOf,
  turnEndText,
} from '../../terminal/conversation.ts';

/** The part of a conversation that was read: its newest turns, and what has happened since. */
export interface ConversationState {
  blocks: readonly Block[];
  /** The number of known bytes of each streaming text. */
  sizes: ReadonlyMap<string, number>;
  /** The newest event that was received. */
  seq: number;
}

export const emptyConversation: ConversationState = { blocks: [], sizes: new Map(), seq: 0 };

export const conversationKinds = [
  'turn.*',
  'message.*',
  'reasoning.*',
  'tool.*',
  'approval.*',
  'plan.updated',
  ...noticeKinds,
] as const;

/** The conversation after some events. Events that it has already change nothing. */
export function withEvents(
  state: ConversationState,
  events: readonly RuntimeEventRecord[],
): ConversationState {
  // One copy for all events of a batch, which may be hundreds of deltas of one message.
  const draft: Draft = { blocks: [...state.blocks], sizes: new Map(state.sizes) };
  for (const event of events) take(draft, event);
  return { ...draft, seq: Math.max(state.seq, events.at(-1)?.seq ?? 0) };
}

interface Draft {
  blocks: Block[];
  sizes: KnownBytes;
}

function take(draft: Draft, event: RuntimeEventRecord): void {
  if (isIn('turn', event)) takeTurn(draft, event);
  else if (isIn('message', event) || isIn('reasoning', event)) takeSpeech(draft, event);
  else if (isIn('tool', event)) takeTool(draft, event);
  else if (isIn('approval', event) && event.payload.approval)
    put(draft, blockOfApproval(event.payload.approval));
  else if (isIn('plan', event) && event.payload.entries)
    put(draft, {
      type: 'plan',
      key: `${event.turn_id} plan`,
      entries: event.payload.entries,
    });
  else if (isNotice(event)) put(draft, blockOfNotice(event));
}

function takeTurn(draft: Draft, event: EventOf<KindIn<'turn'>>): void {
  const { turn } = event.payload;
  if (!turn) return;
  if (event.kind === 'turn.accepted') {
    const { input = [] } = event.payload.turn ?? {};
    put(draft, promptOf({ ...turn, input }));
  }
  for (const block of turnEndText(turn)) put(draft, block);
}

function takeSpeech(
  draft: Draft,
  { kind, payload }: EventOf<KindIn<'message' | 'reasoning'>>,
): void {
  const { item_id: key, text } = payload;
  const type = kind.startsWith('message') ? 'message' : 'thought';
  if ('status' in payload) {
    draft.sizes.delete(key);
    put(draft, { type, key, status: payload.status, text });
    return;
  }
  const known = find(draft, key);
  const before = known && 'text' in known ? known.text : '';
  const joined = isOpen(known) ? grown(draft, before, payload) : null;
  if (joined !== null) put(draft, { type, key, status: 'open', text: joined });
}

function takeTool(draft: Draft, { kind, payload }: EventOf<KindIn<'tool'>>): void {
  const { item_id: key, tool, status } = payload;
  const known = find(draft, key);
  const isEnd = kind === 'tool.completed';
  if (known && !isOpen(known) && !isEnd) return;
  const before = known?.type === 'tool' ? known : null;
  const text = 'text' in payload ? (payload.text ?? '') : '';
  const output = isEnd ? text : grown(draft, before?.output ?? '', payload);
  if (isEnd) draft.sizes.delete(key);
  put(draft, {
    type: 'tool',
    key,
    status: isEnd && status !== 'pending' && status !== 'running' ? status : 'open',
    title: tool?.title ?? before?.title ?? '',
    locations: tool?.locations ?? before?.locations,
    input: tool?.input ?? before?.input,
    output: output ?? before?.output ?? '',
  });
}

/** A text with one more piece; null for a piece that it has already. */
function grown({ sizes }: Draft, before: string, piece: TextPiece): string | null {
  const added = addDelta(sizes, piece);
  return added === null || piece.offset === 0 ? added : before + added;
}

function isOpen(block: Block | undefined): boolean {
  return !block || !('status' in block) || block.status === 'open';
}

function find({ blocks }: Draft, key: string): Block | undefined {
  return blocks[indexOf(blocks, key)];
}

/** Replaces the block with the same key, or adds it at the end. */
function put({ blocks }: Draft, block: Block): void {
  const at = indexOf(blocks, block.key);
  if (at < 0) blocks.push(block);
  else blocks[at] = block;
}

/** Searches from the end, where nearly all changes are. */
function indexOf(blocks: readonly Block[], key: string): number {
  return blocks.findLastIndex((block) => block.key === key);
}
