import type { SessionUpdate as Update, ToolCallContent } from '@agentclientprotocol/sdk/unstable';
import { type DescribedEvent, isDescribed, type Payload } from '../../api/events.ts';
import { endpoints } from '../../api/index.ts';
import type { Item, Turn, Usage } from '../../api/sessions.ts';
import { recordsOf } from '../../client/records-of.ts';
import {
  addDelta,
  type KnownBytes,
  remainderOf,
  type TextPiece,
} from '../../client/streamed-text.ts';
import { lastBytes } from '../../core/lib/cut.ts';
import type { ServerLink } from './server-link.ts';
import { type DisplayedTool, toolFields } from './tool-call.ts';
import type { StoredInputItem } from '../../api/input.ts';

/** Translates the events of a session into updates for the editor. It remembers the sent part of open items. */
export class EventReader {
  readonly #sent: KnownBytes = new Map();
  /** The end of the output of each open tool call, and its length in bytes. */
  readonly #outputs = new Map<string, { tail: string; bytes: number }>();
  /** The changes of files that a person was asked for, of each open tool call. */
  readonly #changes = new Map<string, readonly ToolCallContent[]>();
  /** The tool calls that are open, by the ids that their agent gave them. */
  readonly calls = new Map<string, { item_id: string; tool: DisplayedTool }>();

