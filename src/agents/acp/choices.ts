import { labelledId } from '../../core/lib/labelled-id.ts';
import { defaultSettings, ProviderError, type TurnSettings } from '../provider.ts';
import type { AgentModes } from './catalogue-entry.ts';
import { modeFor, isPermissive } from './modes.ts';
import {
  type Choice,
  choiceIn,
  type ChoiceName,
  choiceNames,
  choiceWords,
  type ChoiceUpdate,
  type Offer,
  type Offered,
  readOptions,
  withCurrent,
} from './options.ts';
import { agentError } from './connection.ts';

/** A request that a turn needs before its prompt. */
interface Step {
  name: ChoiceName;
  value: string;
  method: string;
  params: object;
  /** Whether the turn wants it; else it is what the session began with. */
  isRequested: boolean;
  /** Whether the turn fails if the agent refuses the choice. Otherwise the turn continues with the current value. */
  isNeeded: boolean;
}

/** The memory of {@link Choices}. `seen`: the named values that the offer does not have. */
interface SavedChoices {
  offer: Offer;
  began: Record<ChoiceName, string | null>;
  wantedMode: string | null;
  seen: readonly string[];
}

/** The options of a session, from the newest report of its agent, and the initial values of the session. */
export class Choices {
  #offer: Offer;
  readonly #modes: AgentModes;
  readonly #onChange: (choices: Choices) => void;
  /** Values that the session began with. They apply if a turn names none. */
  readonly #began: Record<ChoiceName, string | null>;
  /** The mode that a turn wanted last: another turn may not have wanted it. */
  #wantedMode: string | null = null;
  /** All values that this agent has named. It may support a model, or its first mode, after it stops listing it. */
  readonly #seen = new Set<string>();
  /** The result of {@link save}, until something changes. */
  #saved: SavedChoices | null = null;

