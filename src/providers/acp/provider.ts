import { providerKinds } from '../../api/provider-kinds.ts';
import type { AuthStatus, Model } from '../../api/providers.ts';
import type { Session } from '../../api/sessions.ts';
import { agentEnvironment } from '../../children/environment.ts';
import { newSecret } from '../../lib/ids.ts';
import { AuthRecord } from './auth-record.ts';
import { HealthRecord } from '../health-record.ts';
import type { Agent, AgentSink, KnownSession, Provider, ProviderContext } from '../provider.ts';
import { hasSession, listSessions, openAcpAgent } from './open.ts';
import type { StartOptions } from './process.ts';
import { type AcpSettings, problemOf } from './settings.ts';

/** Any agent that speaks the Agent Client Protocol, one process a session. */
export class AcpProvider implements Provider {
  readonly id = 'acp';
  readonly displayName = providerKinds.acp.displayName;
  readonly capabilities = providerKinds.acp.capabilities;
  readonly imagesByAgent = true;
  readonly #settings: AcpSettings | null;
  readonly #context: ProviderContext;
  readonly #environment: Record<string, string>;
  readonly #health = new HealthRecord();
  readonly #auth = new AuthRecord();

  /** `settings`: null where the configuration has no section. */
  constructor(settings: AcpSettings | null, context: ProviderContext) {
    this.#settings = settings;
    this.#context = context;
    this.#environment = agentEnvironment(process.env, { ...lockedDoors(), ...settings?.env });
  }

  get enabled(): boolean {
    return this.#settings?.enabled ?? false;
  }

  problem(): string | null {
    return problemOf(this.#settings);
  }

  startFailure(): string | null {
    return this.#health.startFailure;
  }

  stats() {
    return this.#health.stats(this.#settings?.command ?? null);
  }

  async authStatus(): Promise<AuthStatus> {
    return this.enabled
      ? this.#auth.status()
      : { authenticated: null, mode: 'not_configured', detail: this.problem() ?? '' };
  }

  async models(): Promise<Model[]> {
    return [];
  }

  open(session: Session, sink: AgentSink, signal: AbortSignal): Promise<Agent> {
    const start = this.#start(session.cwd, `agent of ${session.id}`, signal);
    const tools = this.#context.toolsFor(session.id);
    return this.#health.noted(openAcpAgent(session, sink, tools, start), signal);
  }

  listed(signal: AbortSignal): Promise<ReadonlySet<string> | null> {
    const start = this.#start(process.cwd(), 'agent that lists its sessions', signal);
    return this.#health.noted(listSessions(start), signal);
  }

  has({ ref, cwd }: KnownSession, signal: AbortSignal): Promise<boolean> {
    const start = this.#start(cwd, 'agent that is asked for a session', signal);
    return this.#health.noted(hasSession(ref, start), signal);
  }

  #start(cwd: string, what: string, signal: AbortSignal): StartOptions {
    const { supervisor, clock } = this.#context;
    return {
      command: this.#settings?.command ?? '',
      args: this.#settings?.args ?? [],
      env: this.#environment,
      cwd,
      what,
      requestTimeoutMs: this.#settings?.request_timeout_ms ?? 0,
      signal,
      supervisor,
      clock,
      login: { agent: 'default', authMethod: null, env: this.#environment, record: this.#auth },
      onUnknown: () => {
        this.#health.unknownMessages++;
      },
      onVersion: (version) => {
        this.#health.version = version;
      },
      starting: (start) => this.#health.started(start, signal),
    };
  }
}

/**
 * opencode, asked to speak ACP, also opens an HTTP server that can run commands; without a password anyone on
 * the machine may use it.
 */
function lockedDoors(): Record<string, string> {
  return { OPENCODE_SERVER_PASSWORD: newSecret() };
}
