import { hostsOfBaseUrls } from '../core/lib/host-lists.ts';
import path from 'node:path';
import { type LoginProviderId, providerKinds } from '../api/provider-kinds.ts';
import type { AuthStatus, Model } from '../api/providers.ts';
import { AppError } from '../api/errors.ts';
import { agentEnvironment, pickVariables } from '../core/children/environment.ts';
import { withoutEmptyHomes } from '../core/lib/agent-homes.ts';
import type { BarrierSandbox } from '../core/children/spawn-barrier.ts';
import type { Session } from '../api/sessions.ts';
import type { Config } from '../core/config/schema.ts';
import type { Clock } from '../core/lib/clock.ts';
import { findProgram } from '../core/lib/find-program.ts';
import type { ProgramOptions } from './agent-process.ts';
import { HealthRecord } from './health-record.ts';
import { loginHint, type LoginSituation, LoginWatch } from './login-watch.ts';
import { type AgentFiles, programsOf } from './agent-sandbox.ts';
import type { AgentTools, Provider, ProviderContext, SeenLogin, TurnOutcome } from './provider.ts';

/** The section `[providers.<id>]` of an agent that the user has installed. */
export type InstalledSettings = Config['providers'][LoginProviderId];

export interface InstalledAgentDeps {
  clock: Clock;
  signal: AbortSignal;
  login: LoginSituation;
  /** Records the end of each turn, and returns it. */
  onEnded: (outcome: TurnOutcome) => TurnOutcome;
  toolsFor: (sessionId: string) => AgentTools;
  onUnknown: () => void;
}

/** The base of the providers whose agent the user has installed: command, home, login, health and models. */
export abstract class InstalledProvider<M extends Model = Model> {
  abstract readonly id: LoginProviderId;
  protected readonly health = new HealthRecord();
  readonly startFailure = () => this.health.startFailure;
  protected readonly context: ProviderContext;
  protected readonly settings: InstalledSettings;
  /** The absolute path of the home that is cadre's alone; null: the agent has the user's own. */
  protected readonly home: string | null;
  protected readonly logins: LoginWatch;
  protected readonly modelCache: ModelCache<M>;
  /** Whether the last turn that needed a login failed for want of one. */
  #isLoggedOut = false;

  constructor(settings: InstalledSettings, context: ProviderContext) {
    this.settings = settings;
    this.context = context;
    this.home = settings.home === null ? null : path.resolve(settings.home);
    this.modelCache = new ModelCache(context.clock);
    const ask = () => this.askLogin();
    this.logins = new LoginWatch(context.clock, context.asksLogins === true ? ask : null);
  }

  /** Asks the program for its login state, in the background and for a limited time. */
  protected abstract askLogin(): Promise<AuthStatus>;

  /** Asks the agent for its login state, also if it takes long. */
  protected abstract readLogin(): Promise<AuthStatus>;

  get displayName(): string {
    return providerKinds[this.id].displayName;
  }

  get enabled(): boolean {
    return this.settings.enabled ?? this.#isInstalled;
  }

