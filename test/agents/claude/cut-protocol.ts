import { setImmediate as nextLoop } from 'node:timers/promises';
import { ClaudeAgent } from '../../../src/agents/claude/agent.ts';
import {
  type AgentTools,
  defaultSettings,
  type TurnSettings,
} from '../../../src/agents/provider.ts';
import type { Step } from '../cut-anywhere.ts';
import type { Protocol } from '../cut-server.ts';

const SESSION = '5e551011-0000-4000-8000-000000000001';
/** The id of the newest request to interrupt the turn, in the messages of a wire. */
export const INTERRUPT = 'the id of the interrupt';

/** So many rounds of the event loop are enough for the next turn. */
const MAX_ROUNDS = 300;

const models = [
  { value: 'opus', displayName: 'Opus', supportedEffortLevels: ['low', 'high'] },
  { value: 'haiku', displayName: 'Haiku', supportedEffortLevels: [] },
];
/** The results of control requests. */
const results: Record<string, object> = {
  initialize: { models, commands: [], claude_code_version: '2.1.0' },
  get_settings: { applied: { model: 'sonnet' } },
};
/** The result of a turn that nothing else is known of. It says what the session has cost so far. */
const costing = (total: number) => ({ type: 'result', subtype: 'success', total_cost_usd: total });

interface Control {
  type: string;
  request_id?: string;
  request?: { subtype: string };
}

/** Returns how a claude speaks its control protocol, and notes what its servers do outside of the turn. */
export function claudeProtocol() {
  const versions: (string | null)[] = [];
  const calls: string[] = [];
  const interrupts: unknown[] = [];
  /** The arguments of the processes that replace the first one, which all fail to start. */
  const restarts: (readonly string[])[] = [];
  const unknown: string[] = [];
  let advance = (_ms: number): void => undefined;
  /** The saved memory of the adapter while it waits for an answer of claude. */
  const meanwhile: (object | null)[] = [];
  let adapter: ClaudeAgent | undefined;
  /** The control requests since the next turn began. */
  let settings: object[] = [];
  const protocol: Protocol = {
    refs: [SESSION],
    newAgent(child, deps, from) {
      advance = (ms) => deps.clock.advance(ms);
      let isStarted = from !== null;
      const start = async ({ args }: { args: readonly string[] }) => {
        if (isStarted) restarts.push(args);
        if (isStarted) throw new Error('there is one process');
        isStarted = true;
        return child;
      };
      const command = {
        command: '',
        args: [],
        env: { IS_SANDBOX: '1' },
        supervisor: { start } as never,
        clock: deps.clock,
      };
      const options = {
        ...deps,
        ...command,
        program: async () => command,
        signal: new AbortController().signal,
        login: { id: 'claude' as const, hasOwnHome: false, from: {}, given: {} },
        onEnded: <T>(outcome: T) => outcome,
        toolsFor: () => toolsOf(calls),
        onUnknown: () => void unknown.push('unknown'),
        starting: <T>(start: () => Promise<T>) => start(),
        modes: () => null,
        onModes: () => undefined,
        onInitialized: ({ version }: { version: string | null }) => void versions.push(version),
      };
      const agent = new ClaudeAgent(from ? child : null, options, from);
      adapter = agent;
      return { agent, open: () => agent.start('new') };
    },
    framed: (message) => message,
    hear(line) {
      const { type, request_id: id, request } = JSON.parse(line) as Control;
      if (type === 'control_response') return { isAnswer: true };
      if (type === 'user') return { isPrompt: true, replies: [costing(5)] };
      if (request?.subtype === 'interrupt') {
        interrupts.push(id);
        return { names: { [INTERRUPT]: id } };
      }
      if (request) settings.push(request);
      if (adapter) meanwhile.push(adapter.save());
      const response = results[request?.subtype ?? ''] ?? {};
      const answer = {
        type: 'control_response',
        response: { subtype: 'success', request_id: id, response },
      };
      return { replies: request?.subtype === 'get_settings' ? [costing(2), answer] : [answer] };
    },
  };
  /** Sends a prompt after the turn. The answer has the settings that claude was given, and the outcome. */
  const next = (wantedSettings: Partial<TurnSettings>): Step => ({
    async ask(agent) {
      const wanted = { ...defaultSettings(), ...wantedSettings };
      const objection = agent.objection(wanted)?.message ?? null;
      settings = [];
      const late = async () => {
        for (let rounds = 0; rounds < MAX_ROUNDS; rounds++) await nextLoop();
        return 'the turn does not end';
      };
      const outcome = await Promise.race([agent.prompt([], wanted), late()]);
      return { objection, settings, outcome };
    },
  });
  const seen = { versions, calls, interrupts, meanwhile, restarts, unknown };
  return { protocol, next, advance: (ms: number) => advance(ms), ...seen };
}

/** Tools that answer at once, except one: that answers after a notification. */
function toolsOf(calls: string[]): AgentTools {
  return {
    others: [],
    sidecar: { command: '', args: [], env: {} },
    renew: () => undefined,
    decline: () => undefined,
    connect(send) {
      const slow: (() => void)[] = [];
      return {
        take(message) {
          const { id, method, params } = message as {
            id?: number;
            method: string;
            params?: { name?: string };
          };
          if (method === 'notifications/done') for (const answer of slow.splice(0)) answer();
          if (id === undefined) return;
          if (method === 'tools/call') calls.push(params?.name ?? '');
          const answer = () => send({ jsonrpc: '2.0', id, result: { of: method } });
          if (params?.name === 'slow') slow.push(answer);
          else void Promise.resolve().then(answer);
        },
        close: () => undefined,
      };
    },
  };
}
