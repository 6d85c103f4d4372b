import { homeDirectory } from '../../core/lib/home-directory.ts';
import path from 'node:path';
import {
  attached,
  type AttachedAgent,
  type SurvivingAgent,
  type TakesOver,
} from '../attached-turn.ts';
import { providerKinds } from '../../api/provider-kinds.ts';
import type { AuthStatus, Model } from '../../api/providers.ts';
import type { Session } from '../../api/sessions.ts';
import type { ForkPoint } from '../conversations.ts';
import { CLAUDE_HOSTS } from '../model-hosts.ts';
import { InstalledProvider } from '../installed.ts';
import { LOGIN_MS, loggedIn, type LoginSituation, loggedOut } from '../login-watch.ts';
import {
  type Agent,
  type AgentSink,
  type KnownSession,
  type Login,
  type Provider,
  ProviderError,
  type TurnSettings,
  unavailable,
} from '../provider.ts';
import { ClaudeAgent } from './agent.ts';
import { ClaudeConversations } from './conversations.ts';
import { askModels, begin, type ClaudeOptions } from './process.ts';
import { objectionTo } from './settings.ts';
import { namesIn, projectsOf } from './transcript.ts';
import fs from 'node:fs/promises';
import { z } from 'zod';
import { readForeignFile } from '../../core/lib/foreign-file.ts';
import { makeDirectory } from '../../core/lib/make-directory.ts';
import { replaceFile } from '../../core/lib/replace-file.ts';
import { parsedJson } from '../../core/lib/parsed-json.ts';
import { type ProgramOptions, runProgram } from '../agent-process.ts';