  problem(): string | null {
    const { enabled, command } = this.settings;
    const key = `providers.${this.id}`;
    if (enabled === false) return `disabled: set ${key}.enabled to true`;
    if (this.#isInstalled) return null;
    const { product } = providerKinds[this.id].login;
    return `command "${command}" not found on PATH: install ${product}, or set ${key}.command`;
  }

  loggedOut(): string | null {
    return this.#isLoggedOut ? `not logged in: ${loginHint(this.situation)}` : null;
  }

  stats(): ReturnType<Provider['stats']> {
    return this.health.stats(this.settings.command);
  }

  lastAuth(): SeenLogin {
    const detail = this.problem();
    if (detail === null) return this.logins.get();
    const never = { checked_at: null, is_stale: false };
    return { authenticated: null, mode: 'not_configured', detail, ...never };
  }

  async authStatus(): Promise<AuthStatus> {
    const status = await this.readLogin();
    this.logins.set(status);
    return status;
  }

  /** Returns the result of `ask`, unless the agent cannot start. */
  protected async loginBy(ask: () => Promise<AuthStatus>): Promise<AuthStatus> {
    const detail = this.problem();
    if (detail !== null) return { authenticated: false, mode: 'not_configured', detail };
    return ask();
  }

  /** Somebody has logged in. */
  protected noteLogin(): void {
    this.#isLoggedOut = false;
    this.loginChanged();
  }

  /** The agent is asked again for what depends on its login. */
  protected loginChanged(): void {
    this.logins.forget();
    this.modelCache.expire();
  }

  /** The home that is cadre's alone. Throws AppError `provider_managed` where the agent has the user's own. */
  protected ownHome(): string {
    if (this.home !== null) return this.home;
    const { login, logout } = providerKinds[this.id].login.commands;
    throw new AppError(
      'provider_managed',
      `cannot change the login of ${this.id}, because the login belongs to the user who runs cadre: run "${login}" or "${logout}" ` +
        `as that user, or set providers.${this.id}.home to a separate home directory for ${this.id}`,
    );
  }

  /** The environment of the agent. `more` overrides what the server passes on, `last` overrides the configuration. */
  protected environment(
    last: Readonly<Record<string, string>>,
    more: Readonly<Record<string, string>> = {},
  ): Record<string, string> {
    const { pass_env, env } = this.settings;
    const passed = pickVariables(pass_env, process.env);
    const all = agentEnvironment(process.env, { ...more, ...passed, ...env, ...last });
    return withoutEmptyHomes(all);
  }

  protected get situation(): LoginSituation {
    const hasOwnHome = this.home !== null;
    return { id: this.id, hasOwnHome, from: process.env, given: this.environment({}) };
  }

  protected program(env: Record<string, string>): ProgramOptions {
    const { supervisor, clock } = this.context;
    const { command, args } = this.settings;
    return { command, args, env, supervisor, clock };
  }

  /** Returns the words that start the program in a shell of the user, with the home that is cadre's alone. */
  protected programWords(homeVariable: string): string[] {
    const own = this.home === null ? [] : ['env', `${homeVariable}=${this.home}`];
    return [...own, this.settings.command, ...this.settings.args];
  }

  /** Resolves with the sandbox of a session's agent, which keeps its state and settings in these files. */
  protected async sandboxFor(
    session: Session,
    files: Pick<AgentFiles, 'state' | 'scratch' | 'settings' | 'pinned' | 'hosts'>,
  ): Promise<BarrierSandbox | null> {
    const { command, args, env, sandbox: more } = this.settings;
    const programs = programsOf(command, args, env.PATH ?? process.env.PATH);
    const section = `providers.${this.id}`;
    const { sandboxFor } = this.context;
    const hosts = [...files.hosts, ...hostsOfBaseUrls(this.environment({}))];
    return (await sandboxFor?.(session, { section, programs, more, ...files, hosts })) ?? null;
  }

  protected agentDeps(signal: AbortSignal): InstalledAgentDeps {
    const { clock, toolsFor } = this.context;
    const login = this.situation;
    const onEnded = (outcome: TurnOutcome) => {
      this.logins.ended(outcome, login);
      if (outcome.error?.code === 'auth_required') this.#isLoggedOut = true;
      if (outcome.status === 'completed') this.#isLoggedOut = false;
      return outcome;
    };
    return { clock, signal, login, onEnded, toolsFor, onUnknown: this.health.countUnknown };
  }

  get #isInstalled(): boolean {
    const { command, env } = this.settings;
    return findProgram(command, env.PATH ?? process.env.PATH) !== null;
  }
}

/** A list of models is valid for this time. */
const FRESH_MS = 600_000;

/** The models that an agent has listed, so that it is not asked for them each time. */
export class ModelCache<M extends Model = Model> {
  readonly #clock: Clock;
  #newest: { readonly models: readonly M[]; readonly at: number } | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The newest list, however old; empty before the first. */
  get newest(): readonly M[] {
    return this.#newest?.models ?? [];
  }

  store(models: readonly M[]): void {
    this.#newest = { models, at: this.#clock.monotonic() };
  }

  /** The next use asks for a new list: another login may have other models. */
  expire(): void {
    if (this.#newest) this.#newest = { ...this.#newest, at: Number.NEGATIVE_INFINITY };
  }

  /** The newest list, or what `load` gives where that list is more than ten minutes old. Rejects as `load` does. */
  async fresh(load: () => Promise<readonly M[]>): Promise<readonly M[]> {
    const isFresh = this.#newest && this.#clock.monotonic() - this.#newest.at <= FRESH_MS;
    if (!isFresh) this.store(await load());
    return this.newest;
  }
}
