import { type Excess, excessText } from './bounded-line.ts';
import type { MessageBudget } from './budget.ts';
import { excessOf } from './json-connection.ts';
import type { AgentUpdate } from './provider.ts';

/** Explains that a request was declined because it is larger than anybody is shown. */
export function tooLargeRequest(excess: Excess): { code: string; message: string } {
  return {
    code: 'request_too_large',
    message: `cadre declined a request of the agent, because the request is too large: ${excessText(excess)}`,
  };
}

/** Says once a turn that something was left out of a message. */
export class Omissions {
  #isTold = false;

  beginTurn(): void {
    this.#isTold = false;
  }

  /** The notices for a message: at most one. */
  of(message: unknown, budget: MessageBudget): AgentUpdate[] {
    const excess = excessOf(message);
    if (this.#isTold || (!excess && !budget.hasOmitted)) return [];
    this.#isTold = true;
    const { entries, text } = budget.omitted;
    const parts = [
      ...(excess ? [excessText(excess)] : []),
      ...(entries > 0 ? [`${entries} entries omitted`] : []),
      ...(text > 0 ? [`${text} characters omitted`] : []),
    ];
    const what = `a message of the agent is too large to show in full: ${parts.join('; ')}`;
    return [{ type: 'notice', code: 'message_cut', message: what }];
  }
}
