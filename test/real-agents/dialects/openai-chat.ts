import { z } from 'zod';
import type { Message, Piece, ToolCall } from '../script.ts';
import { type Answer, type Dialect, type ModelRequest, tokensPerCall } from './dialect.ts';

/** OpenAI's chat completions, streamed: what opencode and every "OpenAI compatible" client speaks. */
export const openAiChat: Dialect = {
  name: 'openai-chat',
  serves: (path) => path.endsWith('/chat/completions'),
  read,
  write,
  breakOff: (code) => event({ error: { code, message: 'scripted error' } }),
  failure: (status, message) => ({ error: { type: 'scripted_error', code: status, message } }),
};

const contentSchema = z.union([
  z.string(),
  z.array(z.looseObject({ text: z.string().optional() })),
  z.null(),
]);

const bodySchema = z.looseObject({
  model: z.string(),
  // An agent that does not stream would wait for one JSON body, which this server does not write.
  stream: z.literal(true),
  messages: z.array(z.looseObject({ role: z.string(), content: contentSchema.optional() })),
  tools: z.array(z.looseObject({ function: z.looseObject({ name: z.string() }) })).default([]),
});

function read(body: unknown): ModelRequest {
  const { model, messages, tools } = bodySchema.parse(body);
  return {
    model,
    tools: tools.map((tool) => ({ name: tool.function.name })),
    messages: messages.map(({ role, content }) => ({ role: roleOf(role), text: textOf(content) })),
  };
}

function roleOf(role: string): Message['role'] {
  return role === 'user' || role === 'tool' ? role : 'other';
}

function textOf(content: z.infer<typeof contentSchema> | undefined): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => part.text ?? '').join('');
}

async function* write({ model, pieces, call }: Answer): AsyncIterable<string> {
  const head = { id: 'chatcmpl-scripted', object: 'chat.completion.chunk', created: 0, model };
  const chunk = (delta: object, finishReason: string | null = null) =>
    event({ ...head, choices: [{ index: 0, delta, finish_reason: finishReason }] });

  yield chunk({ role: 'assistant', content: '' });
  for await (const piece of pieces) yield chunk(deltaOf(piece));
  if (call) yield chunk({ tool_calls: [toolCall(call)] });
  yield chunk({}, call ? 'tool_calls' : 'stop');
  // Usage comes in a chunk of its own that has no choices, after the one that finishes.
  yield event({ ...head, choices: [], usage: usage() });
  yield 'data: [DONE]\n\n';
}

function deltaOf({ kind, text }: Piece): object {
  // Not OpenAI's own field, but the one that the compatible servers and clients agree on.
  return kind === 'thought' ? { reasoning_content: text } : { content: text };
}

function toolCall({ id, tool, input }: ToolCall): object {
  return { index: 0, id, type: 'function', function: { name: tool.name, arguments: input } };
}

function usage(): object {
  const { input, cachedInput, output } = tokensPerCall;
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cachedInput },
  };
}

function event(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
