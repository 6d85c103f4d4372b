import type { CodexOptions } from '../../../src/agents/codex/settings.ts';
import { AppServer } from '../../../src/agents/codex/app-server.ts';
import { CodexAgent } from '../../../src/agents/codex/agent.ts';
import type { AgentTools } from '../../../src/agents/provider.ts';
import type { Child } from '../../../src/core/children/supervisor.ts';
import type { ManualClock } from '../../support/manual-clock.ts';
import type { Protocol } from '../cut-server.ts';

export const THREAD = 't1';

/** The ids of the requests of cadre about a thread, in the messages of a wire. */
export const promptOf = (thread: string) => `the id of the prompt of ${thread}`;
export const interruptOf = (thread: string) => `the id of the interrupt of ${thread}`;

/** Returns how one app-server speaks for the sessions of some threads. */
export function codexProtocol(threads: readonly string[] = [THREAD]): Protocol {
  const servers = new WeakMap<Child, AppServer>();
  return {
    refs: threads,
    newAgent(child, { clock, sink, session }, from) {
      const server = servers.get(child) ?? appServerOf(child, clock, from?.at ?? null);
      servers.set(child, server);
      const lease = { server, release: async () => undefined };
      const agent = new CodexAgent(session, sink, lease, codexOptions(clock), from);
      return { agent, open: () => agent.open() };
    },
    framed: (message) => message,
    hear(line) {
      const { id, method, params } = JSON.parse(line) as {
        id?: unknown;
        method?: string;
        params?: { threadId: string };
      };
      const { threadId = '' } = params ?? {};
      if (method === undefined) return { isAnswer: true };
      if (method === 'turn/start') return { isPrompt: true, names: { [promptOf(threadId)]: id } };
      if (method === 'turn/interrupt') return { names: { [interruptOf(threadId)]: id } };
      const thread = { id: threadId, status: { type: 'idle' } };
      return { replies: [{ id, result: { thread, model: 'usual', approvalPolicy: 'never' } }] };
    },
  };
}

/** Builds the connection to an app-server that runs. */
export function appServerOf(
  child: Child,
  clock: ManualClock,
  from: number | null,
  onVersion: (version: string | null) => void = () => undefined,
): AppServer {
  const onUnknown = () => undefined;
  return new AppServer(child, { clock, onUnknown, onVersion, onLost: () => undefined }, from);
}

export function codexOptions(clock: ManualClock): CodexOptions {
  const sidecar = { command: 'cadre', args: [], env: {} };
  return {
    clock,
    signal: new AbortController().signal,
    login: { id: 'codex', hasOwnHome: false, from: {}, given: {} },
    onEnded: (outcome) => outcome,
    toolsFor: () => ({ sidecar, others: [] }) as unknown as AgentTools,
    onUnknown: () => undefined,
    access: null,
    models: [],
    fork: null,
    variablesAt: () => ({}),
  };
}
