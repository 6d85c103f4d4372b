import { attached, type AttachedAgent, type TakesOver } from '../attached-turn.ts';
import type { Child } from '../../core/children/supervisor.ts';
import { providerKinds } from '../../api/provider-kinds.ts';
import type { AuthStatus, Model } from '../../api/providers.ts';
import type { Session } from '../../api/sessions.ts';
import { CODEX_HOSTS } from '../model-hosts.ts';
import { InstalledProvider, type InstalledSettings } from '../installed.ts';
import { LOGIN_MS, loggedIn, type LoginSituation, loggedOut } from '../login-watch.ts';
import {
  type Agent,
  type KnownSession,
  type Login,
  type Provider,
  type ProviderContext,
  ProviderError,
  type TurnSettings,
  unavailable,
} from '../provider.ts';
import { makeHome, type ProgramOptions, runProgram, unlessAborted } from '../agent-process.ts';
import { CodexAgent } from './agent.ts';
import { AppServer } from './app-server.ts';
import { type Ask, type CodexModel, listModels } from './models.ts';
import { type CodexOptions, objectionTo } from './settings.ts';
import { SurvivingServer, SharedServer } from './shared-server.ts';
import { CodexConversations, hasThread, listThreads } from './threads.ts';
import { homeDirectory } from '../../core/lib/home-directory.ts';
import path from 'node:path';
import { z } from 'zod';
import type { BarrierSandbox } from '../../core/children/spawn-barrier.ts';
import { invalidError } from '../../api/errors.ts';
import { replaceFile } from '../../core/lib/replace-file.ts';
import { maybe } from '../lenient.ts';
import { ownEntry } from '../../core/lib/own-entry.ts';

