import { expect } from 'vitest';
import { until } from '../../support/providers/calls.ts';
import {
  initialized,
  type Params,
  type RawAgent,
  type RawAgentOptions,
  type RawSession,
  type RawAgentHarness,
  type AcpBehavior,
  type sharedRawAgent,
  testRawAgent,
} from '../../support/providers/raw-agent.ts';
import { endAgent } from '../../support/providers/rows.ts';

export type Handler = NonNullable<AcpBehavior['methods']>[string];

/** The capabilities of an agent that can load sessions, and not resume them. */
export const onlyLoad = { loadSession: true };
/** The fields of a session that has lost only its turn. */
export const ready = { status: 'ready', failure: null, active_turn_id: null };

export function opened(_params: Params, agent: RawAgent): { sessionId: string } {
  return { sessionId: `raw-${agent.pid}` };
}

/** Returns the session id that an agent has chosen. */
export function refOf(agents: readonly RawAgent[], index = 0): string {
  return `raw-${agents[index]?.pid}`;
}

export function offering(agentCapabilities: unknown): Record<string, Handler> {
  return { initialize: () => initialized({ agentCapabilities }) };
}

export function select(id: string, category: string, ...values: string[]): object {
  const options = values.map((value) => ({ value, name: value }));
  return { id, category, type: 'select', name: id, currentValue: values[0], options };
}

/** Returns the behavior of an agent that answers the request to resume a session with `handler`. */
export function reopened(method: string, handler: Handler): AcpBehavior {
  const can = method === 'session/load' ? offering(onlyLoad) : {};
  return { methods: { ...can, [method]: handler } };
}

/** Calls `then` at the nth call, and `usually` at all others. */
export function onNthCall(
  n: number,
  then: (agent: RawAgent) => unknown,
  usually: Handler,
): Handler {
  let times = 0;
  return (params, agent) => (++times === n ? then(agent) : usually(params, agent));
}

/** Returns the methods of all messages that cadre has sent to an agent, in order. */
export function receivedMethods(agent: RawAgent | undefined): string[] {
  return (agent?.received ?? []).flatMap(({ method }) => method ?? []);
}

/** Calls `handler` at the first call, and answers the others correctly. */
export function onFirstCall(handler: (agent: RawAgent) => unknown): Handler {
  return onNthCall(1, handler, () => ({}));
}

/**
 * Returns a function that opens a session whose agent has completed a turn and is gone. It uses the shared runtime
 * unless the test needs another configuration or clock.
 */
export function withLostAgent(on: ReturnType<typeof sharedRawAgent>) {
  return async (
    behavior: AcpBehavior,
    { open = {}, ...own }: Pick<RawAgentOptions, 'acp' | 'clock'> & { open?: object } = {},
  ): Promise<[harness: RawAgentHarness, session: RawSession]> => {
    const harness = Object.keys(own).length > 0 ? await testRawAgent(behavior, own) : on(behavior);
    const session = await harness.open(open);
    await expectWorks(session, 'before');
    await loseAgent(harness);
    return [harness, session];
  };
}

/** Ends the newest agent; resolves once cadre has noticed. */
export async function loseAgent(harness: RawAgentHarness): Promise<void> {
  await endAgent(harness.agents.at(-1));
  await untilNoneLives(harness);
}

export function untilNoneLives({ diagnostics }: RawAgentHarness): Promise<void> {
  return until('cadre knows of it', async () => (await diagnostics()).sessions === 0);
}

export async function expectWorks(
  session: RawSession,
  text = 'after',
  settings = {},
): Promise<void> {
  expect(await session.run(text, settings)).toMatchObject({
    status: 'completed',
    text,
    error: null,
  });
}
