import { z } from 'zod';
import type { Message, Piece, ToolCall } from '../script.ts';
import { type Answer, type Dialect, type ModelRequest, tokensPerCall } from './dialect.ts';

/** Google's `streamGenerateContent`: what the Gemini CLI speaks. */
export const googleGenerate: Dialect = {
  name: 'google-generate',
  serves: (path) => path.endsWith(':streamGenerateContent'),
  read,
  write,
  breakOff: (code) => event(failure(500, code)),
  failure,
};

/** By HTTP status, as the API names them. */
const statusNames: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
};

const partSchema = z.looseObject({
  text: z.string().optional(),
  functionResponse: z.looseObject({ response: z.unknown() }).optional(),
});
const bodySchema = z.looseObject({
  contents: z.array(z.looseObject({ role: z.string().optional(), parts: z.array(partSchema) })),
  tools: z
    .array(
      z.looseObject({
        functionDeclarations: z.array(z.looseObject({ name: z.string() })).default([]),
      }),
    )
    .default([]),
});

/** The model is named by the path alone. */
function read(body: unknown, path: string): ModelRequest {
  const { contents, tools } = bodySchema.parse(body);
  const [, model = ''] = /\/models\/([^/:]+):/.exec(path) ?? [];
  return {
    model,
    tools: tools.flatMap((tool) => tool.functionDeclarations.map(({ name }) => ({ name }))),
    messages: contents.flatMap(({ role, parts }) => parts.map((part) => readPart(role, part))),
  };
}

/** A tool's result is a part of a message of the user. */
function readPart(
  role: string | undefined,
  { text = '', functionResponse }: z.output<typeof partSchema>,
): Message {
  if (functionResponse) return { role: 'tool', text: outputOf(functionResponse.response) };
  return { role: role === 'user' ? 'user' : 'other', text };
}

/** The agent's tools answer with an output; others, and failures, with anything. */
function outputOf(response: unknown): string {
  const { data } = z.looseObject({ output: z.string() }).safeParse(response);
  return data?.output ?? JSON.stringify(response);
}

async function* write({ model, pieces, call }: Answer): AsyncIterable<string> {
  const chunk = (parts: object[], more: object = {}, end: object = {}) =>
    event({
      candidates: [{ index: 0, content: { role: 'model', parts }, ...end }],
      modelVersion: model,
      responseId: 'scripted',
      ...more,
    });
  for await (const piece of pieces) yield chunk([partOf(piece)]);
  const last = call ? [callPart(call)] : [{ text: '' }];
  yield chunk(last, { usageMetadata: usage() }, { finishReason: 'STOP' });
}

function partOf({ kind, text }: Piece): object {
  return kind === 'thought' ? { text, thought: true } : { text };
}

function callPart({ id, tool, input }: ToolCall): object {
  return { functionCall: { id, name: tool.name, args: JSON.parse(input) as object } };
}

function usage(): object {
  const { input, cachedInput, output } = tokensPerCall;
  return {
    promptTokenCount: input,
    cachedContentTokenCount: cachedInput,
    candidatesTokenCount: output,
    totalTokenCount: input + output,
  };
}

function failure(status: number, message: string): object {
  return { error: { code: status, message, status: statusNames[status] ?? 'INTERNAL' } };
}

function event(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
