import type { EventOf, RuntimeEventRecord } from '../../../api/events.ts';
import { isDescribed } from '../../../api/events.ts';
import { endpoints } from '../../../api/index.ts';
import type { Session } from '../../../api/sessions.ts';
import { AppError } from '../../../api/errors.ts';
import { inputText } from '../../terminal/conversation.ts';
import { wrapped } from '../../terminal/width.ts';
import { waitText } from '../limit-text.ts';
import { plain } from '../output.ts';
import type { CommandContext } from '../world.ts';
import { howItEnded, isEnding, whatWasDeclined } from './turn-end.ts';
import type { TalkOutput } from './talk-output.ts';
import { markSeen } from './seen.ts';
import type { TurnText } from './turn-text.ts';

/** A session that somebody follows and talks to. */
export class Attached {
  readonly #context: CommandContext;
  readonly #id: string;
  readonly #output: TalkOutput;
  readonly #text: TurnText;
  /** For the turns that are sent from here. */
  readonly #agentMode: string | undefined;
  #running: string | null;
  /** How many turns have ended so far. */
  #ended = 0;
  /** What waits for the end of the turn that runs, oldest first. */
  readonly #waiting: string[] = [];
  /** What was sent from here and has not come back as an event. */
  readonly #sent: string[] = [];

  constructor(
    context: CommandContext,
    deps: {
      id: string;
      talkOutput: TalkOutput;
      text: TurnText;
      running: string | null;
      agentMode: string | undefined;
    },
  ) {
    this.#context = context;
    this.#id = deps.id;
    this.#output = deps.talkOutput;
    this.#text = deps.text;
    this.#running = deps.running;
    this.#agentMode = deps.agentMode;
  }

  /** Whether a turn runs. */
  get isBusy(): boolean {
    return this.#running !== null;
  }

  /** Sends a text as a turn, once no other turn runs. */
  say(text: string): void {
    this.#waiting.push(text);
    if (this.#running === null) void this.#sendNext();
    else this.#output.status('cadre: the prompt is sent when the turn ends\n');
  }

  /** Asks for the running turn to end. */
  async interrupt(): Promise<void> {
    if (this.#running === null) {
      this.#output.status('cadre: no turn is running: press Ctrl-D to leave\n');
      return;
    }
    this.#output.status('cadre: interrupting the turn\n');
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
      this.#ended++;
      this.#output.status(howItEnded(event.payload.turn) + whatWasDeclined(event.payload.turn));
      void markSeen(this.#context, this.#id, event.seq);
      void this.#sendNext();
    }
    if (event.kind !== 'session.closed') return true;
    this.#output.status('cadre: the session was closed\n');
    return false;
  }

  #noteLimit({ usage_limit: limit }: Pick<Session, 'usage_limit'>): void {
    const now = this.#context.world.clock.now();
    if (limit) this.#output.status(`cadre: ${waitText(limit, now)}\n`);
  }

  #accepted({ payload, turn_id }: EventOf<'turn.accepted'>): void {
    this.#running = turn_id;
    const text = inputText(payload.turn?.input ?? []);
    const mine = this.#sent.indexOf(text);
    if (mine >= 0) this.#sent.splice(mine, 1);
    else this.#output.status(`${promptText(text)}\n`);
  }

  async #sendNext(): Promise<void> {
    const text = this.#waiting.shift();
    if (text === undefined) return;
    this.#sent.push(text);
    const ended = this.#ended;
    const params = { session_id: this.#id };
    const input = [{ type: 'text' as const, text }];
    const body = { input, agent_mode: this.#agentMode };
    const call = this.#context.client.call(endpoints.sendTurn, { params, body });
    const error = await this.#telling(call, 'turn_in_progress');
    if (!error) return;
    this.#sent.splice(this.#sent.indexOf(text), 1);
    if (error.code !== 'turn_in_progress') return;
    // Somebody else was faster: its turn is after theirs, whose end may have come before this refusal.
    this.#waiting.unshift(text);
    if (this.#running === null && this.#ended > ended) void this.#sendNext();
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

/** A prompt as the conversation shows it. */
function promptText(text: string): string {
  return wrapped(plain(text), Number.MAX_SAFE_INTEGER)
    .map((line, at) => `${at === 0 ? '> ' : '  '}${line}`)
    .join('\n');
}
