import { z } from 'zod';
import type { StoredTool } from '../attached-turn.ts';
import { MessageBudget, Omissions } from '../budget.ts';
import type { AgentUpdate, ToolChange } from '../provider.ts';
import { shorten } from '../../core/lib/shorten.ts';
import type { Params } from './connection.ts';
import { maybe, maybeText, partsText } from '../lenient.ts';
import { SizedMap } from '../sized-map.ts';
import { ownEntry } from '../../core/lib/own-entry.ts';

/** So much of a growing output is shown. All that codex keeps of the output comes when the item ends. */
const MAX_OUTPUT_CHARACTERS = 1024 * 1024;
/** So much of the growing outputs of open items is kept, and as much of what open items would do, in characters. */
const MAX_KEPT_CHARACTERS = 32 * 1024 * 1024;
/** As much of what open items would do is saved for another server, in characters of JSON. */
const MAX_SAVED_CHARACTERS = 24 * 1024;
/** The longest title of an item. Each event of the item has it. */
const MAX_TITLE = 4096;

const part = z.looseObject({
  itemId: z.string(),
  delta: z.string().catch(''),
  summaryIndex: z.number().catch(0),
  contentIndex: z.number().catch(0),
});
const texts = z.array(z.string()).catch([]);
const item = z.looseObject({
  id: z.string(),
  type: z.string(),
  status: maybeText,
  text: maybeText,
  summary: texts,
  content: z.unknown().optional(),
});
const ofItem = z.looseObject({ item });
const ofType = z.object({ type: z.string() });
type Item = z.output<typeof item>;

const change = z.looseObject({ path: z.string(), diff: maybeText });
export type Change = z.output<typeof change>;
const changes = z.array(change).catch([]);

interface ItemCommand {
  command: string;
  cwd: string | null;
}

const plan = z.looseObject({
  plan: z.array(
    z
      .looseObject({ step: z.string(), status: z.string().catch('pending') })
      .transform(({ step, status }) => {
        return { content: step, status: ownEntry(planStatus, status) ?? status, priority: null };
      }),
  ),
});
const planStatus: Record<string, string> = { inProgress: 'in_progress' };

/** Items that say nothing to people, or repeat other items. */
const SILENT = new Set(['userMessage', 'hookPrompt', 'functionCallOutput', 'subAgentActivity']);

/** The intended effect of an open item, for a request about it. */
type ItemRequest = { changes: readonly Change[] } | { command: ItemCommand };

/** Turns the items of a thread into updates. It forgets an item that has ended. */
export class Reader {
  /** Texts that came in pieces: the finished item repeats them. */
  readonly #streamed = new Set<string>();
  readonly #omissions = new Omissions();
  readonly #outputs = new SizedMap<string>(({ length }) => length);
  readonly #requests = new SizedMap<ItemRequest>(sizeOf);
  /** The open items whose messages an earlier server did not save whole, or that were forgotten because of the limit. */
  #forgotten = new Set<string>();
  /** Why items were declined. It changes between two messages of codex, so all saved memories of a turn share it. */
  #declined: [itemId: string, reason: string][] = [];
  #saved: SavedReader | null = null;

  /** A turn begins: the items of earlier turns are forgotten. */
  begin(): void {
    this.#saved = null;
    this.#streamed.clear();
    this.#omissions.beginTurn();
    this.#outputs.clear();
    this.#requests.clear();
    this.#forgotten.clear();
    this.#declined = [];
  }

