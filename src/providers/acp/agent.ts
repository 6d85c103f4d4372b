import { z } from 'zod';
import type { InputItem, Session } from '../../api/sessions.ts';
import type { Child } from '../../children/supervisor.ts';
import type { Supervisor } from '../../children/supervisor.ts';
import type { Clock } from '../../lib/clock.ts';
import { type Agent, type AgentSink, ProviderError, type TurnOutcome } from '../provider.ts';
import { type AcpConnection, agentError, connectAcp } from './connection.ts';
import type { AcpSettings } from './provider.ts';
import { readPromptUsage, readToolCall, readUpdate } from './updates.ts';

const PROTOCOL_VERSION = 1;
/** An agent that closed its connection has this long to go by itself. */
const LOST_GRACE_MS = 1000;
/** So much of what an agent said on stderr is kept, to explain its end. */
const STDERR_TAIL_CHARACTERS = 2000;

interface OpenOptions {
  session: Session;
  sink: AgentSink;
  signal: AbortSignal;
  settings: AcpSettings;
  supervisor: Supervisor;
  clock: Clock;
  environment: Record<string, string>;
  onUnknown: () => void;
}

/** Starts an agent for one session, or resumes the session in a new one. Errors as in `Provider.open`. */
export async function openAcpAgent(options: OpenOptions): Promise<Agent> {
  const { session, settings, supervisor } = options;
  const child = await startChild(options);
  const agent = new AcpAgent(child, options);
  const abort = () => void child.end(0);
  options.signal.addEventListener('abort', abort);
  if (options.signal.aborted) abort();
  try {
    const abilities = await agent.initialize();
    const opened = session.provider_session_ref
      ? await agent.resume(session.provider_session_ref, abilities)
      : await agent.create();
    await agent.setMode(session.permission_mode, opened);
    await agent.setModel(session.model, opened);
    return agent;
  } catch (error) {
    await agent.end(0);
    throw error;
  } finally {
    options.signal.removeEventListener('abort', abort);
  }

  function startChild({ environment }: OpenOptions): Promise<Child> {
    return supervisor
      .start({
        command: settings.command ?? '',
        args: settings.args,
        cwd: session.cwd,
        env: environment,
        what: `agent of ${session.id}`,
      })
      .catch((error: unknown) => {
        throw new ProviderError(
          'provider_unavailable',
          `acp: the agent could not be started in ${session.cwd}`,
          {
            cause: error,
          },
        );
      });
  }
}

const initialized = z.looseObject({
  protocolVersion: z.number(),
  agentCapabilities: z
    .looseObject({
      loadSession: z.boolean().nullish(),
      sessionCapabilities: z.looseObject({ resume: z.unknown().optional() }).nullish(),
    })
    .nullish(),
});
type Abilities = { load: boolean; resume: boolean };

const openedSession = z.looseObject({
  sessionId: z.string().optional(),
  modes: z.looseObject({ availableModes: z.array(z.looseObject({ id: z.string() })) }).nullish(),
  configOptions: z
    .array(
      z.looseObject({
        id: z.string(),
        category: z.string().nullish(),
        options: z.array(z.looseObject({ value: z.string().optional() })).nullish(),
      }),
    )
    .nullish()
    .catch(null),
});
type OpenedSession = z.output<typeof openedSession>;

class AcpAgent implements Agent {
  ref = '';
  readonly pid: number;
  readonly gone: Promise<string>;
  readonly #child: Child;
  readonly #connection: AcpConnection;
  readonly #options: OpenOptions;
  #stderr = '';
  /** Set while the history of a resumed session is replayed: it makes no events. */
  #replaying = false;
  /** Why the running turn has to fail, whatever the agent says of it. */
  #refused: TurnOutcome | undefined;

