import path from 'node:path';
import { providerKinds } from '../../api/provider-kinds.ts';
import type { AuthStatus, Model } from '../../api/providers.ts';
import type { Session } from '../../api/sessions.ts';
import { InstalledProvider } from '../installed.ts';
import { LOGIN_MS } from '../login-watch.ts';
import type {
  Agent,
  AgentSink,
  KnownSession,
  Login,
  Provider,
  ProviderError,
  TurnSettings,
} from '../provider.ts';
import { openClaude } from './agent.ts';
import { type ClaudeOptions, askModels } from './process.ts';
import { askStatus, endLogin, readKey, removeKey, writeKey } from './login.ts';
import { objectionTo } from './settings.ts';
import fs from 'node:fs/promises';

/** Claude Code, one process a session. */
export class ClaudeProvider extends InstalledProvider implements Provider {
  readonly id = 'claude';
  readonly capabilities = providerKinds.claude.capabilities;
  readonly login: Login = {
    setKey: async (key) => {
      writeKey(this.ownHome(), key);
      this.loginChanged();
      return this.authStatus();
    },
    end: async () => {
      await removeKey(this.ownHome());
      if (this.problem() === null) await endLogin(await this.#command());
      this.logins.forget();
      return this.authStatus();
    },
  };
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

  async open(session: Session, sink: AgentSink, signal: AbortSignal): Promise<Agent> {
    const opening = openClaude(session, sink, await this.#options(signal));
    return this.health.noted(opening, signal);
  }

  async #options(signal: AbortSignal): Promise<ClaudeOptions> {
    return {
      ...(await this.#command()),
      ...this.agentDeps(signal),
      starting: (start) => this.health.started(start, signal),
      modes: () => this.#modes,
      onModes: (modes) => {
        this.#modes = modes;
      },
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

/** Where claude keeps its sessions. */
function configDirectory(env: Readonly<Record<string, string>>): string {
  return env.CLAUDE_CONFIG_DIR ?? path.join(env.HOME ?? '/', '.claude');
}

const SUFFIX = '.jsonl';

/** The ids of the sessions that have a transcript; null where the configuration directory does not exist. */
async function listTranscripts(configDirectory: string): Promise<Set<string> | null> {
  if ((await namesIn(configDirectory)) === null) return null;
  const projects = path.join(configDirectory, 'projects');
  const ids = new Set<string>();
  for (const project of (await namesIn(projects)) ?? []) {
    for (const name of (await namesIn(path.join(projects, project))) ?? [])
      if (name.endsWith(SUFFIX)) ids.add(name.slice(0, -SUFFIX.length));
  }
  return ids;
}

async function namesIn(directory: string): Promise<string[] | null> {
  try {
    return await fs.readdir(directory);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw error;
  }
}
