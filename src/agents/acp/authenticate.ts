import { ProviderError } from '../provider.ts';
import { type AuthMethod, methodInWords, needsPerson, readAuthMethods } from './auth-methods.ts';
import type { AuthStage, LastSeen } from './last-seen.ts';
import { agentError } from './connection.ts';
import type { ResolvedAgent } from './resolve.ts';

/** The protocol's error of an agent that nobody is logged in to. */
const AUTH_REQUIRED = -32_000;
/** Words of agents that refuse with another code. Agents without a method use this code for any error. */
const AUTH_WORDS =
  /\bauthenticat|\bunauthori[sz]ed|\bunauthenticated|not (?:logged|signed) in|(?:log|sign)[ -]?in\b|\bcredentials?\b|\bapi[ _-]?key/i;
const LOGGED_OUT_WORDS =
  /authentication (?:is )?required|\bunauthenticated|not (?:logged|signed) in|please (?:log|sign) in/i;

/** The known facts about an agent's login before any of its processes runs. */
interface LoginSettings {
  agent: Pick<ResolvedAgent, 'name' | 'authMethod'>;
  env: Readonly<Record<string, string>>;
  lastSeen: Pick<LastSeen, 'auth'>;
}

/** Sends a request to the agent, within the time that the configuration gives it. Throws {@link ProviderError}. */
type Ask = (method: string, params: object) => Promise<unknown>;

export class Login {
  readonly #settings: LoginSettings;
  readonly #ask: Ask;
  /** The methods that the agent offers; none until it is initialized. */
  methods: readonly AuthMethod[] = [];

  constructor(settings: LoginSettings, ask: Ask) {
    this.#settings = settings;
    this.#ask = ask;
  }

  initialized(answer: unknown): void {
    this.methods = readAuthMethods(answer);
  }

  /**
   * Makes a request that some agents refuse while nobody is logged in. After such a refusal it calls `authenticate`, if
   * that needs no person, and makes the request once more, unless `isWanted` says that it is not wanted any more. Throws
   * ProviderError `auth_required`, which names the methods, where that does not help, and any other error of the request.
   */
  async around<T>(
    stage: AuthStage,
    request: () => Promise<T>,
    isWanted: () => boolean = () => true,
  ): Promise<T> {
    const first = await this.#attempt(stage, request);
    if ('answer' in first) return first.answer;
    const obstacle = await this.#authenticateAlone();
    if (obstacle !== null || !isWanted())
      throw this.#required(first.refusal, obstacle, first.error);
    const second = await this.#attempt(stage, request);
    if ('answer' in second) return second.answer;
    const again = 'the agent refused again after cadre had logged in';
    throw this.#required(second.refusal, again, second.error);
  }

  async #attempt<T>(stage: AuthStage, request: () => Promise<T>) {
    const { auth: record } = this.#settings.lastSeen;
    try {
      const answer = await request();
      record.worked(stage);
      return { answer };
    } catch (error) {
      const refusal = this.refusalIn(error);
      if (refusal === null) throw error;
      record.refused(stage, refusal);
      return { refusal, error };
    }
  }

  /** Calls a method; a person may take part in it. Throws {@link ProviderError}. */
  async authenticate(method: AuthMethod, ask: Ask = this.#ask): Promise<void> {
    await ask('authenticate', { methodId: method.id });
    this.#settings.lastSeen.auth.loggedIn(method.id);
  }

  /** The method that needs no person, if there is exactly one. */
  get methodWithoutPerson(): AuthMethod | null {
    const able = this.methods.filter((one) => !needsPerson(one, this.#settings.env));
    return able.length === 1 ? (able[0] ?? null) : null;
  }

  /** Logs in without a person; null where that succeeded, else why not, if there is more to say than the methods. */
  async #authenticateAlone(): Promise<string | null> {
    const { authMethod } = this.#settings.agent;
    if (authMethod === '') return '';
    const named = this.methods.find(({ id }) => id === authMethod);
    // Another release of the agent may call its methods otherwise.
    const method = named ?? this.methodWithoutPerson;
    if (!method)
      return authMethod === null ? '' : `the agent does not offer auth_method "${authMethod}"`;
    if (method.type === 'terminal') return `auth_method "${method.id}" needs a terminal`;
    try {
      await this.authenticate(method);
      return null;
    } catch (error) {
      const { cause, message } = error as Error;
      return `login with method "${method.id}" failed: ${agentError(cause)?.message ?? message}`;
    }
  }

  /** Returns the agent's words if it refused because nobody is logged in. Null for any other failure. */
  refusalIn(error: unknown): string | null {
    const failure = agentError(error) ?? agentError((error as Error | null)?.cause);
    if (!failure) return null;
    const { code, message } = failure;
    const isRefusal =
      code === 401 ||
      LOGGED_OUT_WORDS.test(message) ||
      (code === AUTH_REQUIRED && (this.methods.length > 0 || AUTH_WORDS.test(message)));
    return isRefusal ? message : null;
  }

  #required(refusal: string, obstacle: string | null, cause: unknown): ProviderError {
    const { name: agent } = this.#settings.agent;
    const offers = this.methods.map(methodInWords).join(', ');
    const next =
      offers === ''
        ? "the agent offers no login method, log in with the agent's own command"
        : `run cadre providers login acp --agent ${agent} (login methods: ${offers})`;
    const why = obstacle ? `${refusal}; ${obstacle}` : refusal;
    return new ProviderError(
      'auth_required',
      `acp: not logged in to agent ${agent} (${why}): ${next}`,
      {
        cause,
      },
    );
  }
}
