import type { StoredInputItem } from '../../src/api/input.ts';
import type { Capabilities } from '../../src/api/provider-kinds.ts';
import type { Session } from '../../src/api/sessions.ts';
import type { ForkPoint } from '../../src/agents/conversations.ts';
import {
  type Agent,
  type AgentAnswer,
  type AgentRequest,
  type AgentSink,
  defaultSettings,
  type Provider,
  type ProviderError,
  type TurnOutcome,
  type TurnSettings,
} from '../../src/agents/provider.ts';
import { withTimeout } from './sessions/with-timeout.ts';

/** An agent in this process that the test controls. */
export interface ScriptedAgent {
  /** The session when the agent was opened. A session with a ref was resumed. */
  session: Session;
  /** The point at which it was to fork another conversation. */
  fork: ForkPoint | undefined;
  /** The calls of the agent, in order: `prompt`, `cancel`, `end`. */
  calls: string[];
  /** Ends the agent as if it died by itself. */
  die(how: string): void;
  /** Ends the connection of the agent, while its process keeps running. */
  hangUp(): void;
  /** Resolves with the grace period when the agent is to end. */
  endRequested: Promise<number>;
  /** Resolves once the agent is gone. */
  gone: Promise<string>;
}

/** One turn of a scripted agent. */
export interface ScriptedTurn {
  session: Session;
  input: readonly StoredInputItem[];
  /** The texts of the input, one in each line. */
  text: string;
  settings: TurnSettings;
  agent: ScriptedAgent;
  sink: AgentSink;
  ask(request?: Partial<AgentRequest>, withdrawn?: AbortSignal): Promise<AgentAnswer>;
  end(outcome: TurnOutcome): void;
  cancelled: Promise<void>;
}

/** A provider with scripted agents, which may die, refuse turns or lose sessions. */
export interface ScriptedProvider extends Provider {
  /** Resolves with the next turn that reaches an agent. */
  nextTurn(): Promise<ScriptedTurn>;
  /** The number of agents that were opened. */
  opened(): number;
  /** Makes the next open throw. */
  refuseOpen(error: Error): void;
  /** All agents that were opened, oldest first. */
  readonly agents: readonly ScriptedAgent[];
  /** The number of agents that start, live or end now, and its maximum. */
  readonly live: { now: number; most: number };
  /** Stops all delays of starts and ends of agents at the end of a test. */
  drop(): void;
}

export interface ScriptedOptions {
  /** The id of the provider (default: acp). */
  id?: Provider['id'];
  login?: Provider['login'];
  capabilities?: Partial<Capabilities>;
  imagesByAgent?: boolean;
  problem?: () => string | null;
  objection?: (settings: TurnSettings) => ProviderError | null;
  listed?: Provider['listed'];
  has?: Provider['has'];
  /** Whether the agent of a session could be resumed (default: yes). */
  canResume?: (session: Session) => boolean;
  /** Called for each turn instead of keeping it for `nextTurn`. */
  onTurn?: (turn: ScriptedTurn) => void;
  /** Whether agents fork conversations (default: no). */
  forks?: boolean;
  /** Delays the start, or the end, of an agent until the promise resolves. */
  opening?: (session: Session) => Promise<void>;
  ending?: (agent: ScriptedAgent) => Promise<void>;
}

/** Completes a turn. */
export const completed: TurnOutcome = { status: 'completed', error: null };

/** The options of a runtime whose agents complete each turn at once. */
export const scripted = () => ({ providers: [scriptedProvider((turn) => turn.end(completed))] });

