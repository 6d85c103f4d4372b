import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Step } from './step.ts';

const lateMs = 50;

export const wait: Step<'wait'> = async ({ ms }, turn) => {
  await sleep(ms, undefined, { signal: turn.signal });
};

/** Does nothing until the turn is cancelled. */
export const silent: Step<'silent'> = async (_command, turn) => {
  if (!turn.signal.aborted) await once(turn.signal, 'abort');
};

export const ignoreCancel: Step<'ignore-cancel'> = (_command, turn) => turn.ignoreCancel();

/** Says something after the turn has ended, when no client expects it. */
export const late: Step<'late'> = ({ text }, turn) => {
  const messageId = turn.newId('message');
  turn.afterwards = async () => {
    // Not worth staying alive for: the client may be gone first.
    await sleep(lateMs, undefined, { ref: false });
    await turn.sayChunk(messageId, text);
  };
  return 'end_turn';
};
