import { type Excess, excessText } from './bounded-line.ts';

/** Explains that a request was declined because it is larger than anybody is shown. */
export function tooLargeRequest(excess: Excess): { code: string; message: string } {
  return {
    code: 'request_too_large',
    message: `a request of the agent was declined without asking anybody: ${excessText(excess)}`,
  };
}
