import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Message, Piece, Tool, ToolCall } from '../script.ts';
import { type Answer, type Dialect, type ModelRequest, tokensPerCall } from './dialect.ts';

/** OpenAI's responses, streamed: what Codex speaks. */
export const openAiResponses: Dialect = {
  name: 'openai-responses',
  serves: (path) => path.endsWith('/v1/responses'),
  read,
  write,
  breakOff: (code) =>
    event('response.failed', {
      response: { id: 'resp_broken', status: 'failed', error: { code, message: 'scripted error' } },
    }),
  failure: (status, message) => ({ error: { type: 'scripted_error', code: status, message } }),
  limit: (resetsAt) => ({
    headers: {
      'x-codex-primary-used-percent': '100',
      'x-codex-primary-window-minutes': '300',
      'x-codex-primary-reset-at': String(resetsAt),
      'x-codex-secondary-used-percent': '40',
      'x-codex-secondary-window-minutes': '10080',
      'x-codex-secondary-reset-at': String(resetsAt + 86_400),
    },
    body: { error: { type: 'usage_limit_reached', plan_type: 'plus', resets_at: resetsAt } },
  }),
};

const toolSchema = z.looseObject({
  type: z.string(),
  name: z.string().optional(),
  description: z.string().optional(),
  get tools() {
    return z.array(toolSchema).optional();
  },
});
const contentSchema = z.union([
  z.string(),
  z.array(z.looseObject({ text: z.string().optional() })),
]);
const itemSchema = z.looseObject({
  type: z.string(),
  role: z.string().optional(),
  content: contentSchema.nullish(),
  output: contentSchema.nullish(),
  tools: z.array(toolSchema).optional(),
});
const bodySchema = z.looseObject({
  model: z.string(),
  stream: z.literal(true),
  input: z.array(itemSchema),
  tools: z.array(toolSchema).default([]),
  reasoning: z.looseObject({ effort: z.string().optional() }).nullish(),
});

function read(body: unknown): ModelRequest {
  const { model, input, tools, reasoning } = bodySchema.parse(body);
  // Newer models are offered their tools by an item, and all are offered more by the answer to a search.
  const offered = [...tools, ...input.flatMap((item) => item.tools ?? [])].flatMap(readTool);
  // A second search would not find more than the first one.
  const searched = input.at(-1)?.type === 'tool_search_output';
  return {
    model,
    ...(reasoning?.effort !== undefined && { effort: reasoning.effort }),
    tools: searched ? offered.filter(({ kind }) => kind !== 'search') : offered,
    messages: input.map(readItem),
  };
}

function readTool({ type, name = type, description, tools }: z.output<typeof toolSchema>): Tool[] {
  if (type === 'namespace')
    return (tools ?? []).flatMap(readTool).map((tool) => ({ ...tool, namespace: name }));
  if (type === 'tool_search') return [{ name, kind: 'search' }];
  if (type !== 'custom') return [{ name }];
  const tool: Tool = { name, kind: 'custom' };
  const nested = [...(description ?? '').matchAll(/declare const tools: \{ (\w+)\(/g)];
  return [tool, ...nested.map(([, inner = '']) => ({ name: inner, within: tool }))];
}

function readItem({ type, role, content, output }: z.output<typeof itemSchema>): Message {
  if (type === 'function_call_output' || type === 'custom_tool_call_output')
    return { role: 'tool', text: textOf(output) };
  return { role: role === 'user' ? 'user' : 'other', text: textOf(content) };
}

function textOf(content: z.output<typeof contentSchema> | null | undefined): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => part.text ?? '').join('');
}

async function* write({ model, pieces, call }: Answer): AsyncIterable<string> {
  const response = { id: `resp_${randomUUID()}`, object: 'response', model, output: [] };
  yield event('response.created', { response: { ...response, status: 'in_progress' } });

  let open: OpenItem | undefined;
  for await (const { kind, text } of pieces) {
    if (kind !== open?.kind) {
      if (open) yield end(open);
      open = { kind, id: `item_${randomUUID()}`, text: '' };
      yield begin(open);
    }
    open.text += text;
    yield event(deltas[kind], { item_id: open.id, ...place, delta: text });
  }
  if (open) yield end(open);
  if (call) {
    const item = callItem(call);
    yield event('response.output_item.added', { ...place, item });
    yield event('response.output_item.done', { ...place, item });
  }
  yield event('response.completed', {
    response: { ...response, status: 'completed', usage: usage() },
  });
}

/** A message or a reasoning that grows. */
interface OpenItem {
  kind: Piece['kind'];
  id: string;
  text: string;
}

/** Codex distinguishes items by their ids, not by their positions. */
const place = { output_index: 0, content_index: 0, summary_index: 0 };

const deltas = {
  text: 'response.output_text.delta',
  thought: 'response.reasoning_summary_text.delta',
};

function begin({ kind, id }: OpenItem): string {
  const item = itemOf({ kind, id, text: '' });
  const added = event('response.output_item.added', { ...place, item });
  if (kind === 'text') return added;
  const part = { type: 'summary_text', text: '' };
  return added + event('response.reasoning_summary_part.added', { item_id: id, ...place, part });
}

function end(open: OpenItem): string {
  return event('response.output_item.done', { ...place, item: itemOf(open) });
}

function itemOf({ kind, id, text }: OpenItem): object {
  const parts = (type: string) => (text === '' ? [] : [{ type, text }]);
  return kind === 'text'
    ? { type: 'message', id, role: 'assistant', content: parts('output_text') }
    : { type: 'reasoning', id, summary: parts('summary_text'), encrypted_content: 'c2NyaXB0ZWQ=' };
}

/** A call is written as its tool wants it: arguments as JSON, or one text. */
function callItem({ id, tool, input }: ToolCall): object {
  const { name, namespace, kind, within } = tool;
  const head = { id: `item_${id}`, call_id: id, status: 'completed' };
  if (within) {
    const code = `const done = await tools.${name}(${input}); text(done.output ?? done);`;
    return callItem({ id, tool: within, input: JSON.stringify(code) });
  }
  if (kind === 'search') {
    const asked = { execution: 'client', arguments: JSON.parse(input) as object };
    return { ...head, type: 'tool_search_call', ...asked };
  }
  const named = { ...head, name, ...(namespace !== undefined && { namespace }) };
  return kind === 'custom'
    ? { ...named, type: 'custom_tool_call', input: JSON.parse(input) as string }
    : { ...named, type: 'function_call', arguments: input };
}

function usage(): object {
  const { input, cachedInput, output } = tokensPerCall;
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cachedInput },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
  };
}

function event(type: string, data: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
}
