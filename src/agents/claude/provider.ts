import path from 'node:path';
import { providerKinds } from '../../api/provider-kinds.ts';
import type { AuthStatus, Model } from '../../api/providers.ts';
import type { Session } from '../../api/sessions.ts';
import { HealthRecord } from '../health-record.ts';
import { InstalledAgent, type InstalledSettings } from '../installed.ts';
import { LOGIN_MS, LoginWatch } from '../login-watch.ts';
import { ModelCache } from '../model-cache.ts';
import { logoutOf } from '../own-home.ts';
import type {
  Agent,
  AgentSink,
  KnownSession,
  Login,
  Provider,
  ProviderContext,
  ProviderError,
  TurnSettings,
} from '../provider.ts';
import type { SeenLogin } from '../seen-login.ts';
import { openClaude } from './agent.ts';
import { askModels, type ClaudeOptions } from './initialized.ts';
import { askStatus, endLogin, readKey, removeKey, writeKey } from './login.ts';
import { objectionTo } from './settings.ts';
import { listTranscripts } from './transcripts.ts';

/** Claude Code, one process a session. */
export class ClaudeProvider implements Provider {
  readonly id = 'claude';
  readonly displayName = providerKinds.claude.displayName;
  readonly capabilities = providerKinds.claude.capabilities;
  readonly login: Login = {
    setKey: async (key) => {
      writeKey(this.#installed.ownHome(), key);
      this.#loginChanged();
      return this.authStatus();
    },
    end: async () => {
      await removeKey(this.#installed.ownHome());
      if (this.problem() === null) await endLogin(await this.#command());
      this.#logins.forget();
      return this.authStatus();
    },
  };
  readonly #context: ProviderContext;
  readonly #installed: InstalledAgent;
  readonly #health = new HealthRecord();
  readonly #models: ModelCache;
  readonly #logins: LoginWatch;
  /** The modes that claude has named; null: it has named none yet. */
  #modes: readonly string[] | null = null;

  constructor(settings: InstalledSettings, context: ProviderContext) {
    this.#context = context;
    this.#installed = new InstalledAgent('claude', settings);
    this.#models = new ModelCache(context.clock);
    const ask = async () => askStatus(await this.#command(), this.#installed.login, LOGIN_MS);
    this.#logins = new LoginWatch(context.clock, context.asksLogins === true ? ask : null);
  }

  get enabled(): boolean {
    return this.#installed.isEnabled;
  }

  problem(): string | null {
    return this.#installed.problem();
  }

  startFailure(): string | null {
    return this.#health.startFailure;
  }

  objection(settings: TurnSettings): ProviderError | null {
    return objectionTo(settings, this.#models.newest, this.#environmentWithoutKey(), this.#modes);
  }

  loggedOut(): string | null {
    return logoutOf(this.#installed.login, this.#health.isLoggedOut);
  }

  stats() {
    return this.#health.stats(this.#installed.settings.command);
  }

  lastAuth(): SeenLogin {
    return this.#installed.lastAuth(this.#logins);
  }

  async authStatus(): Promise<AuthStatus> {
    const status = await this.#installed.authStatus(async () =>
      askStatus(await this.#command(), this.#installed.login),
    );
    this.#logins.set(status);
    return status;
  }

  #loginChanged(): void {
    this.#health.loginChanged();
    this.#logins.forget();
  }

  async models(): Promise<Model[]> {
    const ask = async () =>
      askModels(process.cwd(), await this.#options(new AbortController().signal));
    return [...(await this.#models.fresh(() => this.#health.noted(ask())))];
  }

  listed(): Promise<ReadonlySet<string> | null> {
    return listTranscripts(configDirectory(this.#environmentWithoutKey()));
  }

  async has({ ref, isEmpty }: KnownSession): Promise<boolean> {
    return isEmpty || ((await this.listed())?.has(ref) ?? true);
  }

  async open(session: Session, sink: AgentSink, signal: AbortSignal): Promise<Agent> {
    const opening = openClaude(session, sink, await this.#options(signal));
    return this.#health.noted(opening, signal);
  }

  async #options(signal: AbortSignal): Promise<ClaudeOptions> {
    return {
      ...(await this.#command()),
      login: this.#installed.login,
      onEnded: (outcome) => {
        this.#logins.ended(outcome, this.#installed.login);
        return this.#health.ended(outcome);
      },
      signal,
      toolsFor: this.#context.toolsFor,
      onUnknown: () => {
        this.#health.unknownMessages++;
      },
      starting: (start) => this.#health.started(start, signal),
      modes: () => this.#modes,
      onModes: (modes) => {
        this.#modes = modes;
      },
      onInitialized: ({ version, models }) => {
        // Another version may have other modes.
        if (this.#health.version !== version) this.#modes = null;
        this.#health.version = version;
        this.#models.store(models);
      },
    };
  }

  /** How claude is started. A key of cadre's own is read for each process, and given to claude alone. */
  async #command() {
    const { home, settings } = this.#installed;
    const { supervisor, clock } = this.#context;
    const { command, args } = settings;
    const key = home === null ? null : await readKey(home);
    const env = {
      ...this.#environmentWithoutKey(),
      ...(key === null ? {} : { ANTHROPIC_API_KEY: key }),
    };
    return { command, args, env, supervisor, clock };
  }

  /** Without a choice of the user, claude's model sees the tools of MCP servers at once instead of searching for them. */
  #environmentWithoutKey(): Record<string, string> {
    const { home } = this.#installed;
    const ownHome = home === null ? {} : { CLAUDE_CONFIG_DIR: home };
    const { ENABLE_TOOL_SEARCH = 'false' } = process.env;
    return this.#installed.environment(ownHome, { ENABLE_TOOL_SEARCH });
  }
}

/** Where claude keeps its sessions. */
function configDirectory(env: Readonly<Record<string, string>>): string {
  return env.CLAUDE_CONFIG_DIR ?? path.join(env.HOME ?? '/', '.claude');
}
