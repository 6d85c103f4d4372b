import type { Clock } from '../../core/lib/clock.ts';
import { ProviderError, type TurnSettings } from '../provider.ts';
import { setChoice, type Choices } from './choices.ts';
import type { Notice } from './permission-prompt-monitor.ts';
import type { LastSeen } from './last-seen.ts';
import { type ChoiceName, choiceNames, choiceWords } from './options.ts';

/** How long a turn waits for an agent to offer a choice that the turn is about, from when the session was opened. */
const OFFER_MS = 3000;

interface Dependencies {
  clock: Clock;
  lastSeen: LastSeen;
  choices: () => Choices;
  /** Resolves when the agent is gone. */
  gone: () => Promise<unknown>;
}

/** The handling of a choice that is offered while a turn runs. */
interface Deferral {
  settings: TurnSettings;
  /** The choices that are set once they are offered. */
  waiting: Set<ChoiceName>;
  /** Sends a request to the agent. */
  ask: (method: string, params: object) => Promise<unknown>;
  reportNotice: (notice: Notice) => Promise<void>;
  /** Fails the turn. */
  refuse: (error: ProviderError) => void;
}

/**
 * The choices that an agent offers only after it has opened the session. A turn waits for them for a while, once a session.
 * If an agent offers them only after its first prompt, the prompt is sent first. Options that can be set late are then set
 * while the turn runs. If the agent starts to work earlier, the turn fails, because it would run with other settings than
 * requested.
 */
export class DeferredOptions {
  readonly #deps: Dependencies;
  #news = Promise.withResolvers<void>();
  #until = 0;
  #deferred: Deferral | null = null;
  /** Whether the agent offered nothing at all when the newest prompt was sent. */
  #hadNothing = false;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** Whether the running turn waits for no choice of the agent, nor for the answer to one. */
  get isSettled(): boolean {
    return this.#deferred === null;
  }

  save() {
    return { hadNothing: this.#hadNothing };
  }

  restore({ hadNothing }: ReturnType<DeferredOptions['save']>): void {
    this.#hadNothing = hadNothing;
  }

  /** The agent has opened the session, or has set a choice: what it offers may come in a moment. */
  expectOptions(): void {
    this.#until = this.#deps.clock.monotonic() + OFFER_MS;
  }

  /** Whether a choice of the settings is missing that may still be offered. */
  mayBeOffered(settings: TurnSettings): boolean {
    return this.#next(settings).some((which) => this.#isAwaited(which, settings));
  }

  /** Waits for the choices of the settings that may still be offered. */
  async untilOffered(settings: TurnSettings, signal: AbortSignal): Promise<void> {
    for (const which of choiceNames) {
      if (this.#next(settings).includes(which)) await this.isDeferred(which, settings, signal);
    }
  }

  /** The choices up to the first that has to be set: it may change what the later ones offer. */
  #next(settings: TurnSettings): readonly ChoiceName[] {
    const choices = this.#deps.choices();
    const first = choiceNames.findIndex((which) => choices.hasToBeSet(which, settings));
    return first === -1 ? choiceNames : choiceNames.slice(0, first + 1);
  }

  /**
   * Waits for a choice that may still be offered, until the time is over, the agent is gone or `signal` aborts. Returns
   * whether it is to be set while the turn runs.
   */
  async isDeferred(
    which: ChoiceName,
    settings: TurnSettings,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (!this.#isAwaited(which, settings)) return false;
    const { choices, lastSeen } = this.#deps;
    const isKnownLate = lastSeen.offeredLate.has(which) && choices().mayBeDeferred(which, settings);
    if (isKnownLate) return true;
    if (!(await this.#untilOne(which, settings, signal))) return false;
    if (choices().isOptional(which, settings)) return true;
    lastSeen.notOffered.add(which);
    return false;
  }

  /** Resolves with whether the time was over before the choice was offered. */
  async #untilOne(
    which: ChoiceName,
    settings: TurnSettings,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (signal.aborted) return false;
    const { clock, gone } = this.#deps;
    let end: 'late' | 'gone' | null = null;
    const stop = (why: 'late' | 'gone') => {
      end ??= why;
      this.#wake();
    };
    using _limit = clock.after(Math.max(0, this.#until - clock.monotonic()), () => stop('late'));
    signal.addEventListener('abort', () => stop('gone'), { once: true });
    void gone().then(() => stop('gone'));
    while (end === null && this.#isAwaited(which, settings)) await this.#news.promise;
    return end === 'late';
  }

  /** The prompt of a turn is about to be sent. */
  begin(late: Deferral): void {
    const choices = this.#deps.choices();
    this.#hadNothing = choiceNames.every((which) => !choices.choice(which).canBeSet);
    this.#deferred = late.waiting.size > 0 ? late : null;
  }

  /** The agent has answered the prompt. Returns why the turn is not the one that was asked for, or null. */
  answered(): ProviderError | null {
    const objection = this.#objection();
    this.#deferred = null;
    return objection;
  }

  /** The turn is over, however it has ended. */
  end(): void {
    this.#deferred = null;
  }

  /** The agent has named what it offers. */
  async offered(): Promise<void> {
    this.#wake();
    const late = this.#deferred;
    const choices = this.#deps.choices();
    for (const which of this.#hadNothing ? choiceNames : [])
      if (choices.choice(which).canBeSet) this.#deps.lastSeen.offeredLate.add(which);
    for (const which of late?.waiting ?? []) {
      if (late === null || !choices.choice(which).canBeSet) continue;
      late.waiting.delete(which);
      try {
        const value = await setChoice(choices, which, late.settings, late.ask);
        if (value !== null) await late.reportNotice(deferredNotice(which, value));
      } catch (error) {
        if (!(error instanceof ProviderError)) throw error;
        late.refuse(error);
      }
    }
  }

  /** The agent has begun to work on the prompt: what it has not offered by now was not set in time. */
  working(): void {
    const late = this.#deferred;
    if (!late) return;
    const objection = this.#objection();
    if (objection) {
      this.#deferred = null;
      late.refuse(objection);
    }
  }

  #objection(): ProviderError | null {
    if (!this.#deferred) return null;
    const choices = this.#deps.choices();
    const { settings, waiting } = this.#deferred;
    const missing = [...waiting].filter((which) => !choices.choice(which).canBeSet);
    for (const which of missing) this.#deps.lastSeen.notOffered.add(which);
    const isNeeded = missing.some((which) => !choices.isOptional(which, settings));
    return isNeeded ? choices.objection(settings) : null;
  }

  #isAwaited(which: ChoiceName, settings: TurnSettings): boolean {
    const { lastSeen, choices } = this.#deps;
    return !lastSeen.notOffered.has(which) && choices().isMissing(which, settings);
  }

  #wake(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }
}

function deferredNotice(which: ChoiceName, value: string): Notice {
  return {
    code: 'choice_late',
    message: `the ${choiceWords[which]} "${value}" takes effect only later in this turn, because the agent offers it only after the prompt`,
  };
}
