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
import type { ProgramOptions } from '../run-program.ts';
import { openCodex } from './agent.ts';
import { AppServer } from './app-server.ts';
import { askStatus, makeHome, readAccount, writeAuth } from './login.ts';
import { type CodexModel, listModels } from './models.ts';
import { objectionTo } from './settings.ts';
import { SharedServer } from './shared-server.ts';
import { hasThread, listThreads } from './threads.ts';

/** OpenAI Codex, one app-server for all sessions. */
export class CodexProvider implements Provider {
  readonly id = 'codex';
  readonly displayName = providerKinds.codex.displayName;
  readonly capabilities = providerKinds.codex.capabilities;
  readonly login: Login = {
    setKey: async (apiKey) => {
      this.#installed.ownHome();
      await this.#ask('account/login/start', { type: 'apiKey', apiKey });
      this.#loginChanged();
      return this.#authStatus();
    },
    import: async (auth) => {
      writeAuth(this.#installed.ownHome(), auth);
      this.#loginChanged();
      // A running server has read the login before.
      await this.#shared.retire();
      return this.#authStatus();
    },
    end: async () => {
      this.#installed.ownHome();
      await this.#ask('account/logout', {});
      this.#logins.forget();
      return this.#authStatus();
    },
  };
  readonly #context: ProviderContext;
  readonly #installed: InstalledAgent;
  readonly #health = new HealthRecord();
  readonly #models: ModelCache<CodexModel>;
  readonly #shared: SharedServer;
  readonly #logins: LoginWatch;

  constructor(settings: InstalledSettings, context: ProviderContext) {
    this.#context = context;
    this.#installed = new InstalledAgent('codex', settings);
    this.#models = new ModelCache(context.clock);
    this.#shared = new SharedServer(context.clock, () => this.#start());
    const ask = async () => (await askStatus(this.#program(), LOGIN_MS)) ?? this.#authStatus();
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
    return objectionTo(settings, null, this.#models.newest);
  }

  loggedOut(): string | null {
    return logoutOf(this.#installed.login, this.#health.isLoggedOut);
  }

  stats() {
    const { command } = this.#installed.settings;
    return { ...this.#health.stats(command), pid: this.#shared.pid };
  }

  lastAuth(): SeenLogin {
    return this.#installed.lastAuth(this.#logins);
  }

  async authStatus(): Promise<AuthStatus> {
    const status = await this.#health.noted(this.#authStatus());
    this.#logins.set(status);
    return status;
  }

  #loginChanged(): void {
    this.#health.loginChanged();
    this.#logins.forget();
  }

  async models(): Promise<Model[]> {
    const models = await this.#health.noted(this.#listModels());
    return models.map(({ id, display_name, reasoning_levels }) => ({
      id,
      display_name,
      reasoning_levels,
    }));
  }

  listed(signal: AbortSignal): Promise<ReadonlySet<string>> {
    const ask = (method: string, params: object) => this.#ask(method, params, signal);
    return this.#health.noted(listThreads(ask), signal);
  }

  has(session: KnownSession, signal: AbortSignal): Promise<boolean> {
    const ask = (method: string, params: object) => this.#ask(method, params, signal);
    return this.#health.noted(hasThread(session, ask), signal);
  }

  open(session: Session, sink: AgentSink, signal: AbortSignal): Promise<Agent> {
    return this.#health.noted(this.#open(session, sink, signal), signal);
  }

  async #open(session: Session, sink: AgentSink, signal: AbortSignal): Promise<Agent> {
    const { clock, toolsFor, supervisor } = this.#context;
    const models = await this.#listModels(signal);
    return openCodex(session, sink, await this.#shared.lease(signal), {
      clock,
      signal,
      models,
      login: this.#installed.login,
      onEnded: (outcome) => {
        this.#logins.ended(outcome, this.#installed.login);
        return this.#health.ended(outcome);
      },
      toolsFor,
      variablesAt: (directory) => supervisor.variablesAt(directory),
      onUnknown: this.#countUnknown,
    });
  }

  #authStatus(): Promise<AuthStatus> {
    return this.#installed.authStatus(async () =>
      readAccount(await this.#ask('account/read', {}), this.#installed.login),
    );
  }

  #listModels(signal?: AbortSignal): Promise<readonly CodexModel[]> {
    return this.#models.fresh(() =>
      listModels((method, params) => this.#ask(method, params, signal)),
    );
  }

  #ask(method: string, params: object, signal?: AbortSignal): Promise<unknown> {
    return this.#shared.use((server) => server.ask(method, params), signal);
  }

  #program(): ProgramOptions {
    const { supervisor, clock } = this.#context;
    const { home, settings } = this.#installed;
    const { command, args } = settings;
    const ownHome = home === null ? {} : { CODEX_HOME: home };
    return {
      command,
      args,
      env: this.#installed.environment(ownHome),
      supervisor,
      clock,
    };
  }

  async #start(): Promise<AppServer> {
    const { home } = this.#installed;
    if (home !== null) makeHome(home);
    const start = {
      ...this.#program(),
      onUnknown: this.#countUnknown,
      onVersion: (version: string | null) => {
        this.#health.version = version;
      },
      onLost: (why: string) => this.#health.note(why),
    };
    return this.#health.started(() => AppServer.start(start));
  }

  readonly #countUnknown = () => {
    this.#health.unknownMessages++;
  };
}
