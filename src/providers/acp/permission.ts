import { z } from 'zod';
import type { AgentAnswer, AgentRequest, ToolChange } from '../provider.ts';
import { readToolCall } from './updates.ts';

const request = z.looseObject({
  toolCall: z.unknown(),
  options: z.array(z.looseObject({ optionId: z.string(), kind: z.string() })).catch([]),
});

/** A `session/request_permission`, read. */
export interface PermissionRequest {
  /** The tool call as the request shows it; null where it shows none. */
  tool: { ref: string; change: ToolChange } | null;
  options: readonly { optionId: string; kind: string }[];
  raw: unknown;
}

export function readPermission(params: unknown): PermissionRequest {
  const { data } = request.safeParse(params);
  const tool = readToolCall(data?.toolCall);
  return { tool: tool === 'unknown' ? null : tool, options: data?.options ?? [], raw: params };
}

/** What is asked, with what was known of the tool before: some agents show its input only once. */
export function approvalRequest(
  { tool, raw }: PermissionRequest,
  known: ToolChange | undefined,
): AgentRequest {
  const kind = tool?.change.kind ?? known?.kind ?? 'other';
  const title = tool?.change.title ?? known?.title ?? tool?.ref ?? 'something';
  const input = tool?.change.input ?? known?.input ?? null;
  return {
    kind: approvalKinds[kind] ?? 'tool',
    title,
    request: raw,
    subject: { kind, input: input ?? title },
  };
}

const approvalKinds: Record<string, AgentRequest['kind']> = {
  execute: 'command',
  edit: 'file_change',
  delete: 'file_change',
  move: 'file_change',
};

/** The outcome to send for an answer; null where the agent offers none that means it, for this once. */
export function outcomeFor(
  answer: AgentAnswer,
  options: PermissionRequest['options'],
): object | null {
  const cancelled = { outcome: 'cancelled' };
  if (answer.decision === 'cancelled') return cancelled;
  const wanted = answer.decision === 'accept' ? 'allow_once' : 'reject_once';
  const option = options.find(({ kind }) => kind === wanted);
  if (option) return { outcome: 'selected', optionId: option.optionId };
  return answer.decision === 'accept' ? null : cancelled;
}