/** OpenAI Codex, one app-server for all sessions. */
export class CodexProvider extends InstalledProvider<CodexModel> implements Provider, TakesOver {
  readonly id = 'codex';
  readonly capabilities = providerKinds.codex.capabilities;
  readonly login: Login = {
    setKey: async (apiKey) => {
      this.ownHome();
      await this.#ask('account/login/start', { type: 'apiKey', apiKey });
      this.noteLogin();
      await retireAll(this.#sandboxed.values());
      return this.authStatus();
    },
    import: async (auth) => {
      writeAuth(this.ownHome(), auth);
      this.noteLogin();
      await retireAll([this.#shared, ...this.#sandboxed.values()]);
      return this.authStatus();
    },
    end: async () => {
      this.ownHome();
      await this.#ask('account/logout', {});
      this.loginChanged();
      await retireAll(this.#sandboxed.values());
      return this.authStatus();
    },
  };
  readonly conversations = new CodexConversations({
    ask: (method, params, signal) => this.health.noted(this.#ask(method, params, signal), signal),
    home: () => stateDirectory(this.#program().env),
    program: () => this.programWords('CODEX_HOME'),
    owns: (pid) => this.context.supervisor.owns(pid),
  });
  readonly #shared: SharedServer;
  /** The server of each sandbox, by the arguments of the sandbox. */
  readonly #sandboxed = new Map<string, SharedServer>();

  /** The app-servers that an earlier server of cadre has left, by their processes. */
  readonly #left = new WeakMap<Child, SurvivingServer>();

  constructor(settings: InstalledSettings, context: ProviderContext) {
    super(settings, context);
    this.#shared = new SharedServer(context.clock, () => this.#start(null));
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
    return models.map(({ defaultEffort: _own, ...model }) => model);
  }

  listed(signal: AbortSignal): Promise<ReadonlySet<string>> {
    return this.health.noted(listThreads(this.#asking(signal)), signal);
  }

  has(session: KnownSession, signal: AbortSignal): Promise<boolean> {
    return this.health.noted(hasThread(session, this.#asking(signal)), signal);
  }

  open(...asked: Parameters<Provider['open']>): Promise<Agent> {
    return this.health.noted(this.#open(...asked), asked[2]);
  }

  attach(...[session, sink, left]: Parameters<TakesOver['attach']>): AttachedAgent {
    const { child, from, position } = left;
    const server =
      this.#left.get(child) ?? new SurvivingServer(new AppServer(child, this.#notes, from));
    this.#left.set(child, server);
    const agent = new CodexAgent(session, sink, server.lease(), this.#optionsFor([]), position);
    return attached(agent, session, left, () => agent.end(0));
  }

  async #open(...[session, sink, signal, fork]: Parameters<Provider['open']>): Promise<Agent> {
    const models = await this.#listModels(signal);
    const sandbox = await this.#sandboxOf(session);
    const server = sandbox === null ? this.#shared : this.#serverIn(sandbox, session.cwd);
    const agent = new CodexAgent(session, sink, await server.lease(signal), {
      ...this.#optionsFor(models, signal),
      fork: fork ?? null,
      access: sandbox === null ? null : session.permission_mode === 'read_only' ? 'read' : 'write',
    });
    try {
      await unlessAborted(agent.open(), signal);
      return agent;
    } catch (error) {
      await agent.end(0);
      throw error;
    }
  }

  #optionsFor(models: readonly CodexModel[], signal = new AbortController().signal): CodexOptions {
    const { supervisor } = this.context;
    return {
      ...this.agentDeps(signal),
      fork: null,
      models,
      access: null,
      variablesAt: (directory) => supervisor.variablesAt(directory),
    };
  }

  async #sandboxOf(session: Session): Promise<BarrierSandbox | null> {
    if (this.context.sandboxFor === undefined) return null;
    // In a sandbox, the home directory is always the home directory of the user.
    const home = stateDirectory(this.#program().env, homeDirectory(process.env));
    const pinned = Object.entries(PINNED).map(([name, text]) => ({
      path: path.join(home, name),
      text,
    }));
    const hosts = CODEX_HOSTS;
    return this.sandboxFor(session, { state: [home], scratch: [], settings: [], pinned, hosts });
  }

  /** The server of a sandbox. Servers that have ended are forgotten here. */
  #serverIn(sandbox: BarrierSandbox, cwd: string): SharedServer {
    for (const [key, server] of this.#sandboxed) if (server.isIdle) this.#sandboxed.delete(key);
    const key = JSON.stringify(sandbox);
    const known = this.#sandboxed.get(key);
    if (known) return known;
    const start = () => this.#start({ sandbox, cwd });
    const server = new SharedServer(this.context.clock, start, { lingers: false });
    this.#sandboxed.set(key, server);
    return server;
  }

  #authStatus(): Promise<AuthStatus> {
    return this.loginBy(async () =>
      readAccount(await this.#ask('account/read', {}), this.situation),
    );
  }

  #listModels(signal?: AbortSignal): Promise<readonly CodexModel[]> {
    return this.modelCache.fresh(() => listModels(this.#asking(signal)));
  }

  #asking(signal?: AbortSignal): Ask {
    return (method, params) => this.#ask(method, params, signal);
  }

  #ask(method: string, params: object, signal?: AbortSignal): Promise<unknown> {
    return this.#shared.use((server) => server.ask(method, params), signal);
  }

  #program(): ProgramOptions {
    return this.program(this.environment(this.home === null ? {} : { CODEX_HOME: this.home }));
  }

  get #notes() {
    const { clock } = this.context;
    const { countUnknown: onUnknown, noteVersion: onVersion } = this.health;
    return { clock, onUnknown, onVersion, onLost: (why: string) => this.health.note(why) };
  }

  async #start(inside: { sandbox: BarrierSandbox; cwd: string } | null): Promise<AppServer> {
    if (this.home !== null) makeHome(this.home, OWN_HOME);
    const start = {
      ...this.#program(),
      cwd: inside?.cwd ?? process.cwd(),
      sandbox: inside?.sandbox ?? null,
      ...this.#notes,
    };
    return this.health.started(() => AppServer.start(start));
  }
}

/** Retires servers that have read the login before it changed. */
async function retireAll(servers: Iterable<SharedServer>): Promise<void> {
  for (const server of servers) await server.retire();
}

/**
 * The files and directories in the home of codex that it only reads in a sandbox, because they name programs and rules for
 * codex outside. The texts are of new files.
 */
const PINNED: Readonly<Record<string, string | null>> = {
  'config.toml': '',
  'AGENTS.md': '',
  'AGENTS.override.md': '',
  'hooks.json': '{}\n',
  hooks: null,
  prompts: null,
  rules: null,
  skills: null,
};

/** The directory in which codex keeps its state. */
function stateDirectory(env: Readonly<Record<string, string>>, home = homeDirectory(env)): string {
  return env.CODEX_HOME ?? path.join(home, '.codex');
}

const OWN_HOME = { provider: 'codex', section: 'providers.codex' };

const account = z.looseObject({
  account: maybe(z.looseObject({ type: z.string() })),
  requiresOpenaiAuth: z.boolean().catch(true),
});

/** Whether codex has a login, as it says without a network: not whether the login is valid. */
export function readAccount(raw: unknown, login: LoginSituation): AuthStatus {
  const { data } = account.safeParse(raw);
  if (!data) throw unavailable('codex: cannot read the login status: update codex');
  if (data.account)
    return loggedIn('codex', ownEntry(logins, data.account.type) ?? data.account.type);
  if (data.requiresOpenaiAuth) return loggedOut(login);
  const detail = 'the models in the configuration of codex do not need a codex login';
  return { authenticated: true, mode: 'not_needed', detail };
}

const logins: Readonly<Record<string, string>> = { apiKey: 'api_key', chatgpt: 'account' };

/**
 * The login that `codex login status` reports; null if it reports none, which its configuration may not need. Throws
 * {@link ProviderError} for an output that cannot be read.
 */
async function askStatus(codex: ProgramOptions, limitMs: number): Promise<AuthStatus | null> {
  const { code, stdout, stderr } = await runProgram('codex', ['login', 'status'], codex, limitMs);
  if (/not logged in/i.test(stdout + stderr)) return null;
  if (code !== 0) throw unavailable('codex: cannot read the login status');
  return loggedIn('codex', /api key/i.test(stdout + stderr) ? 'api_key' : 'account');
}

const filled = z.string().min(1);
const authFile = z.union([
  z.looseObject({ OPENAI_API_KEY: filled }),
  z.looseObject({
    tokens: z.looseObject({ id_token: filled, access_token: filled, refresh_token: filled }),
  }),
]);

/** Writes a login that was made elsewhere into a home, in place of an older one. Throws AppError `invalid`. */
function writeAuth(home: string, auth: object): void {
  if (!authFile.safeParse(auth).success) {
    throw invalidError(
      'body.auth_json: expected the content of the codex file auth.json, an object with OPENAI_API_KEY or tokens',
    );
  }
  makeHome(home, OWN_HOME);
  replaceFile(path.join(home, 'auth.json'), JSON.stringify(auth, null, 2));
}
