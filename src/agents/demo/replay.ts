import { methods, type AgentContext, type SessionUpdate } from '@agentclientprotocol/sdk/unstable';
import type { History } from './history.ts';

/** Sends the stored history of a session to the client: each prompt and each message as one chunk. */
export async function replayHistory(history: History, client: AgentContext): Promise<void> {
  const { sessionId } = history;
  for (const update of updatesOf(history)) {
    await client.notify(methods.client.session.update, { sessionId, update });
  }
}

function updatesOf({ sessionId, turns }: History): SessionUpdate[] {
  return turns.flatMap(({ number, prompt, messages }) => [
    chunk('user_message_chunk', `${sessionId}-${number}-prompt`, prompt),
    ...messages.map(({ messageId, text }) => chunk('agent_message_chunk', messageId, text)),
  ]);
}

function chunk(
  sessionUpdate: 'user_message_chunk' | 'agent_message_chunk',
  messageId: string,
  text: string,
): SessionUpdate {
  return { sessionUpdate, messageId, content: { type: 'text', text } };
}