  constructor(child: Child, options: OpenOptions) {
    this.#child = child;
    this.#options = options;
    this.pid = child.pid;
    child.stderr.setEncoding('utf8');
    child.stderr.on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_TAIL_CHARACTERS);
    });
    this.#connection = connectAcp(child, {
      onUpdate: (params) => this.#update(params),
      onPermission: (params) => this.#permission(params),
    });
    this.gone = child.exited.then(
      ({ code, signal }) =>
        this.#describeExit(signal ? `was killed by ${signal}` : `exited with ${code}`),
      (error: unknown) => `could not be started: ${String(error)}`,
    );
  }

  async initialize(): Promise<Abilities> {
    const answer = await this.#ask('initialize', {
      protocolVersion: PROTOCOL_VERSION,
      clientInfo: { name: 'cadre', version: '1' },
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    });
    const { data } = initialized.safeParse(answer);
    if (data?.protocolVersion !== PROTOCOL_VERSION) {
      throw new ProviderError(
        'provider_unavailable',
        `acp: the agent speaks protocol version ${data?.protocolVersion ?? '?'}, cadre speaks ${PROTOCOL_VERSION}: use another version of it`,
      );
    }
    const can = data.agentCapabilities;
    return { load: can?.loadSession === true, resume: Boolean(can?.sessionCapabilities?.resume) };
  }

  async create(): Promise<OpenedSession> {
    const opened = openedSession.parse(await this.#ask('session/new', this.#place()));
    if (!opened.sessionId)
      throw new ProviderError(
        'provider_unavailable',
        'acp: the agent opened a session without an id',
      );
    this.ref = opened.sessionId;
    return opened;
  }

  async resume(ref: string, abilities: Abilities): Promise<OpenedSession> {
    if (!abilities.resume && !abilities.load) {
      throw new ProviderError(
        'resume_failed',
        'acp: this agent cannot resume sessions: open a new one',
      );
    }
    this.ref = ref;
    this.#replaying = true;
    try {
      const method = abilities.resume ? 'session/resume' : 'session/load';
      return openedSession.parse(await this.#ask(method, { sessionId: ref, ...this.#place() }));
    } catch (error) {
      const said = agentError((error as Error).cause);
      if (!said) throw error;
      throw new ProviderError(
        'resume_failed',
        `acp: the agent cannot resume the session: ${said.message}`,
        { cause: error },
      );
    } finally {
      this.#replaying = false;
    }
  }

  async setMode(mode: string | null, opened: OpenedSession): Promise<void> {
    if (mode === null || mode === 'default') return;
    const known = opened.modes?.availableModes.map(({ id }) => id) ?? [];
    if (!known.includes(mode)) {
      throw new ProviderError(
        'invalid_permission_mode',
        `permission_mode "${mode}" is not one of the agent's: ${known.join(', ') || 'it has none'}`,
      );
    }
    await this.#ask('session/set_mode', { sessionId: this.ref, modeId: mode });
  }

  async setModel(model: string | null, opened: OpenedSession): Promise<void> {
    if (model === null) return;
    const option = opened.configOptions?.find(({ category }) => category === 'model');
    const known = option?.options?.flatMap(({ value }) => value ?? []) ?? [];
    if (!option || !known.includes(model)) {
      throw new ProviderError(
        'invalid_model',
        `model "${model}" is not one of the agent's: ${known.join(', ') || 'it offers none'}`,
      );
    }
    await this.#ask('session/set_config_option', {
      sessionId: this.ref,
      configId: option.id,
      value: model,
    });
  }

  async prompt(input: readonly InputItem[]): Promise<TurnOutcome> {
    this.#refused = undefined;
    const prompt = input.map(({ text }) => ({ type: 'text', text }));
    try {
      const answer = await this.#connection.request('session/prompt', {
        sessionId: this.ref,
        prompt,
      });
      return this.#refused ?? outcomeOf(answer);
    } catch (error) {
      if (this.#refused) return this.#refused;
      const said = agentError(error);
      if (said) return failed('provider_error', `the agent failed: ${said.message}`);
      return failed('provider_exited', await this.#describeLoss(error));
    }
  }

  cancel(): void {
    this.#connection.notify('session/cancel', { sessionId: this.ref });
  }

  async end(graceMs: number): Promise<void> {
    this.#child.stdin.end();
    await this.#child.end(graceMs);
    this.#connection.close();
  }

  #place(): object {
    return { cwd: this.#options.session.cwd, mcpServers: [] };
  }

  /** Anything but a prompt is answered soon; what fails here keeps the agent's own error as its cause. */
  async #ask(method: string, params: object): Promise<unknown> {
    const { clock, settings } = this.#options;
    const timer = new AbortController();
    try {
      return await Promise.race([
        this.#connection.request(method, params),
        clock.sleep(settings.requestTimeoutMs, timer.signal).then(() => {
          throw new Error(`did not answer ${method} within ${settings.requestTimeoutMs / 1000} s`);
        }),
        this.gone.then((how) => {
          throw new Error(how);
        }),
      ]);
    } catch (error) {
      const said = agentError(error)?.message ?? (error as Error).message;
      throw new ProviderError(
        'provider_unavailable',
        `acp: the agent refused or failed at ${method}: ${said}`,
        { cause: error },
      );
    } finally {
      timer.abort();
    }
  }

  #update(params: unknown): Promise<void> | undefined {
    if (this.#replaying) return undefined;
    const update = readUpdate((params as { update?: unknown } | undefined)?.update);
    if (update !== 'unknown') return this.#options.sink.update(update);
    this.#options.onUnknown();
    return undefined;
  }

  /** The interface: a permission request fails the active turn, unless approvals are on. */
  async #permission(params: unknown): Promise<unknown> {
    const tool = readToolCall((params as { toolCall?: unknown } | undefined)?.toolCall);
    const title = tool === 'unknown' ? 'something' : (tool.change.title ?? tool.ref);
    this.#refused = failed(
      'permission_required',
      `the agent asked for permission: ${title}; allow it in the agent's own configuration, ` +
        'or open the session with a permission_mode of the agent that needs none',
    );
    if (tool !== 'unknown') await this.#options.sink.update(tool);
    this.cancel();
    return { outcome: 'cancelled' };
  }

  /** Why the connection ended. An agent that lives on without one is of no use: it is ended. */
  async #describeLoss(cause: unknown): Promise<string> {
    const decided = new AbortController();
    const grace = this.#options.clock.sleep(LOST_GRACE_MS, decided.signal);
    const how = await Promise.race([this.gone, grace.then(() => null)]).finally(() =>
      decided.abort(),
    );
    grace.catch(() => undefined);
    if (how !== null) return `the agent ${how}`;
    await this.#child.end(0);
    return `the agent broke the protocol and was ended: ${cause instanceof Error ? cause.message : String(cause)}`;
  }

  #describeExit(how: string): string {
    const tail = this.#stderr.trim().split('\n').slice(-5).join(' | ');
    return tail ? `${how}; it said: ${tail}` : how;
  }
}

const promptAnswer = z.looseObject({ stopReason: z.string(), usage: z.unknown().optional() });

function outcomeOf(answer: unknown): TurnOutcome {
  const { data } = promptAnswer.safeParse(answer);
  const usage = readPromptUsage(data?.usage);
  switch (data?.stopReason) {
    case 'cancelled':
      return { status: 'interrupted', error: null };
    case 'refusal':
      return failed('refused', 'the agent refused to go on');
    case 'max_tokens':
    case 'max_turn_requests':
      return failed(
        'limit_reached',
        `the agent stopped at a limit of its own (${data.stopReason})`,
      );
    case undefined:
      return failed('provider_error', 'the agent ended the turn without saying how');
    default:
      return { status: 'completed', error: null, ...(usage ? { usage } : {}) };
  }
}

function failed(code: string, message: string): TurnOutcome {
  return { status: 'failed', error: { code, message } };
}