/** Claude Code, one process a session. */
export class ClaudeProvider extends InstalledProvider implements Provider, TakesOver {
  readonly id = 'claude';
  readonly capabilities = providerKinds.claude.capabilities;
  readonly login: Login = {
    setKey: async (key) => {
      const home = this.ownHome();
      makeDirectory(home);
      replaceFile(path.join(home, KEY_FILE), `${key}\n`);
      this.noteLogin();
      return this.authStatus();
    },
    end: async () => {
      await fs.rm(path.join(this.ownHome(), KEY_FILE), { force: true });
      if (this.problem() === null) await endLogin(await this.#command());
      this.loginChanged();
      return this.authStatus();
    },
  };
  readonly conversations = new ClaudeConversations({
    home: () => configDirectory(this.#environmentWithoutKey()),
    program: () => this.programWords('CLAUDE_CONFIG_DIR'),
    owns: (pid) => this.context.supervisor.owns(pid),
  });
  /** The modes that claude has named; null: it has named none yet. */
  #modes: readonly string[] | null = null;

  objection(settings: TurnSettings): ProviderError | null {
    return objectionTo(
      settings,
      this.modelCache.newest,
      this.#environmentWithoutKey(),
      this.#modes,
    );
  }

  protected async askLogin(): Promise<AuthStatus> {
    return askStatus(await this.#command(), this.situation, LOGIN_MS);
  }

  protected readLogin(): Promise<AuthStatus> {
    return this.loginBy(async () => askStatus(await this.#command(), this.situation));
  }

  async models(): Promise<Model[]> {
    const ask = async () =>
      askModels(process.cwd(), await this.#options(new AbortController().signal));
    return [...(await this.modelCache.fresh(() => this.health.noted(ask())))];
  }

  listed(): Promise<ReadonlySet<string> | null> {
    return listTranscripts(configDirectory(this.#environmentWithoutKey()));
  }

  async has({ ref, isEmpty }: KnownSession): Promise<boolean> {
    return isEmpty || ((await this.listed())?.has(ref) ?? true);
  }

  async open(...asked: Parameters<Provider['open']>): Promise<Agent> {
    return this.health.noted(this.#open(...asked), asked[2]);
  }

  attach(...[session, sink, left]: Parameters<TakesOver['attach']>): AttachedAgent {
    const { signal } = new AbortController();
    // The process has its key already.
    const program = this.program(this.#environmentWithoutKey());
    return attachClaude(session, sink, left, this.#optionsFor(program, signal, session));
  }

  async #open(...[session, sink, signal, fork]: Parameters<Provider['open']>): Promise<Agent> {
    const options = this.#optionsFor(await this.#programOf(session), signal, session);
    return openClaude(session, sink, options, fork ?? null);
  }

  /** How claude is started for a session: in its sandbox. */
  async #programOf(session: Session): Promise<ProgramOptions> {
    const program = await this.#command();
    // In a sandbox, the home directory is always the home directory of the user.
    const directory = configDirectory(program.env, homeDirectory(process.env));
    const sandbox = await this.sandboxFor(session, {
      state: [path.join(directory, 'projects')],
      scratch: SCRATCH.map((name) => path.join(directory, name)),
      settings: [directory],
      pinned: [],
      hosts: CLAUDE_HOSTS,
    });
    return { ...program, sandbox };
  }

  async #options(signal: AbortSignal): Promise<ClaudeOptions> {
    return this.#optionsFor(await this.#command(), signal);
  }

  #optionsFor(
    program: ProgramOptions,
    signal: AbortSignal,
    session: Session | null = null,
  ): ClaudeOptions {
    return {
      ...program,
      program: () => (session === null ? this.#command() : this.#programOf(session)),
      ...this.agentDeps(signal),
      starting: (start) => this.health.started(start, signal),
      modes: () => this.#modes,
      onModes: (modes) => void (this.#modes = modes),
      onInitialized: ({ version, models }) => {
        // Another version may have other modes.
        if (this.health.version !== version) this.#modes = null;
        this.health.version = version;
        this.modelCache.store(models);
      },
    };
  }

  /** How claude is started. A key of cadre's own is read for each process, and given to claude alone. */
  async #command() {
    const key = this.home === null ? null : await readKey(this.home);
    return this.program({
      ...this.#environmentWithoutKey(),
      ...(key === null ? {} : { ANTHROPIC_API_KEY: key }),
    });
  }

  /** Without a choice of the user, claude's model sees the tools of MCP servers at once instead of searching for them. */
  #environmentWithoutKey(): Record<string, string> {
    const ownHome = this.home === null ? {} : { CLAUDE_CONFIG_DIR: this.home };
    const { ENABLE_TOOL_SEARCH = 'false' } = process.env;
    return this.environment(ownHome, { ENABLE_TOOL_SEARCH });
  }
}

/** Starts an agent for one session, or resumes the session in a new one. Errors as in `Provider.open`. */
async function openClaude(
  session: Session,
  sink: AgentSink,
  options: ClaudeOptions,
  fork: ForkPoint | null,
): Promise<Agent> {
  const agent = new ClaudeAgent(null, { ...options, session, sink });
  await begin((beginning) => agent.start(beginning), { session, sink, fork });
  return agent;
}

/** Takes over the agent of a running turn from an earlier server. Errors as in `TakesOver.attach`. */
function attachClaude(
  session: Session,
  sink: AgentSink,
  left: SurvivingAgent,
  options: ClaudeOptions,
): AttachedAgent {
  const { child, position } = left;
  const agent = new ClaudeAgent(child, { ...options, session, sink }, position);
  return attached(agent, session, left, () => child.end(0));
}

/**
 * The directories in which claude keeps files of a turn, for example scripts that it runs before each command. In a sandbox
 * they are the session's own. claude writes its sessions, and only reads its other files.
 */
const SCRATCH = ['todos', 'shell-snapshots', 'session-env', 'file-history'];

function configDirectory(env: Readonly<Record<string, string>>, home = homeDirectory(env)): string {
  return env.CLAUDE_CONFIG_DIR ?? path.join(home, '.claude');
}

const SUFFIX = '.jsonl';

/** The ids of the sessions that have a transcript; null where the configuration directory does not exist. */
async function listTranscripts(home: string): Promise<Set<string> | null> {
  if ((await namesIn(home)) === null) return null;
  const ids = new Set<string>();
  for await (const { names } of projectsOf(home))
    for (const name of names) if (name.endsWith(SUFFIX)) ids.add(path.basename(name, SUFFIX));
  return ids;
}

/** The file of the API key, beside claude's own files in a home that is cadre's alone. */
const KEY_FILE = 'cadre-api-key';
const MAX_KEY_BYTES = 64 * 1024;
const ANSWER_MS = 30_000;

/** The API key that cadre was given, or null. It is read for each process, so the next one has a new key. */
async function readKey(home: string): Promise<string | null> {
  const key = await readForeignFile(home, KEY_FILE, { maxBytes: MAX_KEY_BYTES });
  return key?.toString('utf8').trim() || null;
}

const status = z.looseObject({
  loggedIn: z.boolean(),
  authMethod: z.string().catch(''),
  apiProvider: z.string().catch('firstParty'),
});

/** Whether claude has a login, as it says without a network: not whether the login is valid. */
async function askStatus(
  claude: ProgramOptions,
  login: LoginSituation,
  limitMs = ANSWER_MS,
): Promise<AuthStatus> {
  // The exit code is not looked at: it is 1 where nobody is logged in.
  const { stdout } = await runProgram('claude', ['auth', 'status', '--json'], claude, limitMs);
  const { data } = status.safeParse(parsedJson(stdout));
  if (!data) {
    throw unavailable(
      'claude: cannot read the output of "claude auth status --json": update Claude Code',
    );
  }
  if (!data.loggedIn) return loggedOut(login);
  const own = data.authMethod === 'api_key' ? 'api_key' : 'account';
  return loggedIn('claude', data.apiProvider === 'firstParty' ? own : data.apiProvider);
}

/** Ends the login that claude itself keeps. Throws {@link ProviderError}. */
async function endLogin(claude: ProgramOptions): Promise<void> {
  const { code } = await runProgram('claude', ['auth', 'logout'], claude, ANSWER_MS);
  if (code === 0) return;
  throw unavailable(`claude: "claude auth logout" exited with code ${code}`);
}
