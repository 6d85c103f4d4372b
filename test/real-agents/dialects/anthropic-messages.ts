import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Message } from '../script.ts';
import { type Answer, type Dialect, type ModelRequest, tokensPerCall } from './dialect.ts';

/** Anthropic's messages, streamed: what Claude Code speaks. */
export const anthropicMessages: Dialect = {
  name: 'anthropic-messages',
  serves: (path) => path.endsWith('/v1/messages'),
  read,
  write,
  breakOff: (code) => event('error', { error: { type: code, message: 'scripted error' } }),
  failure: (status, message) => ({
    type: 'error',
    error: { type: errorTypes[status] ?? 'api_error', message },
  }),
  limit: (resetsAt) => ({
    headers: {
      'anthropic-ratelimit-unified-status': 'rejected',
      'anthropic-ratelimit-unified-reset': String(resetsAt),
      'anthropic-ratelimit-unified-representative-claim': 'five_hour',
    },
    body: { type: 'error', error: { type: 'rate_limit_error', message: 'scripted limit' } },
  }),
};

const errorTypes: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};

const blockSchema = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  content: z
    .union([z.string(), z.array(z.looseObject({ text: z.string().optional() }))])
    .optional(),
});
const bodySchema = z.looseObject({
  model: z.string(),
  stream: z.literal(true),
  messages: z.array(
    z.looseObject({ role: z.string(), content: z.union([z.string(), z.array(blockSchema)]) }),
  ),
  tools: z.array(z.looseObject({ name: z.string() })).default([]),
  output_config: z.looseObject({ effort: z.string().optional() }).optional(),
});

function read(body: unknown): ModelRequest {
  const { model, messages, tools, output_config: output } = bodySchema.parse(body);
  return {
    model,
    ...(output?.effort !== undefined && { effort: output.effort }),
    tools: tools.map(({ name }) => ({ name })),
    messages: messages.flatMap(({ role, content }) =>
      typeof content === 'string'
        ? [{ role: roleOf(role), text: content }]
        : content.map((block) => readBlock(role, block)),
    ),
  };
}

/** A tool's result is a block of a message of the user. */
function readBlock(
  role: string,
  { type, text = '', content }: z.output<typeof blockSchema>,
): Message {
  if (type !== 'tool_result') return { role: roleOf(role), text: withoutReminders(text) };
  const said = content ?? '';
  return {
    role: 'tool',
    text: typeof said === 'string' ? said : said.map((part) => part.text ?? '').join(''),
  };
}

function roleOf(role: string): Message['role'] {
  return role === 'user' ? 'user' : 'other';
}

/** Text that Claude Code adds around the text of a person. */
function withoutReminders(text: string): string {
  return text.replaceAll(/<system-reminder>[\s\S]*?<\/system-reminder>/g, '');
}

async function* write({ model, pieces, call }: Answer): AsyncIterable<string> {
  const message = { id: `msg_${randomUUID()}`, type: 'message', role: 'assistant', model };
  const unfinished = { content: [], stop_reason: null, stop_sequence: null };
  yield event('message_start', { message: { ...message, ...unfinished, usage: usage(1) } });

  let index = -1;
  let open: 'text' | 'thought' | undefined;
  for await (const { kind, text } of pieces) {
    if (kind !== open) {
      if (open) yield event('content_block_stop', { index });
      index++;
      yield event('content_block_start', { index, content_block: emptyBlocks[kind] });
    }
    open = kind;
    yield event('content_block_delta', { index, delta: deltaOf(kind, text) });
  }
  if (open) yield event('content_block_stop', { index });
  if (call) {
    index++;
    const { id, tool, input } = call;
    const block = { type: 'tool_use', id: `toolu_${id}`, name: tool.name, input: {} };
    yield event('content_block_start', { index, content_block: block });
    const delta = { type: 'input_json_delta', partial_json: input };
    yield event('content_block_delta', { index, delta });
    yield event('content_block_stop', { index });
  }
  const delta = { stop_reason: call ? 'tool_use' : 'end_turn', stop_sequence: null };
  yield event('message_delta', { delta, usage: usage(tokensPerCall.output) });
  yield event('message_stop', {});
}

const emptyBlocks = {
  text: { type: 'text', text: '' },
  thought: { type: 'thinking', thinking: '', signature: '' },
};

function deltaOf(kind: 'text' | 'thought', text: string): object {
  return kind === 'text'
    ? { type: 'text_delta', text }
    : { type: 'thinking_delta', thinking: text };
}

function usage(output: number): object {
  const { input, cachedInput } = tokensPerCall;
  return {
    input_tokens: input - cachedInput,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedInput,
    output_tokens: output,
  };
}

function event(type: string, data: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
}