  read({ kind, payload }: DescribedEvent): Update[] {
    switch (kind) {
      case 'message.delta':
      case 'reasoning.delta':
        return chunk(
          kind === 'message.delta',
          payload.item_id,
          addDelta(this.#sent, payload) ?? '',
        );
      case 'message.completed':
      case 'reasoning.completed':
        return chunk(
          kind === 'message.completed',
          payload.item_id,
          remainderOf(this.#sent, payload),
        );
      case 'tool.started':
      case 'tool.updated':
        return this.#tool(payload, payload.status);
      case 'tool.completed':
        return this.#toolEnded(payload);
      case 'plan.updated':
        return payload.entries ? [planOf(payload.entries)] : [];
      case 'usage.updated':
        return usageOf(payload.usage);
      default:
        return [];
    }
  }

  /** Keeps the changes that a person is asked for with their tool call. */
  noteChanges(item_id: string, content: readonly ToolCallContent[]): void {
    const changes = content.filter(({ type }) => type === 'diff');
    if (changes.length > 0) this.#changes.set(item_id, changes);
  }

  #tool({ item_id, offset, text = '', tool }: ToolPiece, status: string): Update[] {
    const before = this.#outputs.get(item_id);
    const goesOn = before && offset === before.bytes;
    const tail = lastBytes(goesOn ? before.tail + text : text, LIVE_BYTES);
    this.#outputs.set(item_id, { tail, bytes: offset + Buffer.byteLength(text) });
    this.calls.set(tool.call_ref, { item_id, tool });
    const content = { output: tail, changes: this.#changes.get(item_id) };
    return [toolUpdate(before !== undefined, toolFields(item_id, tool, status, content))];
  }

  #toolEnded({ item_id, status, text = '', tool }: ToolPiece & { status: string }): Update[] {
    const isKnown = this.#outputs.delete(item_id);
    if (this.calls.get(tool.call_ref)?.item_id === item_id) this.calls.delete(tool.call_ref);
    const content = { output: text, changes: this.#changes.get(item_id) };
    this.#changes.delete(item_id);
    return [toolUpdate(isKnown, toolFields(item_id, tool, status, content))];
  }
}

/** The maximum part of the output of a running tool that is sent again when it grows. */
const LIVE_BYTES = 16 * 1024;

type ToolPiece = TextPiece & { tool: DisplayedTool };

function toolUpdate(isKnown: boolean, fields: ReturnType<typeof toolFields>): Update {
  return isKnown
    ? { sessionUpdate: 'tool_call_update', ...fields }
    : { sessionUpdate: 'tool_call', ...fields };
}

function itemUpdates({ item_id, kind, status, text, tool }: Item): Update[] {
  if (kind !== 'tool') return chunk(kind === 'message', item_id, text);
  if (!tool) return [];
  return [toolUpdate(false, toolFields(item_id, tool, status, { output: text }))];
}

/** The input of a turn, from any sender. */
export function inputUpdates(turn_id: string, input: readonly StoredInputItem[]): Update[] {
  return input.map((item) => ({
    sessionUpdate: 'user_message_chunk',
    messageId: turn_id,
    content: {
      type: 'text',
      text: item.type === 'text' ? item.text : `[image: ${item.media_type}]`,
    },
  }));
}

/** Something that cadre says itself in the conversation. */
export function remark(text: string): Update {
  return { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: `\n\n${text}\n` } };
}

function chunk(isMessage: boolean, messageId: string, text: string): Update[] {
  if (text === '') return [];
  const sessionUpdate = isMessage ? 'agent_message_chunk' : 'agent_thought_chunk';
  return [{ sessionUpdate, messageId, content: { type: 'text', text } }];
}

function planOf(entries: Payload<'plan.updated'>['entries']): Update {
  return {
    sessionUpdate: 'plan',
    entries: entries.map(({ content, status, priority }) => ({
      content,
      status: oneOf(['pending', 'in_progress', 'completed'], status, 'pending'),
      priority: oneOf(['high', 'medium', 'low'], priority, 'medium'),
    })),
  };
}

function oneOf<T extends string>(known: readonly T[], value: string | null, other: T): T {
  return known.find((one) => one === value) ?? other;
}

/** The size of the context; nothing where the agent does not tell it. */
function usageOf({ context_tokens: used, context_window: size, cost_usd }: Usage): Update[] {
  if (used === null || size === null) return [];
  const cost = cost_usd === null ? {} : { cost: { amount: cost_usd, currency: 'USD' } };
  return [{ sessionUpdate: 'usage_update', used, size, ...cost }];
}

/** How many events are read at once. */
const PAGE = 500;

/** The turns of a session that have ended, oldest first, but for one that still runs. */
export async function endedTurns(
  link: ServerLink,
  session_id: string,
  running: string | null,
): Promise<Turn[]> {
  const params = { session_id };
  const newest = recordsOf((query) => link.ask(endpoints.listTurns, { params, query }));
  return (await Array.fromAsync(newest))
    .toReversed()
    .filter(({ turn_id, ended_at }) => turn_id !== running && ended_at !== null);
}

/** Everything that was said and done in turns, in order. */
export async function* historyOf(
  link: ServerLink,
  session_id: string,
  turns: readonly Turn[],
): AsyncGenerator<Update, void> {
  const plans = await lastPlans(link, session_id);
  for (const turn of turns) {
    const { turn_id, input, trimmed } = turn;
    if (trimmed) {
      yield remark('[Retention has removed the content of this turn.]');
      continue;
    }
    yield* inputUpdates(turn_id, input);
    const params = { session_id, turn_id };
    for (const item of await link.call(endpoints.listItems, { params })) yield* itemUpdates(item);
    const plan = plans.get(turn_id);
    if (plan) yield plan;
    yield* remarksOf(turn);
  }
  const usage = turns.at(-1)?.usage;
  if (usage) yield* usageOf(usage);
}

/** The remarks on a turn that did not complete, for an editor that does not wait for its answer. */
export function remarksOf({ status, error }: Pick<Turn, 'status' | 'error'>): Update[] {
  if (status === 'interrupted') return [remark('[The turn was interrupted.]')];
  if (status !== 'failed') return [];
  return [remark(`[The turn failed: ${error?.message ?? 'unknown reason'}]`)];
}

/** The last plan of each turn. Retention may have removed the plans of old turns. */
async function lastPlans(
  link: ServerLink,
  session_id: string,
): Promise<ReadonlyMap<string, Update>> {
  const plans = new Map<string, Update>();
  const params = { session_id };
  for (let after_seq = 0; ;) {
    const query = { kind: ['plan.updated'], limit: PAGE, after_seq };
    const { value, headers } = await link.ask(endpoints.replaySessionEvents, { params, query });
    for (const event of value) {
      if (!isDescribed(event) || event.kind !== 'plan.updated' || event.turn_id === null) continue;
      if (event.payload.entries) plans.set(event.turn_id, planOf(event.payload.entries));
    }
    const next = headers['x-next-after-seq'];
    if (next === undefined) return plans;
    after_seq = Number(next);
  }
}
