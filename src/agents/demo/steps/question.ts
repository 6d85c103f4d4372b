import { type CreateElicitationRequest, methods } from '@agentclientprotocol/sdk/unstable';
import type { Step } from './step.ts';

/** Asks for one of some options, or where there are none for a text, and says the answer. */
export const question: Step<'question'> = async ({ entries: [text = '', ...options] }, turn) => {
  const asked: CreateElicitationRequest = {
    sessionId: turn.session.history.sessionId,
    mode: 'form',
    message: text,
    requestedSchema: {
      type: 'object',
      required: ['answer'],
      properties: {
        answer: {
          type: 'string',
          description: text,
          ...(options.length > 0 ? { enum: options } : {}),
        },
      },
    },
  };
  try {
    const answer = await turn.client.request(methods.client.elicitation.create, asked, {
      cancellationSignal: turn.signal,
      stopWaitingOnCancel: true,
    });
    const content = 'content' in answer ? JSON.stringify(answer.content) : '';
    await turn.say(`${answer.action} ${content}`.trim());
  } catch (error) {
    if (turn.signal.aborted) return 'cancelled';
    throw error;
  }
};