export function scriptedProvider(
  given: ScriptedOptions | ((turn: ScriptedTurn) => void) = {},
): ScriptedProvider {
  const options: ScriptedOptions = typeof given === 'function' ? { onTurn: given } : given;
  const agents: ScriptedAgent[] = [];
  const live = { now: 0, most: 0 };
  const turns: ScriptedTurn[] = [];
  const waiting: ((turn: ScriptedTurn) => void)[] = [];
  const refusals: Error[] = [];
  const dropped = Promise.withResolvers<void>();
  const onTurn = (turn: ScriptedTurn) => {
    const next = waiting.shift();
    if (options.onTurn) options.onTurn(turn);
    else if (next) next(turn);
    else turns.push(turn);
  };
  return {
    id: options.id ?? 'acp',
    displayName: 'Scripted',
    enabled: true,
    ...(options.login && { login: options.login }),
    capabilities: { ...capabilities, ...options.capabilities },
    imagesByAgent: options.imagesByAgent ?? false,
    problem: options.problem ?? (() => null),
    stats: () => ({
      version: null,
      command: null,
      pid: null,
      unknown_messages: 0,
      last_error: null,
    }),
    authStatus: async () => ({ authenticated: true, mode: 'not_needed', detail: '' }),
    models: async () => [],
    conversations: {
      list: async () => [],
      find: async () => null,
      turns: async () => ({ turns: [], omitted: 0, newest: null }),
      holders: async () => () => null,
      command: (ref) => ['agent', ref],
    },
    listed: options.listed ?? (async () => new Set()),
    has: options.has ?? (async () => true),
    agents,
    live,
    opened: () => agents.length,
    refuseOpen: (error) => void refusals.push(error),
    drop: dropped.resolve,
    nextTurn() {
      const turn = turns.shift();
      if (turn) return Promise.resolve(turn);
      return withTimeout(new Promise((resolve) => waiting.push(resolve)), 'a turn of an agent');
    },
    async open(session, sink, signal, fork) {
      live.most = Math.max(live.most, ++live.now);
      try {
        if (options.opening)
          await Promise.race([
            options.opening(session),
            failsAfter(dropped.promise),
            abort(signal),
          ]);
        const refusal = refusals.shift();
        if (refusal) throw refusal;
        const left = () => void live.now--;
        return openAgent(session, sink, {
          options,
          agents,
          onTurn,
          left,
          dropped: dropped.promise,
          fork,
        });
      } catch (error) {
        live.now--;
        throw error;
      }
    },
  };
}

const capabilities: Capabilities = {
  images: false,
  approvals: false,
  interrupt: true,
  resume: true,
  usage: true,
  models: false,
};

async function failsAfter(dropped: Promise<void>): Promise<never> {
  await dropped;
  throw new Error('the test has ended');
}

function abort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason as Error);
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

function openAgent(
  session: Session,
  sink: AgentSink,
  deps: {
    options: ScriptedOptions;
    agents: ScriptedAgent[];
    onTurn: (turn: ScriptedTurn) => void;
    left: () => void;
    dropped: Promise<void>;
    fork: ForkPoint | undefined;
  },
): Agent {
  const { options, agents, onTurn, left, dropped, fork } = deps;
  const gone = Promise.withResolvers<string>();
  const endRequested = Promise.withResolvers<number>();
  let lives = true;
  let isLost = false;
  let cancel: () => void = () => undefined;
  const die = (how: string) => {
    if (lives) left();
    lives = false;
    isLost = true;
    gone.resolve(how);
  };
  const agent: ScriptedAgent = {
    session,
    fork,
    calls: [],
    die,
    hangUp: () => void (isLost = true),
    endRequested: endRequested.promise,
    gone: gone.promise,
  };
  agents.push(agent);
  return {
    ref: session.provider_session_ref ?? `ref-${session.id}`,
    pid: null,
    canResume: options.canResume?.(session) ?? true,
    isForked: fork !== undefined && options.forks === true ? true : undefined,
    defaults: defaultSettings(),
    gone: gone.promise,
    objection: (settings) => options.objection?.(settings) ?? null,
    isLost: () => isLost,
    prompt(input, settings) {
      agent.calls.push('prompt');
      const end = Promise.withResolvers<TurnOutcome>();
      const cancelled = Promise.withResolvers<void>();
      cancel = cancelled.resolve;
      onTurn({
        session,
        input,
        text: input.map((item) => ('text' in item ? String(item.text) : '')).join('\n'),
        settings,
        agent,
        sink,
        ask: (request, withdrawn = new AbortController().signal) =>
          sink.ask({ ...writeFile, ...request }, withdrawn),
        end: end.resolve,
        cancelled: cancelled.promise,
      });
      return end.promise;
    },
    cancel() {
      agent.calls.push('cancel');
      cancel();
    },
    async end(graceMs) {
      agent.calls.push('end');
      endRequested.resolve(graceMs);
      await Promise.race([options.ending?.(agent), dropped]);
      die('was ended');
    },
  };
}

/** The request of a scripted agent unless the test passes another one. */
export const writeFile: AgentRequest = {
  kind: 'file_change',
  title: 'write notes.txt',
  request: { tool: 'write', path: 'notes.txt', text: 'hello' },
  details: [
    {
      type: 'diff',
      path: 'notes.txt',
      diff: '--- /dev/null\n+++ notes.txt\n@@ -0,0 +1 @@\n+hello\n',
    },
  ],
  scopes: ['once', 'session'],
  sessionAllows: 'each change of notes.txt',
  subject: { tool: 'write', path: 'notes.txt' },
};