  /** Returns the memory of the turn. Outputs are not part of it, because another server has them in its rows. */
  save(): SavedReader {
    return (this.#saved ??= this.#save());
  }

  #save(): SavedReader {
    let room = MAX_SAVED_CHARACTERS;
    const known = [...this.#requests].filter(([, request]) => (room -= sizeOf(request)) >= 0);
    const saved = new Set(known.map(([id]) => id));
    return {
      streamed: [...this.#streamed],
      outputs: [...this.#outputs].map(([id, { length }]) => [id, length]),
      wishes: known,
      forgotten: [...this.#forgotten, ...[...this.#requests.keys()].filter((id) => !saved.has(id))],
      hasOmitted: this.#omissions.save(),
      declined: this.#declined,
    };
  }

  /** Continues in the turn of an earlier server. `tools`: the tools of the turn as they are stored. */
  restore(
    { streamed, outputs, wishes, forgotten, hasOmitted, declined }: SavedReader,
    tools: readonly StoredTool[],
  ): void {
    for (const ref of streamed) this.#streamed.add(ref);
    for (const [id, request] of wishes) this.#requests.set(id, request);
    for (const [id, length] of outputs) {
      // The stored output may be newer. Then the message with its end is read again.
      const stored = tools.find(({ ref }) => ref === id)?.text ?? '';
      this.#outputs.set(id, stored.slice(0, length));
    }
    this.#forgotten = new Set(forgotten);
    this.#omissions.restore(hasOmitted);
    this.#declined = [...declined];
  }

  /** The changes of files that an item would make. */
  changesOf(itemId: string): readonly Change[] {
    const request = this.#requests.get(itemId);
    return request && 'changes' in request ? request.changes : [];
  }

  /** The command that an item would run; undefined where the item has named none. */
  commandOf(itemId: string): ItemCommand | undefined {
    const request = this.#requests.get(itemId);
    return request && 'command' in request ? request.command : undefined;
  }

  /** Whether an item may do more than is known, because its messages were not saved or not kept. */
  isForgotten(itemId: string): boolean {
    return this.#forgotten.has(itemId);
  }

  /** Keeps why an item was declined: codex takes no reason, so the reason becomes the output of the item. */
  decline(itemId: string, reason: string): void {
    this.#declined.push([itemId, reason]);
  }

  /** Returns the updates in a notification. Text beyond the limits is cut, and a notice reports that. */
  read(method: string, whole: Params): AgentUpdate[] | 'unknown' {
    const budget = new MessageBudget();
    const params = budget.bounded(whole) as Params;
    this.#saved = null;
    const updates = this.#read(method, params, whole);
    return updates === 'unknown' ? updates : [...this.#omissions.of(whole, budget), ...updates];
  }

  /** `whole`: the parameters without a limit, for a request that is about the item. */
  #read(method: string, params: Params, whole: Params): AgentUpdate[] | 'unknown' {
    switch (method) {
      case 'item/started':
        this.#noteItem(whole);
        return this.#readItem(params, false);
      case 'item/completed':
        return this.#end(params);
      case 'item/agentMessage/delta':
      case 'item/plan/delta':
        return this.#say('message', params, () => '');
      case 'item/reasoning/summaryTextDelta':
        return this.#say('reasoning', params, ({ summaryIndex }) => `/s${summaryIndex}`);
      case 'item/reasoning/textDelta':
        return this.#say('reasoning', params, ({ contentIndex }) => `/c${contentIndex}`);
      case 'item/commandExecution/outputDelta':
        return this.#print(params);
      case 'item/fileChange/patchUpdated':
        return this.#readChanges(params, whole);
      case 'turn/plan/updated':
        return readPlan(params);
      default:
        return [];
    }
  }

  #say(
    type: 'message' | 'reasoning',
    params: Params,
    suffixOf: (data: z.output<typeof part>) => string,
  ): AgentUpdate[] | 'unknown' {
    const { data } = part.safeParse(params);
    if (!data) return 'unknown';
    const ref = data.itemId + suffixOf(data);
    this.#streamed.add(ref);
    return [{ type, text: data.delta, ref }];
  }

  #print(params: Params): AgentUpdate[] | 'unknown' {
    const { data } = part.safeParse(params);
    if (!data) return 'unknown';
    const before = this.#outputs.get(data.itemId) ?? '';
    const isFull = this.#outputs.total >= MAX_KEPT_CHARACTERS;
    if (isFull || before.length >= MAX_OUTPUT_CHARACTERS) return [];
    const output = before + data.delta;
    this.#outputs.set(data.itemId, output);
    return [{ type: 'tool', ref: data.itemId, change: { output } }];
  }

  #readChanges(params: Params, whole: Params): AgentUpdate[] | 'unknown' {
    const { data } = part.safeParse(params);
    if (!data) return 'unknown';
    const found = changes.parse(params.changes);
    this.#keep(data.itemId, { changes: changes.parse(whole.changes) });
    const title = shorten(titleOfChanges(found), MAX_TITLE);
    const ofFiles = { title, input: { changes: found } };
    return [{ type: 'tool', ref: data.itemId, change: ofFiles }];
  }

  #readItem(params: Params, isDone: boolean): AgentUpdate[] | 'unknown' {
    const found = ofItem.safeParse(params).data?.item;
    if (!found) return 'unknown';
    switch (found.type) {
      case 'agentMessage':
      case 'plan':
        return isDone ? this.#whole('message', found.id, found.text ?? '') : [];
      case 'reasoning':
        return isDone ? this.#wholeReasoning(found) : [];
      default:
        return SILENT.has(found.type) ? [] : this.#readTool(found, isDone);
    }
  }