  /**
   * `earlier`: the values that the session began with, because its last agent may have kept a value of a single turn.
   * `modes`: the agent's names for modes of cadre. `onChange` is called with each new offer, including the first.
   */
  constructor(
    offer: Offer,
    earlier: TurnSettings | null,
    modes: AgentModes,
    onChange: (choices: Choices) => void,
  ) {
    this.#modes = modes;
    this.#onChange = onChange;
    this.#offer = offer;
    const before = earlier && {
      ...earlier,
      agentMode: earlier.agentMode ?? earlier.permissionMode,
    };
    const began = (which: ChoiceName) => before?.[which] ?? this.choice(which).current;
    this.#began = {
      model: began('model'),
      thinkingEffort: began('thinkingEffort'),
      agentMode: began('agentMode'),
    };
    this.#note();
    // Another version of the agent may have other modes.
    if (
      !this.#seen.has(seenAs('agentMode', this.#began.agentMode)) &&
      this.#ids('agentMode').length > 0
    )
      this.#began.agentMode = this.choice('agentMode').current;
  }

  get offer(): Offer {
    return this.#offer;
  }

  save(): SavedChoices {
    return (this.#saved ??= {
      offer: this.#offer,
      began: { ...this.#began },
      wantedMode: this.#wantedMode,
      seen: this.#seenBefore(),
    });
  }

  /** Returns the named values that the offer does not have. */
  #seenBefore(): string[] {
    const offered = choiceNames.flatMap((which) => this.#ids(which).map((id) => seenAs(which, id)));
    const known = new Set(offered);
    return [...this.#seen].filter((one) => !known.has(one));
  }

  restore({ offer, began, wantedMode, seen }: SavedChoices): void {
    this.#offer = offer;
    Object.assign(this.#began, began);
    this.#wantedMode = wantedMode;
    for (const one of seen) this.#seen.add(one);
    this.#note();
  }

  get defaults(): TurnSettings {
    return { ...defaultSettings(), ...this.#began, permissionMode: this.#began.agentMode };
  }

  /** The mode in which the agent is said to ask, if it offers modes and not that one: it may be of another version. */
  get missingAskingMode(): string | null {
    const { require_approval: named } = this.#modes;
    const offered = this.#ids('agentMode');
    return named === undefined || offered.length === 0 || offered.includes(named) ? null : named;
  }

  /** The mode that the agent is in, if it is not known to ask there, nor to change nothing; else null. */
  get permissiveMode(): Offered | null {
    const { require_approval: asking, read_only } = this.#modes;
    const { current, offered } = this.choice('agentMode');
    if (current === null || current === asking || current === read_only) return null;
    const mode = offered.find(({ id }) => id === current) ?? { id: current, name: current };
    const isOther = asking !== undefined && this.#ids('agentMode').includes(asking);
    return isOther || isPermissive(mode) ? mode : null;
  }

  choice(which: ChoiceName): Choice {
    return choiceIn(this.#offer, which);
  }

  /**
   * Returns why the agent cannot have the settings, or null. A choice after another pending choice is not checked yet,
   * because its values may change until then.
   */
  objection(settings: TurnSettings): ProviderError | null {
    for (const which of choiceNames) {
      const requested = this.#requested(which, settings);
      const objection = this.#objectionTo(which, requested, settings);
      if (objection) return objection;
      if (this.hasToBeSet(which, settings)) return null;
    }
    return null;
  }

  /** Reports whether the settings name another value than the current one. */
  hasToBeSet(which: ChoiceName, settings: TurnSettings): boolean {
    const requested = this.#requested(which, settings);
    return requested !== null && requested !== this.choice(which).current;
  }

  /**
   * Whether the agent has not offered a choice that the settings are about: some name theirs after they have opened the
   * session, or after the first prompt. One that asks only in a certain mode may still name that mode.
   */
  isMissing(which: ChoiceName, settings: TurnSettings): boolean {
    if (this.choice(which).canBeSet) return false;
    return this.#requested(which, settings) !== null || this.isOptional(which, settings);
  }

  /**
   * Whether a turn may begin before a choice is set that the agent has not offered yet: with another model or effort, or
   * with fewer rights than it wants. A stricter mode has to be set first.
   */
  mayBeDeferred(which: ChoiceName, settings: TurnSettings): boolean {
    if (which !== 'agentMode' || this.isOptional(which, settings)) return true;
    const loosest: readonly (string | undefined)[] = [
      'full_access',
      'bypass',
      this.#modes.full_access,
    ];
    return loosest.includes(settings.agentMode ?? settings.permissionMode ?? undefined);
  }

  /** Whether a turn that asks people can do without the choice: the agent is then in a mode of which nothing is known. */
  isOptional(which: ChoiceName, { agentMode, permissionMode }: TurnSettings): boolean {
    return (
      which === 'agentMode' &&
      agentMode === null &&
      permissionMode === 'require_approval' &&
      this.#modes.require_approval !== undefined
    );
  }

  /** The request for one choice of a turn; null where there is nothing to set. Throws {@link ProviderError}. */
  step(which: ChoiceName, settings: TurnSettings): Step | null {
    const requested = this.#requested(which, settings);
    const objection = this.#objectionTo(which, requested, settings);
    if (objection) throw objection;
    const choice = this.choice(which);
    const value = requested ?? this.#began[which];
    if (value === null || value === choice.current || !choice.canBeSet) return null;
    // The value that the session began with may be gone. An example is an effort that another model does not have.
    if (requested === null && !this.#mayReturn(which, value)) return null;
    const isRequested = requested !== null;
    // In the mode of another turn an agent might do what this turn did not allow.
    const isNeeded = isRequested || (which === 'agentMode' && choice.current === this.#wantedMode);
    return { name: which, value, ...choice.request(value), isRequested, isNeeded };
  }

  /** Takes an answer to a {@link Step}: the whole list of options, in agents that send it. */
  took({ name: which, value, isRequested }: Step, answer: unknown): void {
    if (which === 'agentMode') this.#wantedMode = isRequested ? value : null;
    this.#saved = null;
    const options = readOptions(answer);
    // An option was set, so a list without any is not the whole one.
    if (options && options.length > 0) this.#set({ ...this.#offer, configOptions: options });
    else this.#set(withCurrent(this.#offer, which, value));
  }

  /** The agent has refused to go back to what the session began with: it is not asked again. */
  gaveUp(which: ChoiceName): void {
    this.#began[which] = this.choice(which).current;
    this.#saved = null;
  }

  refusal(which: ChoiceName, settings: TurnSettings, message: string): ProviderError {
    const { code } = asked(which, settings);
    return new ProviderError(code, `${message}: ${this.#offered(which)}`);
  }

  /**
   * Applies an update outside of {@link took}. A model or effort that the agent changes itself, for example by a
   * command in a prompt, stays. A mode does not: the next turn sets it back.
   */
  applyUpdate({ mode, options }: ChoiceUpdate, isOwnChange: boolean): void {
    const before = { model: this.choice('model').current, effort: this.#effort };
    if (options) this.#set({ ...this.#offer, configOptions: [...options] });
    if (mode !== null) this.#set(withCurrent(this.#offer, 'agentMode', mode));
    if (!isOwnChange) return;
    this.#saved = null;
    if (before.model === this.#began.model) this.#began.model = this.choice('model').current;
    if (before.effort === this.#began.thinkingEffort) this.#began.thinkingEffort = this.#effort;
  }

  get #effort(): string | null {
    return this.choice('thinkingEffort').current;
  }

  #set(offer: Offer): void {
    this.#offer = offer;
    // The first values that an agent names after it has opened the session are the values that the session began with.
    for (const which of choiceNames) this.#began[which] ??= this.choice(which).current;
    this.#note();
  }

  #note(): void {
    this.#saved = null;
    for (const which of choiceNames) {
      const { current } = this.choice(which);
      for (const id of [...this.#ids(which), ...(current === null ? [] : [current])])
        this.#seen.add(seenAs(which, id));
    }
    this.#onChange(this);
  }

  /** Returns the value that the settings name. Null if the value that the session began with applies. */
  #requested(which: ChoiceName, settings: TurnSettings): string | null {
    if (which !== 'agentMode') return settings[which];
    return this.#modeNamed(modeFor(settings, this.#modes, this.#ids(which)));
  }

  /** The id of the mode that an agent names so: its ids may be addresses, and its names what people see. */
  #modeNamed(requested: string | null): string | null {
    const { offered } = this.choice('agentMode');
    if (requested === null || offered.some(({ id }) => id === requested)) return requested;
    const named = offered.filter(({ name }) => name.toLowerCase() === requested.toLowerCase());
    return named.length === 1 ? (named[0]?.id ?? requested) : requested;
  }

  #mayKnow(which: ChoiceName, value: string): boolean {
    const { current, isOpen, canBeSet } = this.choice(which);
    if (isOpen || value === current || this.#ids(which).includes(value)) return true;
    return which === 'model' && canBeSet && this.#seen.has(seenAs(which, value));
  }

  /** Whether the agent may take what the session began with. An effort depends on the model, other choices do not. */
  #mayReturn(which: ChoiceName, value: string): boolean {
    return which === 'thinkingEffort'
      ? this.#ids(which).includes(value)
      : this.choice(which).isOpen || this.#seen.has(seenAs(which, value));
  }

  #objectionTo(
    which: ChoiceName,
    requested: string | null,
    settings: TurnSettings,
  ): ProviderError | null {
    if (requested === null || this.#mayKnow(which, requested)) return null;
    const { code, field } = asked(which, settings);
    const message = `unknown ${field} "${requested}": ${this.#offered(which)}`;
    return new ProviderError(code, message);
  }

  #offered(which: ChoiceName): string {
    const { offered } = this.choice(which);
    const words = offered.map(({ id, name }) => (id.includes('://') ? labelledId(id, name) : id));
    return words.length > 0
      ? `choose from ${words.join(', ')}`
      : 'the agent has not listed its choices yet: send a first prompt without this setting';
  }

  #ids(which: ChoiceName): string[] {
    return this.choice(which).offered.map(({ id }) => id);
  }
}

function seenAs(which: ChoiceName, id: string | null): string {
  return `${which} ${id}`;
}

/** The field of a request that a choice comes from, and the code of its error. */
function asked(which: ChoiceName, { agentMode }: TurnSettings) {
  const mode = agentMode === null ? 'permission_mode' : 'agent_mode';
  const field = which === 'agentMode' ? mode : choiceWords[which];
  return { field, code: `invalid_${field}` as const };
}

type Ask = (method: string, params: object) => Promise<unknown>;

/**
 * Sets the options of an agent: the value that the turn requests, or the initial value of the session. Each option is
 * checked against the options that the agent offers after the previous one was set. `ask` sends a request; `isReady`
 * resolves with whether a choice is to be set now. Returns the initial values that the agent refused, as texts for users.
 * Throws ProviderError if a value that the turn requests cannot be set.
 */
export async function applySettings(
  choices: Choices,
  settings: TurnSettings,
  ask: Ask,
  isReady: (which: ChoiceName) => Promise<boolean>,
): Promise<string[]> {
  const left: string[] = [];
  for (const which of choiceNames) {
    if (!(await isReady(which))) continue;
    await setChoice(choices, which, settings, ask, (step, message) => {
      left.push(wordsFor(step, choices, message));
      choices.gaveUp(which);
    });
  }
  return left;
}

/**
 * Sets one option of a turn; resolves with its value, or with null if nothing had to be set. `onLeft` is called if the
 * agent refuses the initial value of the session. Throws ProviderError as `applySettings`.
 */
export async function setChoice(
  choices: Choices,
  which: ChoiceName,
  settings: TurnSettings,
  ask: Ask,
  onLeft: (step: Step, message: string) => void = () => undefined,
): Promise<string | null> {
  const step = choices.step(which, settings);
  if (!step) return null;
  try {
    choices.took(step, await ask(step.method, step.params));
    return step.value;
  } catch (error) {
    // An agent that is gone, or does not answer, has refused nothing.
    if (!agentError((error as Error).cause)) throw error;
    const { message } = error as Error;
    if (step.isNeeded) throw choices.refusal(which, settings, message);
    onLeft(step, message);
    return null;
  }
}

function wordsFor({ name, value }: Step, choices: Choices, message: string): string {
  const now = choices.choice(name).current ?? 'default';
  return `the agent did not return to ${choiceWords[name]} "${value}" and continues with "${now}": ${message}`;
}
