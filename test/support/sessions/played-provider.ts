import type { Capabilities } from '../../../src/api/provider-kinds.ts';
import type { Session } from '../../../src/api/sessions.ts';
import type {
  AgentAnswer,
  AgentRequest,
  Provider,
  ProviderError,
  TurnSettings,
} from '../../../src/agents/provider.ts';
import { soon } from './soon.ts';
import { scriptedProvider, type ScriptedTurn } from '../scripted-provider.ts';

/** An agent whose life is in the hands of a test. */
export interface PlayedAgent {
  /** As it was when the agent was opened: with a ref, it was resumed. */
  session: Session;
  /** What it was told, in order: `prompt`, `cancel`, `end`. */
  calls: string[];
  /** It dies by itself. */
  die(how: string): void;
  /** Its connection ends, while its process lives on. */
  hangUp(): void;
  /** Resolves with the grace it got, when it is told to end. */
  toldToEnd: Promise<number>;
  /** Resolves when nothing of it is left. */
  gone: Promise<string>;
}

export interface PlayedTurn extends ScriptedTurn {
  settings: TurnSettings;
  agent: PlayedAgent;
  /** What the agent is to be told, as text. */
  text: string;
  ask(request?: Partial<AgentRequest>, withdrawn?: AbortSignal): Promise<AgentAnswer>;
}

/** A scripted provider with more of a life: agents that die, refuse, lose sessions and count. */
export interface PlayedProvider extends Provider {
  nextTurn(): Promise<PlayedTurn>;
  refuseOpen(error: Error): void;
  /** Every agent that was opened, oldest first. */
  readonly agents: readonly PlayedAgent[];
  /** Agents that start, live or end just now, and the most there ever were. */
  readonly live: { now: number; most: number };
  /** The play is over: nothing is held back any more. */
  drop(): void;
}

export interface PlayedOptions {
  /** Whose provider it plays: acp's, if nothing is said. */
  id?: Provider['id'];
  login?: Provider['login'];
  capabilities?: Partial<Capabilities>;
  imagesByAgent?: boolean;
  problem?: () => string | null;
  objection?: (settings: TurnSettings) => ProviderError | null;
  listed?: Provider['listed'];
  has?: Provider['has'];
  /** Whether the agent of a session could be resumed; they all can. */
  canResume?: (session: Session) => boolean;
  /** Called for each turn instead of keeping it for `nextTurn`. */
  onTurn?: (turn: PlayedTurn) => void;
  /** An agent starts, or ends, once this resolves. */
  opening?: (session: Session) => Promise<void>;
  ending?: (agent: PlayedAgent) => Promise<void>;
}

export function playedProvider(options: PlayedOptions = {}): PlayedProvider {
  const { objection, opening, ending, onTurn } = options;
  const agents: PlayedAgent[] = [];
  const live = { now: 0, most: 0 };
  const ready: PlayedTurn[] = [];
  const waiting: ((turn: PlayedTurn) => void)[] = [];
  const curtain = Promise.withResolvers<void>();
  const fallen = () =>
    curtain.promise.then(() => {
      throw new Error('the curtain has fallen');
    });
  const abortion = (signal: AbortSignal) =>
    new Promise<never>((_resolve, reject) => {
      if (signal.aborted) reject(signal.reason);
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  let speaker: { agent: PlayedAgent; settings: TurnSettings } | undefined;
  const base = scriptedProvider((scripted) => {
    if (!speaker) throw new Error('a turn without an agent');
    const turn: PlayedTurn = {
      ...scripted,
      ...speaker,
      text: scripted.input.map((item) => ('text' in item ? String(item.text) : '')).join('\n'),
      ask: (request, withdrawn = new AbortController().signal) =>
        scripted.sink.ask({ ...writeFile, ...request }, withdrawn),
    };
    const wanted = waiting.shift();
    if (onTurn) onTurn(turn);
    else if (wanted) wanted(turn);
    else ready.push(turn);
  });

  return {
    ...base,
    id: options.id ?? base.id,
    ...(options.login && { login: options.login }),
    capabilities: { ...base.capabilities, ...options.capabilities },
    imagesByAgent: options.imagesByAgent ?? false,
    problem: options.problem ?? base.problem,
    listed: options.listed ?? base.listed,
    has: options.has ?? base.has,
    agents,
    live,
    drop: curtain.resolve,
    nextTurn() {
      const turn = ready.shift();
      if (turn) return Promise.resolve(turn);
      return soon(new Promise((resolve) => waiting.push(resolve)), 'a turn at an agent');
    },
    async open(session, sink, signal) {
      live.most = Math.max(live.most, ++live.now);
      try {
        if (opening) await Promise.race([opening(session), fallen(), abortion(signal)]);
        return play(await base.open(session, sink, signal), session);
      } catch (error) {
        live.now--;
        throw error;
      }
    },
  };

  function play(inner: Awaited<ReturnType<Provider['open']>>, session: Session) {
    const gone = Promise.withResolvers<string>();
    const told = Promise.withResolvers<number>();
    let lives = true;
    let isLost = false;
    const leave = (how: string) => {
      if (lives) live.now--;
      lives = false;
      isLost = true;
      gone.resolve(how);
    };
    const agent: PlayedAgent = {
      session,
      calls: [],
      die: leave,
      hangUp: () => void (isLost = true),
      toldToEnd: told.promise,
      gone: gone.promise,
    };
    agents.push(agent);
    return {
      ...inner,
      canResume: options.canResume?.(session) ?? true,
      gone: gone.promise,
      isLost: () => isLost,
      objection: (settings: TurnSettings) => objection?.(settings) ?? null,
      prompt(...[input, settings]: Parameters<typeof inner.prompt>) {
        agent.calls.push('prompt');
        speaker = { agent, settings };
        return inner.prompt(input, settings);
      },
      cancel() {
        agent.calls.push('cancel');
        inner.cancel();
      },
      async end(graceMs: number) {
        agent.calls.push('end');
        told.resolve(graceMs);
        await Promise.race([ending?.(agent), curtain.promise]);
        await inner.end(graceMs);
        leave('was ended');
      },
    };
  }
}

/** What a played agent asks where a test says nothing else. */
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