  /** Keeps what an item would do, whole. */
  #noteItem(whole: Params): void {
    const type = ofType.safeParse(whole.item).data?.type;
    if (type !== 'fileChange' && type !== 'commandExecution') return;
    const found = ofItem.safeParse(whole).data?.item;
    if (found?.type === 'fileChange')
      this.#keep(found.id, { changes: changes.parse(found.changes) });
    if (found?.type !== 'commandExecution') return;
    const { command: line, cwd } = command.parse(found);
    if (line !== '') this.#keep(found.id, { command: { command: line, cwd } });
  }

  /** Keeps what an item would do. Forgets the oldest others while too much is kept. */
  #keep(id: string, request: ItemRequest): void {
    this.#requests.set(id, request);
    this.#forgotten.delete(id);
    for (const other of this.#requests.keys()) {
      if (this.#requests.total <= MAX_KEPT_CHARACTERS) return;
      if (other === id) continue;
      this.#requests.delete(other);
      this.#forgotten.add(other);
    }
  }

  /** Reads an item that has ended, and forgets it. */
  #end(params: Params): AgentUpdate[] | 'unknown' {
    const updates = this.#readItem(params, true);
    const id = ofItem.safeParse(params).data?.item.id;
    if (id === undefined) return updates;
    this.#outputs.delete(id);
    this.#requests.delete(id);
    this.#forgotten.delete(id);
    for (const ref of this.#streamed)
      if (ref === id || ref.startsWith(`${id}/`)) this.#streamed.delete(ref);
    return updates;
  }

  #whole(type: 'message' | 'reasoning', ref: string, text: string): AgentUpdate[] {
    return this.#streamed.has(ref) || text === '' ? [] : [{ type, text, ref }];
  }

  #wholeReasoning({ id, summary, content }: Item): AgentUpdate[] {
    const parts = [
      ...summary.map((text, at) => [`${id}/s${at}`, text] as const),
      ...texts.parse(content).map((text, at) => [`${id}/c${at}`, text] as const),
    ];
    return parts.flatMap(([ref, text]) => this.#whole('reasoning', ref, text));
  }

  #readTool(found: Item, isDone: boolean): AgentUpdate[] {
    const other = { title: found.type, kind: 'other', input: null };
    const shown: Shown = ownEntry(tools, found.type)?.(found) ?? other;
    const status = !isDone ? 'running' : FAILED.has(found.status) ? 'failed' : 'completed';
    const output = isDone ? (this.#reasonOf(found) ?? shown.output ?? undefined) : undefined;
    const { title, kind, input } = shown;
    const change: ToolChange = { title: shorten(title, MAX_TITLE), kind, input, status };
    if (output !== undefined) change.output = output;
    return [{ type: 'tool', ref: found.id, change }];
  }

  #reasonOf({ id, status }: Item): string | undefined {
    if (status !== 'declined' && status !== 'failed') return undefined;
    return this.#declined.findLast(([itemId]) => itemId === id)?.[1];
  }
}

interface SavedReader {
  streamed: readonly string[];
  /** The lengths of the outputs of open items, whose texts are rows. */
  outputs: readonly (readonly [itemId: string, length: number])[];
  wishes: readonly (readonly [itemId: string, request: ItemRequest])[];
  forgotten: readonly string[];
  hasOmitted: boolean;
  declined: [itemId: string, reason: string][];
}

const sizes = new WeakMap<object, number>();

/** Returns the number of characters of a value as JSON. A value is measured once. */
function sizeOf(value: object): number {
  const size = sizes.get(value) ?? JSON.stringify(value).length;
  sizes.set(value, size);
  return size;
}

const FAILED: ReadonlySet<unknown> = new Set(['failed', 'declined', 'interrupted']);

interface Shown {
  title: string;
  kind: string;
  input: unknown;
  output?: string | null;
}

const command = z.looseObject({
  command: z.string().catch(''),
  cwd: maybeText,
  aggregatedOutput: maybeText,
});
const call = z.looseObject({
  server: maybeText,
  namespace: maybeText,
  tool: z.string().catch('a tool'),
  arguments: z.unknown().optional(),
  result: maybe(z.looseObject({ content: z.unknown() })),
  contentItems: z.unknown().optional(),
  error: maybe(z.looseObject({ message: z.string() })),
  prompt: maybeText,
});
const search = z.looseObject({ query: maybeText, action: z.unknown().optional() });
const image = z.looseObject({ path: maybeText, revisedPrompt: maybeText });

/** The title, kind and input of an item for people, by its type. */
const tools: Record<string, (found: Item) => Shown> = {
  commandExecution(found) {
    const { command: line, cwd, aggregatedOutput } = command.parse(found);
    return {
      title: line,
      kind: 'execute',
      input: { command: line, cwd },
      output: aggregatedOutput,
    };
  },
  fileChange(found) {
    const made = changes.parse(found.changes);
    return { title: titleOfChanges(made), kind: 'edit', input: { changes: made } };
  },
  mcpToolCall(found) {
    const { server, tool, arguments: input, result, error } = call.parse(found);
    const output = error?.message ?? (result ? partsText(result.content) : null);
    return { title: `${server}.${tool}`, kind: 'other', input, output };
  },
  dynamicToolCall(found) {
    const { tool, arguments: input, contentItems } = call.parse(found);
    return { title: tool, kind: 'other', input, output: partsText(contentItems) };
  },
  collabAgentToolCall(found) {
    const { tool, prompt } = call.parse(found);
    return { title: tool, kind: 'think', input: { prompt } };
  },
  webSearch(found) {
    const { query, action } = search.parse(found);
    return { title: `search ${query ?? ''}`.trim(), kind: 'fetch', input: { query, action } };
  },
  imageView(found) {
    const { path } = image.parse(found);
    return { title: `view ${path ?? 'an image'}`, kind: 'read', input: { path } };
  },
};

export function titleOfChanges(made: readonly Change[]): string {
  return `edit ${made.map(({ path }) => path).join(', ')}`.trim();
}

function readPlan(params: Params): AgentUpdate[] | 'unknown' {
  const { data } = plan.safeParse(params);
  return data ? [{ type: 'plan', entries: data.plan }] : 'unknown';
}
