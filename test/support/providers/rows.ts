// What the rows of ../acp-rows share. Each row is something that real agents do and the demo agent does not:
// an agent that the test plays does it, so that it is there on every machine and every day.
import { type Clock, systemClock } from '../../../src/core/lib/clock.ts';
import { until } from './calls.ts';
import { type RawAgent, Refusal, type Role } from './raw-agent.ts';

export const asking = { permission_mode: 'require_approval' };

/** A tool, as an agent shows it that shows all of it at once. */
export const touch = {
  toolCallId: 't1',
  title: 'touch it',
  kind: 'execute',
  rawInput: { command: 'touch it' },
};

/** And its end. */
export const done = { sessionUpdate: 'tool_call_update', toolCallId: 't1', status: 'completed' };

/** The role of an agent that does this when it is told to `go`. */
export function goes(play: (agent: RawAgent) => unknown): Role {
  return { turns: { go: play } };
}

export function textContent(text: string): object {
  return { type: 'content', content: { type: 'text', text } };
}

export function refuse(code: number, message: string, data?: unknown): never {
  throw new Refusal(code, message, data);
}

/** Has an agent die; resolves when it is gone. */
export async function dies(agent: RawAgent | undefined): Promise<void> {
  agent?.exit(1);
  await until('the agent is gone', () => agent?.gone === true);
}

/** Time that runs so many times as fast. */
export function quick(times: number): Clock {
  return {
    ...systemClock,
    sleep: (ms, signal) => systemClock.sleep(ms / times, signal),
    after: (ms, fn) => systemClock.after(ms / times, fn),
  };
}
