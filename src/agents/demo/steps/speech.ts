import { setTimeout as sleep } from 'node:timers/promises';
import { withBlanks } from '../turn.ts';
import type { Step } from './step.ts';

export const say: Step<'say'> = ({ text }, turn) => turn.say(text);

export const think: Step<'think'> = async ({ text }, turn) => {
  const messageId = turn.newId('message');
  for (const word of withBlanks(text)) {
    turn.signal.throwIfAborted();
    const content = { type: 'text' as const, text: word };
    await turn.update({ sessionUpdate: 'agent_thought_chunk', messageId, content });
  }
};

export const repeat: Step<'repeat'> = async ({ count, ms, text }, turn) => {
  const messageId = turn.newId('message');
  for (let said = 0; said < count; said += 1) {
    if (said > 0) await sleep(ms, undefined, { signal: turn.signal });
    await turn.sayChunk(messageId, text);
  }
};

/** Each chunk begins with its number, so that a lost or repeated chunk is noticed. */
export const flood: Step<'flood'> = async ({ count, bytes }, turn) => {
  const messageId = turn.newId('message');
  for (let said = 0; said < count; said += 1) {
    await turn.sayChunk(messageId, `${said} `.padEnd(bytes, '.').slice(0, bytes));
  }
};

export const longline: Step<'longline'> = ({ bytes }, turn) =>
  turn.sayChunk(turn.newId('message'), 'x'.repeat(bytes));
