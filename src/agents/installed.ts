import path from 'node:path';
import { type LoginProviderId, providerKinds } from '../api/provider-kinds.ts';
import type { AuthStatus } from '../api/providers.ts';
import { AppError } from '../api/errors.ts';
import { agentEnvironment, pickVariables } from '../core/children/environment.ts';
import { findProgram } from '../core/lib/find-program.ts';
import type { LoginWatch } from './login-watch.ts';
import type { SeenLogin } from './seen-login.ts';
import type { LoginSituation } from './own-home.ts';

/** How an agent that the user has installed is configured: the section `[providers.<id>]`. */
export interface InstalledSettings {
  /** Null: enabled where its command is found. */
  enabled: boolean | null;
  command: string;
  /** The arguments before those of the adapter. */
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  /** Variables of the server's environment that the agent gets. */
  pass_env: readonly string[];
  /** A home of the agent that is cadre's alone; null: the user's own. */
  home: string | null;
}

/** An agent that the user has installed: whether it is there, and the home in which it keeps its login. */
export class InstalledAgent {
  readonly settings: InstalledSettings;
  /** The absolute path of the home that is cadre's alone; null: the agent has the user's own. */
  readonly home: string | null;
  readonly #id: LoginProviderId;

  constructor(id: LoginProviderId, settings: InstalledSettings) {
    this.#id = id;
    this.settings = settings;
    this.home = settings.home === null ? null : path.resolve(settings.home);
  }

  get isEnabled(): boolean {
    return this.settings.enabled ?? this.#isInstalled;
  }

  get hasOwnHome(): boolean {
    return this.home !== null;
  }

  /** The environment of the agent. `more` wins over what the server passes on, `last` over the configuration. */
  environment(
    last: Readonly<Record<string, string>>,
    more: Readonly<Record<string, string>> = {},
  ): Record<string, string> {
    const { pass_env, env } = this.settings;
    const passed = pickVariables(pass_env, process.env);
    return agentEnvironment(process.env, { ...more, ...passed, ...env, ...last });
  }

  /** How the agent is logged in. */
  get login(): LoginSituation {
    const given = this.environment({});
    return { id: this.#id, hasOwnHome: this.hasOwnHome, from: process.env, given };
  }

  /** Why no agent could start, and what to do about it; null where one could. */
  problem(): string | null {
    const { enabled, command } = this.settings;
    const key = `providers.${this.#id}`;
    if (enabled === false) return `disabled: set ${key}.enabled to true`;
    if (this.#isInstalled) return null;
    const { product } = providerKinds[this.#id].login;
    return `command "${command}" not found on PATH: install ${product}, or set ${key}.command`;
  }

  /** Returns the newest login state that was read; none is read of an agent that cannot start. */
  lastAuth(logins: LoginWatch): SeenLogin {
    const detail = this.problem();
    if (detail === null) return logins.get();
    const never = { checked_at: null, is_stale: false };
    return { authenticated: null, mode: 'not_configured', detail, ...never };
  }

  /** What `ask` says of the login, unless no agent could be asked. Rejects as `ask` does. */
  async authStatus(ask: () => Promise<AuthStatus>): Promise<AuthStatus> {
    const detail = this.problem();
    if (detail !== null) return { authenticated: false, mode: 'not_configured', detail };
    return ask();
  }

  /** The home that is cadre's alone. Throws AppError `provider_managed` where the agent has the user's own. */
  ownHome(): string {
    if (this.home !== null) return this.home;
    const id = this.#id;
    const { login, logout } = providerKinds[id].login.commands;
    throw new AppError(
      'provider_managed',
      `cannot change the login of ${id}, because the login belongs to the user who runs cadre: run "${login}" or "${logout}" ` +
        `as that user, or set providers.${id}.home to a separate home directory for ${id}`,
    );
  }

  get #isInstalled(): boolean {
    const { command, env } = this.settings;
    return findProgram(command, env.PATH ?? process.env.PATH) !== null;
  }
}
