import type { Session } from '../../src/api/sessions.ts';
import {
  type Agent,
  type AgentSink,
  defaultSettings,
  type Provider,
  type TurnOutcome,
} from '../../src/agents/provider.ts';
import type { StoredInputItem } from '../../src/api/input.ts';

/** One turn, in the hands of a test. */
export interface ScriptedTurn {
  session: Session;
  input: readonly StoredInputItem[];
  sink: AgentSink;
  end(outcome: TurnOutcome): void;
  cancelled: Promise<void>;
}

/** A provider whose agents do what the test does with each turn: for the rules' own tests. */
export interface ScriptedProvider extends Provider {
  /** The next turn that reaches an agent. */
  nextTurn(): Promise<ScriptedTurn>;
  /** How many agents were opened. */
  opened(): number;
  /** Makes the next open throw. */
  refuseOpen(error: Error): void;
}

/** Completes a turn. */
export const completed: TurnOutcome = { status: 'completed', error: null };

export function scriptedProvider(onTurn?: (turn: ScriptedTurn) => void): ScriptedProvider {
  const turns: ScriptedTurn[] = [];
  const waiting: ((turn: ScriptedTurn) => void)[] = [];
  const refusals: Error[] = [];
  let opened = 0;
  const give = (turn: ScriptedTurn) => {
    if (onTurn) onTurn(turn);
    else if (waiting.length > 0) waiting.shift()?.(turn);
    else turns.push(turn);
  };
  return {
    id: 'acp',
    displayName: 'Scripted',
    enabled: true,
    capabilities: {
      images: false,
      approvals: false,
      interrupt: true,
      resume: true,
      usage: true,
      models: false,
    },
    problem: () => null,
    stats: () => ({
      version: null,
      command: null,
      pid: null,
      unknown_messages: 0,
      last_error: null,
    }),
    authStatus: async () => ({ authenticated: true, mode: 'not_needed', detail: '' }),
    models: async () => [],
    listed: async () => new Set(),
    has: async () => true,
    opened: () => opened,
    refuseOpen: (error) => void refusals.push(error),
    nextTurn: () => {
      const turn = turns.shift();
      return turn ? Promise.resolve(turn) : new Promise((resolve) => waiting.push(resolve));
    },
    async open(session, sink) {
      const refusal = refusals.shift();
      if (refusal) throw refusal;
      opened++;
      return scriptedAgent(session, sink, give);
    },
  };
}

function scriptedAgent(
  session: Session,
  sink: AgentSink,
  give: (turn: ScriptedTurn) => void,
): Agent {
  const gone = Promise.withResolvers<string>();
  let isLost = false;
  let cancel: () => void = () => undefined;
  return {
    ref: session.provider_session_ref ?? `ref-${session.id}`,
    pid: null,
    canResume: true,
    defaults: defaultSettings(),
    gone: gone.promise,
    objection: () => null,
    isLost: () => isLost,
    prompt(input) {
      const end = Promise.withResolvers<TurnOutcome>();
      const cancelled = Promise.withResolvers<void>();
      cancel = cancelled.resolve;
      give({ session, input, sink, end: end.resolve, cancelled: cancelled.promise });
      return end.promise;
    },
    cancel: () => cancel(),
    async end() {
      isLost = true;
      gone.resolve('was ended');
    },
  };
}
