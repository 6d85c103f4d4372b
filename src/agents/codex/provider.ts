import { providerKinds } from '../../api/provider-kinds.ts';
import type { AuthStatus, Model } from '../../api/providers.ts';
import type { Session } from '../../api/sessions.ts';
import { InstalledProvider, type InstalledSettings } from '../installed.ts';
import { LOGIN_MS } from '../login-watch.ts';
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
import type { ProgramOptions } from '../agent-process.ts';
import { openCodex } from './agent.ts';
import { AppServer } from './app-server.ts';
import { askStatus, makeHome, readAccount, writeAuth } from './login.ts';
import { type CodexModel, listModels } from './models.ts';
import { objectionTo } from './settings.ts';
import { SharedServer } from './shared-server.ts';
import { hasThread, listThreads } from './threads.ts';

/** OpenAI Codex, one app-server for all sessions. */
export class CodexProvider extends InstalledProvider<CodexModel> implements Provider {
  readonly id = 'codex';
  readonly capabilities = providerKinds.codex.capabilities;
  readonly login: Login = {
    setKey: async (apiKey) => {
      this.ownHome();
      await this.#ask('account/login/start', { type: 'apiKey', apiKey });
      this.loginChanged();
      return this.#authStatus();
    },
    import: async (auth) => {
      writeAuth(this.ownHome(), auth);
      this.loginChanged();
      // A running server has read the login before.
      await this.#shared.retire();
      return this.#authStatus();
    },
    end: async () => {
      this.ownHome();
      await this.#ask('account/logout', {});
      this.logins.forget();
      return this.#authStatus();
    },
  };
  readonly #shared: SharedServer;

  constructor(settings: InstalledSettings, context: ProviderContext) {
    super(settings, context);
    this.#shared = new SharedServer(context.clock, () => this.#start());
  }

  objection(settings: TurnSettings): ProviderError | null {
    return objectionTo(settings, null, this.modelCache.newest);
  }

  override stats() {
    return { ...super.stats(), pid: this.#shared.pid };
  }

  protected async askLogin(): Promise<AuthStatus> {
    return (await askStatus(this.#program(), LOGIN_MS)) ?? this.#authStatus();
  }

  protected readLogin(): Promise<AuthStatus> {
    return this.health.noted(this.#authStatus());
  }

  async models(): Promise<Model[]> {
    const models = await this.health.noted(this.#listModels());
    return models.map(({ id, display_name, reasoning_levels }) => ({
      id,
      display_name,
      reasoning_levels,
    }));
  }

  listed(signal: AbortSignal): Promise<ReadonlySet<string>> {
    const ask = (method: string, params: object) => this.#ask(method, params, signal);
    return this.health.noted(listThreads(ask), signal);
  }

  has(session: KnownSession, signal: AbortSignal): Promise<boolean> {
    const ask = (method: string, params: object) => this.#ask(method, params, signal);
    return this.health.noted(hasThread(session, ask), signal);
  }

  open(session: Session, sink: AgentSink, signal: AbortSignal): Promise<Agent> {
    return this.health.noted(this.#open(session, sink, signal), signal);
  }

  async #open(session: Session, sink: AgentSink, signal: AbortSignal): Promise<Agent> {
    const { supervisor } = this.context;
    const models = await this.#listModels(signal);
    return openCodex(session, sink, await this.#shared.lease(signal), {
      ...this.agentDeps(signal),
      models,
      variablesAt: (directory) => supervisor.variablesAt(directory),
    });
  }

  #authStatus(): Promise<AuthStatus> {
    return this.loginBy(async () =>
      readAccount(await this.#ask('account/read', {}), this.situation),
    );
  }

  #listModels(signal?: AbortSignal): Promise<readonly CodexModel[]> {
    return this.modelCache.fresh(() =>
      listModels((method, params) => this.#ask(method, params, signal)),
    );
  }

  #ask(method: string, params: object, signal?: AbortSignal): Promise<unknown> {
    return this.#shared.use((server) => server.ask(method, params), signal);
  }

  #program(): ProgramOptions {
    return this.program(this.environment(this.home === null ? {} : { CODEX_HOME: this.home }));
  }

  async #start(): Promise<AppServer> {
    if (this.home !== null) makeHome(this.home);
    const start = {
      ...this.#program(),
      onUnknown: this.countUnknown,
      onVersion: (version: string | null) => {
        this.health.version = version;
      },
      onLost: (why: string) => this.health.note(why),
    };
    return this.health.started(() => AppServer.start(start));
  }
}
