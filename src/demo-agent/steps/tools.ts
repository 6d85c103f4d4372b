import {
  methods,
  type PermissionOptionKind,
  type RequestPermissionRequest,
} from '@agentclientprotocol/sdk/unstable';
import { announceToolCall, type AnnouncedToolCall } from '../tool-call.ts';
import type { Turn } from '../turn.ts';
import type { Step } from './step.ts';

export const tool: Step<'tool'> = async ({ title, output }, turn) => {
  const call = await announceToolCall(turn, title);
  await call.start();
  await call.complete(output ?? 'nothing was run: this is a demo');
};

/** Asks each time: `allow_always` is reported, but not remembered, so that a script always behaves the same. */
export const ask: Step<'ask'> = async ({ title }, turn) => {
  const call = await announceToolCall(turn, title);
  const { mode } = turn.session.history;
  const choice = mode === 'full_access' ? mode : await askPermission(turn, call);
  if (choice === 'cancelled') {
    await call.fail('cancelled');
    return 'cancelled';
  }
  if (choice.startsWith('reject')) {
    await call.fail(`rejected (${choice})`);
    await turn.say(`rejected (${choice}): ${title}`);
    return;
  }
  await call.start();
  await call.complete(`allowed (${choice})`);
  await turn.say(`allowed (${choice}): ${title}`);
};

/** One update for each state, from nothing done to everything done. */
export const plan: Step<'plan'> = async ({ entries }, turn) => {
  for (let done = 0; done <= entries.length; done += 1) {
    turn.signal.throwIfAborted();
    await turn.update({
      sessionUpdate: 'plan',
      entries: entries.map((content, index) => ({
        content,
        priority: 'medium',
        status: index < done ? 'completed' : index === done ? 'in_progress' : 'pending',
      })),
    });
  }
};

const optionNames: Record<PermissionOptionKind, string> = {
  allow_once: 'Allow once',
  allow_always: 'Always allow',
  reject_once: 'Reject once',
  reject_always: 'Always reject',
};

async function askPermission(turn: Turn, call: AnnouncedToolCall): Promise<string> {
  const kinds = Object.keys(optionNames) as PermissionOptionKind[];
  const question: RequestPermissionRequest = {
    sessionId: turn.session.history.sessionId,
    toolCall: call.announced,
    options: kinds.map((kind) => ({ optionId: kind, kind, name: optionNames[kind] })),
  };
  try {
    const { outcome } = await turn.client.request(
      methods.client.session.requestPermission,
      question,
      // A cancelled turn ends at once; it does not wait for an answer.
      { cancellationSignal: turn.signal, stopWaitingOnCancel: true },
    );
    return outcome.outcome === 'selected' ? outcome.optionId : 'cancelled';
  } catch (error) {
    if (turn.signal.aborted) return 'cancelled';
    await call.fail('the client could not be asked');
    throw error;
  }
}
