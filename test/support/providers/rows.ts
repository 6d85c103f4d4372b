// Helpers for tests of behaviour that real agents have and the demo agent does not have. A scripted agent shows the
// behaviour, so that the tests need no real agent.
import { type Clock, systemClock } from '../../../src/core/lib/clock.ts';
import { until } from './calls.ts';
import { type RawAgent, Refusal, type AcpBehavior } from './raw-agent.ts';

export const asking = { permission_mode: 'require_approval' };

/** A tool call with all its fields in the first update. */
export const touch = {
  toolCallId: 't1',
  title: 'touch it',
  kind: 'execute',
  rawInput: { command: 'touch it' },
};

/** The update that completes the tool call `touch`. */
export const done = { sessionUpdate: 'tool_call_update', toolCallId: 't1', status: 'completed' };

/** Returns the behavior of an agent that answers the prompt `go` with `handler`. */
export function onGo(handler: (agent: RawAgent) => unknown): AcpBehavior {
  return { turns: { go: handler } };
}

export function textContent(text: string): object {
  return { type: 'content', content: { type: 'text', text } };
}

export function refuse(code: number, message: string, data?: unknown): never {
  throw new Refusal(code, message, data);
}

/** Ends an agent; resolves once its process is gone. */
export async function endAgent(agent: RawAgent | undefined): Promise<void> {
  agent?.exit(1);
  await until('the agent is gone', () => agent?.gone === true);
}

/** Returns a clock on which waits end so many times sooner. */
export function quick(times: number): Clock {
  return {
    ...systemClock,
    sleep: (ms, signal) => systemClock.sleep(ms / times, signal),
    after: (ms, fn) => systemClock.after(ms / times, fn),
  };
}
