import type { Model } from '../../api/providers.ts';
import type { Supervisor } from '../../core/children/supervisor.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { type AgentTools, ProviderError, type TurnOutcome } from '../provider.ts';
import type { Handlers } from './connection.ts';
import { ClaudeProcess } from './process.ts';
import { bypassRefused, type Initialized, readInitialized } from './settings.ts';
import type { LoginSituation } from '../own-home.ts';

/** How claude says, on stderr alone, that it does not have a session. */
const GONE_WORDS = /no conversation found/i;
/** How it says there that it refuses to run without asking. */
const ROOT_WORDS = /root\/sudo/i;

export interface ClaudeOptions {
  command: string;
  /** The configured arguments; those of the adapter come after them. */
  args: readonly string[];
  env: Record<string, string>;
  /** How claude is logged in. */
  login: LoginSituation;
  /** Takes the end of each turn, and returns it. */
  onEnded: (outcome: TurnOutcome) => TurnOutcome;
  supervisor: Supervisor;
  clock: Clock;
  signal: AbortSignal;
  /** The tools that the agent of a session is given. */
  toolsFor: (sessionId: string) => AgentTools;
  onUnknown: () => void;
  /** Starts a process by `start`, and records whether it came up. */
  starting: <T>(start: () => Promise<T>) => Promise<T>;
  /** The modes that claude has named; null: it has named none yet. */
  modes: () => readonly string[] | null;
  onModes: (modes: readonly string[]) => void;
  onInitialized: (initialized: Initialized) => void;
}

const SPEAKING = [
  '-p',
  '--input-format=stream-json',
  '--output-format=stream-json',
  '--verbose',
  '--include-partial-messages',
  '--permission-prompt-tool=stdio',
];

const silent: Handlers = {
  onMessage: () => undefined,
  onRequest: () => undefined,
  onWithdrawn: () => undefined,
  onUnknown: () => undefined,
};

/** The models that claude lists, asked of a process that is started for that alone. */
export async function askModels(cwd: string, options: ClaudeOptions): Promise<Model[]> {
  let models: Model[] = [];
  const onInitialized = (initialized: Initialized) => {
    models = initialized.models;
    options.onInitialized(initialized);
  };
  const start = { cwd, what: 'claude, started to list its models', args: [], hello: {} };
  const claude = await startInitialized(start, silent, { ...options, onInitialized });
  await claude.end(0, false);
  return models;
}

/**
 * Starts a process and initializes it; ends the process where that fails or the signal aborts meanwhile. Throws
 * {@link ProviderError}: `resume_failed` where claude does not have the session that its arguments name.
 */
export async function startInitialized(
  {
    hello,
    servers = null,
    ...about
  }: {
    cwd: string;
    what: string;
    args: readonly string[];
    hello: object;
    /** The MCP servers that it uses from its first turn on; null: none but its own. */
    servers?: object | null;
  },
  handlers: Handlers,
  options: ClaudeOptions,
): Promise<ClaudeProcess> {
  const { signal, starting } = options;
  signal.throwIfAborted();
  const start = { ...options, ...about, args: [...options.args, ...SPEAKING, ...about.args] };
  const claude = await ClaudeProcess.start(start, handlers);
  const abort = () => void claude.end(0, true);
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  try {
    await starting(() => initialize(claude, { hello, servers }, options));
    return claude;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

async function initialize(
  claude: ClaudeProcess,
  { hello, servers }: { hello: object; servers: object | null },
  { signal, onInitialized }: ClaudeOptions,
): Promise<void> {
  try {
    onInitialized(readInitialized(await claude.ask('initialize', hello)));
    if (servers) await claude.ask('mcp_set_servers', { servers });
    signal.throwIfAborted();
  } catch (error) {
    await claude.end(0, true);
    signal.throwIfAborted();
    if (GONE_WORDS.test(claude.stderr)) {
      throw new ProviderError(
        'resume_failed',
        `claude: cannot resume the session: ${claude.stderr}`,
        { cause: error },
      );
    }
    if (ROOT_WORDS.test(claude.stderr)) throw bypassRefused();
    throw error;
  }
}
