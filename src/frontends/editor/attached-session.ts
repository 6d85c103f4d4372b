import {
  type AgentContext,
  type ClientCapabilities,
  methods,
  type PromptResponse,
  type SessionUpdate,
} from '@agentclientprotocol/sdk/unstable';
import { type DescribedEvent, isDescribed, type RuntimeEventRecord } from '../../api/events.ts';
import { endpoints } from '../../api/index.ts';
import type { Session } from '../../api/sessions.ts';
import { AppError, unreachableError } from '../../api/errors.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { ApprovalRelay } from './approval-relay.ts';
import type { EditorSettings } from './editor-settings.ts';
import type { AskedCall } from './permission.ts';
import { PATIENCE_MS, Prompting, TurnEnds } from './prompting.ts';
import type { ServerLink } from './server-link.ts';
import { EventReader, inputUpdates, remark, remarksOf } from './updates.ts';
import type { InputItem } from '../../api/input.ts';

/** An editor and the server that it uses. */
export interface EditorConnection {
  link: ServerLink;
  clock: Clock;
  editor: AgentContext;
  capabilities: ClientCapabilities;
}

interface Dependencies extends EditorConnection {
  session: Session;
  choosing: EditorSettings;
  /** The editor receives the events after this seq. */
  after: number;
  /** The turns that the editor has already. */
  sentTurns: ReadonlySet<string>;
  /** Called when no more events can be sent. */
  onFailed: () => void;
}

/** A session in an editor, which receives all its events in order, also those that other clients caused. */
export class AttachedSession {
  readonly id: string;
  readonly choosing: EditorSettings;
  readonly #deps: Dependencies;
  readonly #reader = new EventReader();
  readonly #ends = new TurnEnds();
  readonly #prompting: Prompting;
  readonly #relay: ApprovalRelay;
  readonly #detached = new AbortController();
  /** The slash commands that the editor has, as JSON. */
  #commands = '[]';
  #title: string | null;
  #running: string | null;
  /** Fails the prompts if the server stays away. */
  #limit: Disposable | null = null;

