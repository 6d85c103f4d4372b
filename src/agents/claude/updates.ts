import { z } from 'zod';
import type { Usage } from '../../api/sessions.ts';
import { limitAfter, type RateLimit } from '../claude-limits.ts';
import { MessageBudget, Omissions } from '../budget.ts';
import { arrayOf, maybe, maybeText, partsText } from '../lenient.ts';
import type { AgentUpdate, ToolChange } from '../provider.ts';
import type { Message } from './connection.ts';
import { toolKindOf, toolTitleOf } from './tools.ts';
import { addTokens, noTokens, readTokens, type Tokens, usageOf } from './outcome.ts';

/** Messages that say nothing about the course of a turn. */
const IGNORED = new Set([
  'auth_status',
  'command_lifecycle',
  'keep_alive',
  'tool_progress',
  'tool_use_summary',
]);
const IGNORED_EVENTS = new Set(['content_block_stop', 'message_stop', 'ping', 'error']);
const IGNORED_DELTAS = new Set(['input_json_delta', 'signature_delta', 'citations_delta']);
/** The model named in messages that claude itself writes, to report an error. */
const SYNTHETIC = '<synthetic>';

const fromSubagent = z.looseObject({ parent_tool_use_id: z.string() });
const block = z.looseObject({ type: z.string() });
const streamed = z.looseObject({
  event: z.looseObject({
    type: z.string(),
    index: z.number().catch(0),
    message: maybe(z.looseObject({ id: z.string(), usage: z.unknown().optional() })),
    content_block: z.unknown().optional(),
    delta: maybe(
      z.looseObject({
        type: z.string().optional(),
        text: z.string().optional(),
        thinking: z.string().optional(),
      }),
    ),
    usage: z.unknown().optional(),
  }),
});
const content = arrayOf(block).catch([]);
const assistant = z.looseObject({
  uuid: maybeText,
  message: z.looseObject({ id: z.string(), model: maybeText, content }),
});
const user = z.looseObject({ message: z.looseObject({ content }) });
const spoken = z.looseObject({ text: maybeText, thinking: maybeText });
const toolUse = z.looseObject({ id: z.string(), name: z.string(), input: z.unknown().optional() });
const toolResult = z.looseObject({
  tool_use_id: z.string(),
  is_error: maybe(z.boolean()),
  content: z.unknown().optional(),
});
const todos = z.looseObject({
  todos: z.array(z.looseObject({ content: z.string(), status: z.string().catch('pending') })),
});

const retried = z.looseObject({
  subtype: z.literal('api_retry'),
  attempt: z.number(),
  max_retries: z.number(),
  error: maybeText,
  error_status: maybe(z.number()),
});

/** The notice of a request to the model that claude makes again; nothing for the other messages of the system. */
function readRetry(message: Message): AgentUpdate[] {
  const { data } = retried.safeParse(message);
  if (!data) return [];
  const why = [data.error, data.error_status].filter((part) => part !== null);
  const reason = why.length > 0 ? ` (${why.join(' ')})` : '';
  const text = `claude: the request failed${reason}, retry ${data.attempt}/${data.max_retries}`;
  return [{ type: 'notice', code: 'waiting', message: text }];
}

/** Whether a message begins a turn. */
export function isBeginning({ type, subtype }: Message): boolean {
  return type === 'system' && subtype === 'init';
}

/** The finished blocks of a message come soon after its pieces, so that only the newest messages are remembered. */
const MAX_STREAMED = 100;

/** Turns claude's messages into updates: texts from the stream, tools from the finished blocks. */
export class Reader {
  /** Messages whose text came in pieces: the finished block repeats it. */
  #streamed: readonly string[] = [];
  readonly #omissions = new Omissions();
  #streaming = '';
  /** The newest model request of the turn; null before the first. */
  #request: string | null = null;
  /** The tokens of the requests of the turn before the newest one. */
  #usedBefore = noTokens;
  /** The tokens of the newest request, also if it was in an earlier turn. */
  #lastUsed: Tokens | null = null;
  /** Whether claude has said a text since the turn began. */
  hasSpoken = false;
  /** Limits of the account that claude reported in this turn. Null if it reported none. */
  rateLimit: RateLimit | null = null;
  /** The id of the last message of the agent in the transcript. Null if there is none in this turn. */
  lastMessage: string | null = null;

  /** A turn begins: the tokens, texts and limits of earlier turns are forgotten. */
  begin(): void {
    this.#streamed = [];
    this.#omissions.beginTurn();
    this.#request = null;
    this.#usedBefore = noTokens;
    this.hasSpoken = false;
    this.rateLimit = null;
    this.lastMessage = null;
  }

  save() {
    return {
      streamed: this.#streamed,
      omissions: this.#omissions.save(),
      streaming: this.#streaming,
      request: this.#request,
      usedBefore: this.#usedBefore,
      lastUsed: this.#lastUsed,
      hasSpoken: this.hasSpoken,
      rateLimit: this.rateLimit,
      lastMessage: this.lastMessage,
    };
  }

  restore(saved: ReturnType<Reader['save']>): void {
    this.#streamed = saved.streamed;
    this.#omissions.restore(saved.omissions);
    this.#streaming = saved.streaming;
    this.#request = saved.request;
    this.#usedBefore = saved.usedBefore;
    this.#lastUsed = saved.lastUsed;
    this.hasSpoken = saved.hasSpoken;
    this.rateLimit = saved.rateLimit;
    this.lastMessage = saved.lastMessage;
  }

