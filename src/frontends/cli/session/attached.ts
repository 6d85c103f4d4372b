import type { EventOf, RuntimeEventRecord } from '../../../api/events.ts';
import { isDescribed } from '../../../api/events.ts';
import { endpoints } from '../../../api/index.ts';
import type { Session } from '../../../api/sessions.ts';
import { AppError } from '../../../api/errors.ts';
import { inputText } from '../../../core/lib/input-text.ts';
import { wrapped } from '../../terminal/width.ts';
import { waitText } from '../limit-text.ts';
import { plain, shortId } from '../output.ts';
import type { turnSettings } from '../turn-settings.ts';
import type { CommandContext } from '../command-io.ts';
import { howItEnded, isEnding, whatWasDeclined } from './turn-end.ts';
import type { TurnOutput } from './turn-output.ts';
import { markSeen } from './seen.ts';
import type { TurnText } from './turn-text.ts';

type TurnSettings = ReturnType<typeof turnSettings>;

/** A session that somebody follows and talks to. */
export class Attached {
  readonly #context: CommandContext;
  readonly #id: string;
  readonly #output: TurnOutput;
  readonly #text: TurnText;
  /** Settings of the turns that are sent from here. */
  readonly #settings: TurnSettings;
  #running: string | null;
  /** Texts that were sent from here and have not come back as an event. */
  readonly #sent: string[] = [];
  /** Ids of the queue entries that were added from here. */
  readonly #queued = new Set<string>();
  /** Whether the running turn was interrupted from here. */
  #isInterrupted = false;
  /** Texts are sent or queued in their order. */
  #sending: Promise<void> = Promise.resolve();

  constructor(
    context: CommandContext,
    deps: {
      id: string;
      turnOutput: TurnOutput;
      text: TurnText;
      running: string | null;
      settings: TurnSettings;
    },
  ) {
    this.#context = context;
    this.#id = deps.id;
    this.#output = deps.turnOutput;
    this.#text = deps.text;
    this.#running = deps.running;
    this.#settings = deps.settings;
  }

  /** Sends a text as a turn, or adds it to the queue of the session while another turn runs. */
  say(text: string): void {
    this.#sending = this.#sending.then(() => this.#deliver(text));
  }

  /** Waits until all texts are sent or queued. Returns how many of the queued ones still wait, whoever is attached. */
  async waiting(): Promise<number> {
    await this.#sending;
    if (this.#queued.size === 0) return 0;
    const params = { session_id: this.#id };
    const { entries } = await this.#context.client.call(endpoints.getSessionQueue, { params });
    return entries.filter(({ id, status }) => this.#queued.has(id) && status !== 'running').length;
  }

  async interrupt(): Promise<void> {
    if (this.#running === null) {
      this.#output.status('cadre: no turn is running: press Ctrl-D to leave\n');
      return;
    }
    this.#output.status('cadre: interrupting the turn\n');
    this.#isInterrupted = true;
    const params = { session_id: this.#id, turn_id: this.#running };
    await this.#telling(this.#context.client.call(endpoints.interruptTurn, { params, body: {} }));
  }

  /** Shows an event. Answers false after the last one of a session. */
  showEvent(event: RuntimeEventRecord): boolean {
    if (isDescribed(event) && event.kind === 'turn.accepted') this.#accepted(event);
    this.#text.write(event);
    if (isDescribed(event) && event.kind === 'session.limited')
      this.#noteLimit(event.payload.session);
    if (isEnding(event)) {
      this.#running = null;
      this.#output.status(howItEnded(event.payload.turn) + whatWasDeclined(event.payload.turn));
      void markSeen(this.#context, this.#id, event.seq);
      if (this.#isInterrupted) void this.#resumeIfWaiting().catch(() => undefined);
    }
    if (event.kind !== 'session.closed') return true;
    this.#output.status('cadre: the session was closed\n');
    return false;
  }

  #noteLimit({ usage_limit: limit }: Pick<Session, 'usage_limit'>): void {
    const now = this.#context.io.clock.now();
    if (limit) this.#output.status(`cadre: ${waitText(limit, now)}\n`);
  }

  #accepted({ payload, turn_id }: EventOf<'turn.accepted'>): void {
    this.#running = turn_id;
    this.#isInterrupted = false;
    const text = inputText(payload.turn?.input ?? []);
    if (!this.#forget(text)) this.#output.status(`${promptText(text)}\n`);
  }

  /** Removes a text that was sent from here. Returns false if there is none, because its event has removed it. */
  #forget(text: string): boolean {
    const at = this.#sent.indexOf(text);
    if (at >= 0) this.#sent.splice(at, 1);
    return at >= 0;
  }

  async #deliver(text: string): Promise<void> {
    if (this.#running === null && (await this.#send(text))) return;
    await this.#queue(text);
  }

  /** Sends a text as a turn. Answers false where another turn runs. */
  async #send(text: string): Promise<boolean> {
    this.#sent.push(text);
    const params = { session_id: this.#id };
    const body = { input: [{ type: 'text' as const, text }], ...this.#settings };
    const call = this.#context.client.call(endpoints.sendTurn, { params, body });
    const error = await this.#telling(call, 'turn_in_progress');
    if (error) this.#forget(text);
    return error?.code !== 'turn_in_progress';
  }

  /** Adds a text to the queue, where it stays although this command ends. */
  async #queue(text: string): Promise<void> {
    const params = { session_id: this.#id };
    const body = { input: [{ type: 'text' as const, text }], ...this.#settings };
    const call = this.#context.client.call(endpoints.addToQueue, { params, body });
    const error = await this.#telling(call);
    if (error) return;
    const { id, status, session_holds: holds } = await call;
    this.#queued.add(id);
    if (status === 'running') return;
    if (holds.length === 0)
      return this.#output.status('cadre: queued: the prompt is sent when the turn ends\n');
    if (this.#isInterrupted) return this.#resume();
    const why = holds.map(({ message }) => plain(message)).join('; ');
    this.#output.status(
      `cadre: queued, and the queue is held: ${why}: see cadre queue resume --session ${shortId(this.#id)}\n`,
    );
  }

  /** An interrupt holds the queue. Who has interrupted the turn here and typed a text here wants that text next. */
  async #resume(): Promise<void> {
    const params = { session_id: this.#id };
    const call = this.#context.client.call(endpoints.resumeSessionQueue, { params, body: {} });
    await this.#telling(call);
  }

  async #resumeIfWaiting(): Promise<void> {
    if ((await this.waiting()) > 0) await this.#resume();
  }

  /** Waits for a call. Says why it was refused, unless it was for a reason that the caller knows to handle. */
  async #telling(call: Promise<unknown>, known?: string): Promise<AppError | null> {
    try {
      await call;
      return null;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      if (error.code !== known) this.#output.status(`cadre: ${error.message}\n`);
      return error;
    }
  }
}

function promptText(text: string): string {
  return wrapped(plain(text), Number.MAX_SAFE_INTEGER)
    .map((line, at) => `${at === 0 ? '> ' : '  '}${line}`)
    .join('\n');
}
