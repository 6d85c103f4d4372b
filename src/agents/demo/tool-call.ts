import type { ToolCall } from '@agentclientprotocol/sdk/unstable';
import type { Turn } from './turn.ts';

/** A tool call that was announced to the client. No tool is ever run. */
export interface AnnouncedToolCall {
  readonly announced: ToolCall;
  start(): Promise<void>;
  complete(output: string): Promise<void>;
  fail(reason: string): Promise<void>;
}

/** Announces a pending tool call to the client. The caller then starts it and completes it, or lets it fail. */
export async function announceToolCall(
  turn: Turn,
  title: string,
  more: Partial<ToolCall> = {},
): Promise<AnnouncedToolCall> {
  const toolCallId = turn.newId('tool');
  const kind = title.startsWith('run:') ? 'execute' : 'other';
  const usual = { toolCallId, title, kind, status: 'pending', rawInput: { title } } as const;
  const announced: ToolCall = { ...usual, ...more };

  async function end(status: 'completed' | 'failed', output: string) {
    await turn.update({
      sessionUpdate: 'tool_call_update',
      toolCallId,
      status,
      content: [{ type: 'content', content: { type: 'text', text: output } }],
      rawOutput: { output },
    });
  }

  await turn.update({ sessionUpdate: 'tool_call', ...announced });
  return {
    announced,
    start: () =>
      turn.update({ sessionUpdate: 'tool_call_update', toolCallId, status: 'in_progress' }),
    complete: (output) => end('completed', output),
    fail: (reason) => end('failed', reason),
  };
}
