import { AcpAgent } from '../../../src/agents/acp/agent.ts';
import { LastSeen } from '../../../src/agents/acp/last-seen.ts';
import { resolveAgents, type ResolvedAgent } from '../../../src/agents/acp/resolve.ts';
import type { Wire } from '../cut-anywhere.ts';
import type { Protocol } from '../cut-server.ts';

/** A turn of an ACP agent. */
export interface AcpWire extends Wire {
  /** The answers of the agent to `initialize` and `session/new`. */
  initialized?: object;
  opened?: object;
  agent?: Partial<ResolvedAgent>;
}

/** The id of the prompt in the messages of a wire. */
export const PROMPT = 'the id of the prompt';
export const SESSION = 's1';

/** Returns how the agent of a wire speaks ACP. */
export function acpProtocol(wire: AcpWire): Protocol {
  const results: Record<string, object> = {
    initialize: { protocolVersion: 1, agentCapabilities: {}, ...wire.initialized },
    'session/new': { sessionId: SESSION, ...wire.opened },
  };
  return {
    refs: [SESSION],
    newAgent(child, deps, from) {
      const known = resolveAgents(null, {})[0] as ResolvedAgent;
      const agent = new AcpAgent(
        child,
        {
          ...deps,
          command: '',
          args: [],
          env: {},
          supervisor: null as never,
          agent: { ...known, ...wire.agent },
          lastSeen: new LastSeen(),
          cwd: '/work',
          what: 'an agent',
          signal: new AbortController().signal,
          onUnknown: () => undefined,
          onVersion: () => undefined,
          starting: (begin) => begin(),
          tools: null,
          usedBefore: null,
        },
        from,
      );
      const open = async () => {
        await agent.process.initialize();
        await agent.create();
      };
      return { agent, open };
    },
    framed: (message) => ({ jsonrpc: '2.0', ...message }),
    hear(line) {
      const { id, method } = JSON.parse(line) as { id?: unknown; method?: string };
      if (method === undefined) return { isAnswer: true };
      if (method === 'session/prompt') return { isPrompt: true, names: { [PROMPT]: id } };
      const result = results[method];
      return result ? { replies: [{ jsonrpc: '2.0', id, result }] } : {};
    },
  };
}