  constructor(deps: Dependencies) {
    const { link, editor, capabilities, session, choosing } = deps;
    this.#deps = deps;
    this.id = session.id;
    this.choosing = choosing;
    this.#title = session.title;
    this.#running = session.active_turn_id;
    const about = { link, sessionId: session.id };
    this.#prompting = new Prompting({
      ...about,
      ends: this.#ends,
      chosenSettings: () => choosing.chosenSettings,
    });
    this.#relay = new ApprovalRelay({
      ...about,
      editor,
      hasForms: Boolean(capabilities.elicitation?.form),
      callOf: (request) => this.#callIn(request),
      noteChanges: (item, content) => this.#reader.noteChanges(item, content),
      update: (update) => this.update(update),
      warn: (text) => void this.#notice('warning', text),
    });
  }

  /**
   * Sends new events to the editor, after `first`. Returns at once, and sends nothing before the server has been asked:
   * the caller can answer the editor first.
   */
  begin(first?: () => Promise<void>): void {
    this.#follow(first).catch((error: unknown) => {
      const why = error instanceof AppError ? error : new AppError('internal', String(error));
      this.#ends.fail(why);
      if (!this.#detached.signal.aborted)
        void this.#notice('error', why.message).finally(this.#deps.onFailed);
    });
    // An older server has none.
    this.#sendCommands().catch(() => undefined);
  }

  /** Puts to the editor what waits for an answer. */
  askAll(): Promise<void> {
    return this.#relay.askAll();
  }

  /** Runs a prompt as a turn. Throws as `Prompting.run`. */
  prompt(input: InputItem[], signal: AbortSignal): Promise<PromptResponse> {
    return this.#prompting.run(input, signal);
  }

  /** Stops the prompts of the editor, or without any the turn of another client. */
  cancel(): void {
    if (this.#prompting.isBusy) void this.#prompting.stop();
    else if (this.#running !== null) void this.#prompting.interrupt(this.#running);
  }

  /** Sends no more updates of the session, which continues. */
  detach(): void {
    this.#detached.abort();
    this.#limit?.[Symbol.dispose]();
    this.#relay.close();
    this.#ends.fail(new AppError('session_closed', 'the editor closed the session'));
  }

  /** Stops the prompts of the editor, and sends no more updates of the session. */
  async close(): Promise<void> {
    await this.#prompting.stop();
    this.detach();
  }

  async update(update: SessionUpdate): Promise<void> {
    if (this.#detached.signal.aborted) return;
    const { editor } = this.#deps;
    await editor.notify(methods.client.session.update, { sessionId: this.id, update });
  }

  async #follow(first?: () => Promise<void>): Promise<void> {
    const { link, clock, after } = this.#deps;
    await first?.();
    const events = link.events({
      sessionId: this.id,
      after,
      signal: this.#detached.signal,
      onLost: () => {
        this.#limit = clock.after(PATIENCE_MS, () => this.#ends.fail(awayFor(PATIENCE_MS)));
        void this.#noticeIfShown('warning', 'Connection to the cadre server lost', 'Reconnecting.');
      },
      onBack: () => {
        this.#limit?.[Symbol.dispose]();
        void this.#noticeIfShown('info', 'Connected to the cadre server again');
      },
    });
    for await (const event of events) await this.#take(event);
  }

  async #take(event: RuntimeEventRecord): Promise<void> {
    if (!isDescribed(event)) return;
    if (event.turn_id !== null && this.#deps.sentTurns.has(event.turn_id)) return;
    const whole = await this.#whole(event);
    for (const update of this.#reader.read(whole)) await this.update(update);
    switch (whole.kind) {
      case 'turn.accepted':
        return this.#accepted(whole);
      case 'turn.completed':
      case 'turn.interrupted':
      case 'turn.failed':
        return this.#ended(whole);
      case 'approval.requested':
        return this.#relay.requested(whole.payload.approval.id);
      case 'approval.resolved':
        return this.#relay.resolved(whole.payload.approval);
      case 'session.updated':
        return this.#titled(whole.payload.session.title, whole.created_at);
      case 'session.notice':
      case 'sandbox.host_refused':
        return this.#notice('info', whole.payload.message);
      case 'session.closed':
      case 'session.failed':
        return this.#over(whole.payload.session);
      default:
    }
  }

  async #accepted({ turn_id, payload, created_at }: EventNamed<'turn.accepted'>): Promise<void> {
    this.#running = turn_id;
    if (turn_id !== null && !(await this.#prompting.sent(turn_id)))
      for (const update of inputUpdates(turn_id, payload.turn.input ?? []))
        await this.update(update);
    await this.#titled(payload.title, created_at);
  }

  async #ended({ payload: { turn } }: EventNamed<EndKind>): Promise<void> {
    this.#running = null;
    if (!(await this.#prompting.sent(turn.turn_id)))
      for (const update of remarksOf(turn)) await this.update(update);
    // An agent can change them at any time, and no event reports that.
    await this.#sendCommands().catch(() => undefined);
    this.#ends.ended(turn);
  }

  async #titled(title: string | null, at: number): Promise<void> {
    if (title === this.#title) return;
    this.#title = title;
    const updatedAt = new Date(at).toISOString();
    await this.update({ sessionUpdate: 'session_info_update', title, updatedAt });
  }

  async #over(session: Pick<Session, 'status' | 'close_reason' | 'failure'>): Promise<void> {
    const { status, close_reason, failure } = session;
    const why = failure?.message ?? close_reason;
    await this.#notice('error', `The session is ${status}${why === null ? '' : `: ${why}`}`);
  }

  /** An event with its whole text: of a long item the event has only the beginning. */
  async #whole(event: DescribedEvent): Promise<DescribedEvent> {
    const { kind, payload, turn_id } = event;
    const isItem =
      kind === 'message.completed' || kind === 'reasoning.completed' || kind === 'tool.completed';
    if (!isItem || !payload.truncated || turn_id === null) return event;
    const params = { session_id: this.id, turn_id, item_id: payload.item_id };
    const { text, tool } = await this.#deps.link.call(endpoints.getItem, { params }, PATIENCE_MS);
    return { ...event, payload: { ...payload, text, ...(tool ? { tool } : {}) } } as DescribedEvent;
  }

  /** The tool call that a request of the agent names by its id. */
  #callIn(request: unknown): AskedCall | null {
    for (const text of textsIn(request)) {
      const call = this.#reader.calls.get(text);
      if (call) return call;
    }
    return null;
  }

  /** Sends the slash commands of the agent, if they have changed. */
  async #sendCommands(): Promise<void> {
    const params = { session_id: this.id };
    const commands = await this.#deps.link.call(endpoints.listCommands, { params });
    const text = JSON.stringify(commands);
    if (text === this.#commands) return;
    this.#commands = text;
    const availableCommands = commands.map(({ name, description, hint }) => ({
      name,
      description,
      input: hint === null ? null : { hint },
    }));
    await this.update({ sessionUpdate: 'available_commands_update', availableCommands });
  }

  /** Shows a notice outside of the conversation; inside of it, if the editor has no other place. */
  async #notice(severity: Severity, title: string): Promise<void> {
    const isShown = await this.#noticeIfShown(severity, title);
    if (!isShown) await this.update(remark(`[${title}]`));
  }

  async #noticeIfShown(severity: Severity, title: string, description?: string): Promise<boolean> {
    if (!this.#deps.capabilities.session?.notices) return false;
    const more = description === undefined ? {} : { description };
    await this.update({ sessionUpdate: 'notice', severity, title, ...more });
    return true;
  }
}

type Severity = 'info' | 'warning' | 'error';
type EndKind = 'turn.completed' | 'turn.interrupted' | 'turn.failed';
type EventNamed<Kind extends DescribedEvent['kind']> = Extract<DescribedEvent, { kind: Kind }>;

function awayFor(ms: number): AppError {
  return unreachableError(
    `no cadre server answered for ${ms / 1000} s, so the outcome of the turn is unknown: start a server with cadre serve, and load the session again`,
  );
}

/** The texts in a value, down to a depth that every known request keeps to. */
function* textsIn(value: unknown, depth = 4): Generator<string, void> {
  if (typeof value === 'string') yield value;
  if (depth === 0 || typeof value !== 'object' || value === null) return;
  for (const one of Object.values(value)) yield* textsIn(one, depth - 1);
}
