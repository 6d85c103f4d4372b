import { announceToolCall } from '../tool-call.ts';
import type { Step } from './step.ts';

export const tool: Step<'tool'> = async ({ title, output }, turn) => {
  const call = await announceToolCall(turn, title);
  await call.start();
  await call.complete(output ?? 'did not run: this is a demo');
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