  /** The usage of the turn so far, by the stream. */
  get usage(): Partial<Usage> {
    const last = this.#lastUsed;
    if (!last) return {};
    const sum = this.#request === null ? {} : usageOf(addTokens(this.#usedBefore, last));
    return { ...sum, context_tokens: usageOf(last).total_tokens ?? null };
  }

  /** Returns the updates in a message. Text beyond the limits is cut, and a notice reports that. */
  read(whole: Message): AgentUpdate[] | 'unknown' {
    const budget = new MessageBudget();
    const updates = this.#read(budget.bounded(whole) as Message);
    return updates === 'unknown' ? updates : [...this.#omissions.of(whole, budget), ...updates];
  }

  #read(message: Message): AgentUpdate[] | 'unknown' {
    switch (message.type) {
      case 'stream_event':
        return this.#readEvent(message);
      case 'assistant':
        return this.#readAssistant(message);
      case 'user':
        return readResults(message);
      case 'system':
        return readRetry(message);
      case 'rate_limit_event':
        this.rateLimit = limitAfter(this.rateLimit, message);
        return [];
      default:
        return IGNORED.has(message.type) ? [] : 'unknown';
    }
  }

  #readEvent(message: Message): AgentUpdate[] | 'unknown' {
    // The texts of a subagent go to its caller alone; its tool calls come with the finished blocks.
    if (fromSubagent.safeParse(message).success) return [];
    const { data } = streamed.safeParse(message);
    if (!data) return 'unknown';
    const { type, index, message: begun, delta, content_block: started, usage } = data.event;
    switch (type) {
      case 'message_start':
        this.#streaming = begun?.id ?? '';
        this.#count(this.#streaming, begun?.usage);
        return [];
      case 'content_block_start': {
        const call = isCall(started) ? toolUse.safeParse(started).data : undefined;
        return call ? [toolUpdate(call.id, { title: call.name, kind: toolKindOf(call.name) })] : [];
      }
      case 'content_block_delta':
        if (delta?.type === 'text_delta') return this.#say('message', index, delta.text ?? '');
        if (delta?.type === 'thinking_delta')
          return this.#say('reasoning', index, delta.thinking ?? '');
        return IGNORED_DELTAS.has(delta?.type ?? '') ? [] : 'unknown';
      case 'message_delta':
        this.#count(this.#streaming, usage);
        return [{ type: 'usage', usage: this.usage }];
      default:
        return IGNORED_EVENTS.has(type) ? [] : 'unknown';
    }
  }

  #say(type: 'message' | 'reasoning', index: number, text: string): AgentUpdate[] {
    if (!this.#streamed.includes(this.#streaming))
      this.#streamed = [...this.#streamed.slice(1 - MAX_STREAMED), this.#streaming];
    if (type === 'message' && text) this.hasSpoken = true;
    return [{ type, text, ref: `${this.#streaming}/${index}` }];
  }

  #readAssistant(raw: Message): AgentUpdate[] | 'unknown' {
    const { data } = assistant.safeParse(raw);
    if (!data) return 'unknown';
    const { id, content, model } = data.message;
    const isOfSubagent = fromSubagent.safeParse(raw).success;
    if (!isOfSubagent) this.lastMessage = data.uuid ?? this.lastMessage;
    const isWhole = model !== SYNTHETIC && !this.#streamed.includes(id) && !isOfSubagent;
    return content.flatMap((one): AgentUpdate[] => {
      const call = isCall(one) ? toolUse.safeParse(one).data : undefined;
      if (call) return callUpdates(call);
      const { text, thinking } = spoken.safeParse(one).data ?? {};
      if (!isWhole) return [];
      if (one.type === 'text' && text) {
        this.hasSpoken = true;
        return [{ type: 'message', text, ref: id }];
      }
      return one.type === 'thinking' && thinking
        ? [{ type: 'reasoning', text: thinking, ref: id }]
        : readResult(one);
    });
  }

  #count(id: string, raw: unknown): void {
    const before = this.#request === null ? null : this.#lastUsed;
    const isSame = id === this.#request;
    const tokens = readTokens(raw, (isSame && before) || noTokens);
    if (!tokens) return;
    if (before && !isSame) this.#usedBefore = addTokens(this.#usedBefore, before);
    this.#request = id;
    this.#lastUsed = tokens;
  }
}

function isCall(raw: unknown): boolean {
  const type = block.safeParse(raw).data?.type;
  return type === 'tool_use' || type === 'server_tool_use' || type === 'mcp_tool_use';
}

function callUpdates({ id, name, input }: z.output<typeof toolUse>): AgentUpdate[] {
  const call = toolUpdate(id, {
    title: toolTitleOf(name, input),
    kind: toolKindOf(name),
    input,
    status: 'running',
  });
  const plan = name === 'TodoWrite' ? todos.safeParse(input).data?.todos : undefined;
  if (!plan) return [call];
  const entries = plan.map(({ content, status }) => ({ content, status, priority: null }));
  return [call, { type: 'plan', entries }];
}

function readResults(raw: Message): AgentUpdate[] | 'unknown' {
  const { data } = user.safeParse(raw);
  return data ? data.message.content.flatMap(readResult) : 'unknown';
}

function readResult(raw: z.output<typeof block>): AgentUpdate[] {
  const { data } = toolResult.safeParse(raw);
  if (!data || !raw.type.endsWith('tool_result')) return [];
  return [
    toolUpdate(data.tool_use_id, {
      output: partsText(data.content) ?? '',
      status: data.is_error ? 'failed' : 'completed',
    }),
  ];
}

function toolUpdate(ref: string, change: ToolChange): AgentUpdate {
  return { type: 'tool', ref, change };
}
