import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Step } from './step.ts';

const lateMs = 50;

export const wait: Step<'wait'> = async ({ ms }, turn) => {
  await turn.world.sleep(ms, turn.signal);
};

/** Does nothing until the turn is cancelled. */
export const silent: Step<'silent'> = async (_command, turn) => {
  if (!turn.signal.aborted) await once(turn.signal, 'abort');
};

export const ignoreCancel: Step<'ignore-cancel'> = (_command, turn) => turn.ignoreCancel();

/** Sends a chunk after the turn has ended, when no client expects it. */
export const late: Step<'late'> = ({ text }, turn) => {
  const messageId = turn.newId('message');
  turn.afterwards = async () => {
    // The timer does not keep the process alive: the client may disconnect first.
    await sleep(lateMs, undefined, { ref: false });
    await turn.sayChunk(messageId, text);
  };
  return 'end_turn';
};
