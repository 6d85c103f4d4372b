import { type PromptResponse, RequestError } from '@agentclientprotocol/sdk/unstable';
import type { TurnInEvents } from '../../api/event-kinds/sessions.ts';
import { endpoints } from '../../api/index.ts';
import type { Usage } from '../../api/sessions.ts';
import { AppError, isAppError } from '../../api/errors.ts';
import type { ChosenSettings } from './editor-settings.ts';
import type { ServerLink } from './server-link.ts';
import type { InputItem } from '../../api/input.ts';

/** For how long a server that is away is waited for before a prompt fails, in ms. */
export const PATIENCE_MS = 60_000;

interface Prompt {
  stop: AbortController;
  /** Null until it was sent. */
  turnId: string | null;
}

interface Dependencies {
  link: ServerLink;
  sessionId: string;
  ends: TurnEnds;
  chosenSettings: () => ChosenSettings;
}

/**
 * The prompts of an editor in a session: each becomes a turn, once no other turn of the session runs, whoever began that
 * one.
 */
export class Prompting {
  readonly #deps: Dependencies;
  readonly #prompts = new Set<Prompt>();
  /** The turns that were sent from here. */
  readonly #own = new Set<string>();
  #last: Promise<unknown> = Promise.resolve();
  #sending: Promise<unknown> = Promise.resolve();

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  get isBusy(): boolean {
    return this.#prompts.size > 0;
  }

  /** Whether a turn that was accepted is one of these prompts. */
  async sent(turnId: string): Promise<boolean> {
    // The event may be here before the answer to the request.
    await this.#sending;
    return this.#own.has(turnId);
  }

  /**
   * Sends a prompt; resolves when its turn has ended. `signal` stops the turn if the editor withdraws its request; if
   * the editor is gone, the turn continues. Throws the failure of the turn or of the request, or `unreachable`.
   */
  async run(input: InputItem[], signal: AbortSignal): Promise<PromptResponse> {
    const prompt: Prompt = { stop: new AbortController(), turnId: null };
    const stop = () => {
      if (isWithdrawal(signal.reason)) this.#stop(prompt);
    };
    this.#prompts.add(prompt);
    signal.addEventListener('abort', stop);
    const response = this.#last.then(() => this.#run(prompt, input));
    this.#last = response.catch(() => undefined);
    try {
      return await response;
    } finally {
      signal.removeEventListener('abort', stop);
      this.#prompts.delete(prompt);
    }
  }

  /** Stops all prompts: those that run are interrupted, those that wait are not sent. Resolves when all have ended. */
  async stop(): Promise<void> {
    for (const prompt of this.#prompts) this.#stop(prompt);
    await this.#last;
  }

  async interrupt(turn_id: string): Promise<void> {
    const { link, sessionId: session_id } = this.#deps;
    const params = { session_id, turn_id };
    try {
      await link.call(endpoints.interruptTurn, { params, body: {} }, PATIENCE_MS);
    } catch (error) {
      // The turn has ended meanwhile; or no server answers, which the prompt reports.
      if (!(error instanceof AppError)) throw error;
    }
  }

  #stop(prompt: Prompt): void {
    prompt.stop.abort();
    if (prompt.turnId !== null) void this.interrupt(prompt.turnId);
  }

  async #run(prompt: Prompt, input: InputItem[]): Promise<PromptResponse> {
    const { signal } = prompt.stop;
    while (!signal.aborted) {
      const sending = this.#send(prompt, input);
      this.#sending = sending.catch(() => undefined);
      try {
        return responseTo(await this.#deps.ends.of(await sending));
      } catch (error) {
        if (!isAppError(error, 'turn_in_progress')) throw error;
        await this.#untilFree(signal);
      }
    }
    return { stopReason: 'cancelled' };
  }

  async #send(prompt: Prompt, input: InputItem[]): Promise<string> {
    const { link, sessionId: session_id, chosenSettings } = this.#deps;
    const body = { input, ...chosenSettings() };
    const params = { session_id };
    const { turn_id } = await link.call(endpoints.sendTurn, { params, body }, PATIENCE_MS);
    this.#own.add(turn_id);
    prompt.turnId = turn_id;
    if (prompt.stop.signal.aborted) void this.interrupt(turn_id);
    return turn_id;
  }

  /** Resolves when the turn that runs has ended, or the signal aborts. */
  async #untilFree(signal: AbortSignal): Promise<void> {
    const { link, sessionId: session_id, ends } = this.#deps;
    const { active_turn_id } = await link.call(endpoints.getSession, { params: { session_id } });
    if (active_turn_id === null || signal.aborted) return;
    const stopped = new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await Promise.race([ends.of(active_turn_id), stopped]);
  }
}

/** How the turns of a session ended: for those who wait for an end, before or after it came. */
export class TurnEnds {
  readonly #ends = new Map<string, PromiseWithResolvers<TurnInEvents>>();

  /** Resolves with a turn once it has ended. Rejects once its end can no longer be learned. */
  of(turnId: string): Promise<TurnInEvents> {
    return this.#end(turnId).promise;
  }

  ended(turn: TurnInEvents): void {
    this.#end(turn.turn_id).resolve(turn);
  }

  /** Rejects all waits. The turns may still end, and later waits resolve. */
  fail(error: AppError): void {
    for (const end of this.#ends.values()) end.reject(error);
    this.#ends.clear();
  }

  #end(turnId: string): PromiseWithResolvers<TurnInEvents> {
    const known = this.#ends.get(turnId);
    if (known) return known;
    const end = Promise.withResolvers<TurnInEvents>();
    // Most of these promises are never awaited.
    end.promise.catch(() => undefined);
    this.#ends.set(turnId, end);
    return end;
  }
}

/** Whether a request was aborted by the editor, and not with its connection. */
function isWithdrawal(reason: unknown): boolean {
  return reason instanceof RequestError && reason.code === REQUEST_CANCELLED;
}

const REQUEST_CANCELLED = -32_800;

/** The answer to the prompt of a turn. Throws why the turn failed. */
function responseTo({ turn_id, status, error, usage }: TurnInEvents): PromptResponse {
  const counted = usage && countedUsage(usage);
  const used = counted ? { usage: counted } : {};
  if (status === 'interrupted') return { stopReason: 'cancelled', ...used };
  if (status !== 'failed') return { stopReason: 'end_turn', ...used };
  if (error?.code === 'refused') return { stopReason: 'refusal', ...used };
  if (error?.code === 'limit_reached') return { stopReason: 'max_turn_requests', ...used };
  const { code = 'internal', message = 'the turn failed' } = error ?? {};
  throw new RequestError(-32603, message, { code, turn_id });
}

function countedUsage({
  input_tokens: inputTokens,
  output_tokens: outputTokens,
  total_tokens,
  cached_input_tokens: cachedReadTokens,
}: Usage): NonNullable<PromptResponse['usage']> | null {
  if (inputTokens === null || outputTokens === null) return null;
  const totalTokens = total_tokens ?? inputTokens + outputTokens;
  return {
    inputTokens,
    outputTokens,
    totalTokens,
    ...(cachedReadTokens === null ? {} : { cachedReadTokens }),
  };
}
