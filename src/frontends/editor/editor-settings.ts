import type {
  SessionConfigOption,
  SessionConfigSelectOption,
  SessionMode,
  SessionModeState,
} from '@agentclientprotocol/sdk/unstable';
import type { Model } from '../../api/providers.ts';
import type { Session } from '../../api/sessions.ts';
import { invalidError } from '../../api/errors.ts';
import { valueText } from '../../core/lib/value-text.ts';

/** The settings of the turns that the editor sends; null: as the session was opened. */
export interface ChosenSettings {
  permission_mode: string | null;
  agent_mode: string | null;
  model: string | null;
  thinking_effort: string | null;
}

/** The choices that the agent of a session offers; empty if the provider cannot list them. */
export interface Offered {
  models: readonly Model[];
  /** Its own modes; none where its provider has no agents with modes of their own. */
  agentModes: readonly Named[];
}

/** The settings of an editor for its turns in a session. They do not apply to others who use the session. */
export class EditorSettings {
  readonly #session: Session;
  readonly #offered: Offered;
  #chosenSettings: ChosenSettings = {
    permission_mode: null,
    agent_mode: null,
    model: null,
    thinking_effort: null,
  };

  constructor(session: Session, offered: Offered) {
    this.#session = session;
    this.#offered = offered;
  }

  get chosenSettings(): ChosenSettings {
    return this.#chosenSettings;
  }

  get offer(): { modes: SessionModeState; configOptions: SessionConfigOption[] } {
    return {
      modes: modesOf(this.#session, this.#chosenSettings),
      configOptions: optionsOf(this.#session, this.#chosenSettings, this.#offered),
    };
  }

  /** Throws `invalid` for a choice that is not offered. */
  choose(option: string, value: unknown): void {
    const context = {
      session: this.#session,
      chosenSettings: this.#chosenSettings,
      offered: this.#offered,
    };
    this.#chosenSettings = chosen(option, value, context);
  }
}

type Settings = Pick<Session, keyof ChosenSettings | 'provider_defaults'>;

/** The options by which an editor chooses: the setting that each is, and its category in the protocol. */
const kinds = {
  mode: { setting: 'permission_mode', category: 'mode' },
  agent_mode: { setting: 'agent_mode', category: null },
  model: { setting: 'model', category: 'model' },
  effort: { setting: 'thinking_effort', category: 'thought_level' },
} as const satisfies Record<string, { setting: keyof ChosenSettings; category: string | null }>;

type OptionId = keyof typeof kinds;

/** The value for "as the agent is configured", where the session itself asks for nothing. */
const DEFAULT = 'default';

const modes: readonly SessionMode[] = [
  {
    id: 'require_approval',
    name: 'Ask',
    description: 'The agent requests approval before it acts.',
  },
  {
    id: 'default',
    name: 'Default',
    description: "The agent's own configuration applies. A turn that needs approval fails.",
  },
  { id: 'read_only', name: 'Read only', description: 'The agent changes nothing.' },
  { id: 'workspace_write', name: 'Edit', description: 'The agent edits files without approval.' },
  {
    id: 'full_access',
    name: 'Full access',
    description: 'The agent does everything without approval.',
  },
];

/** The permission modes of a session, and the one of the next turn. */
function modesOf(session: Settings, chosenSettings: ChosenSettings): SessionModeState {
  const own = session.permission_mode;
  const isKnown = own === null || modes.some(({ id }) => id === own);
  return {
    currentModeId: chosenSettings.permission_mode ?? own ?? DEFAULT,
    availableModes: isKnown ? [...modes] : [...modes, { id: own, name: own }],
  };
}

/** The choices of a session, with their values for the next turn. */
function optionsOf(
  session: Settings,
  chosenSettings: ChosenSettings,
  { models, agentModes }: Offered,
): SessionConfigOption[] {
  const { currentModeId, availableModes } = modesOf(session, chosenSettings);
  const mode = select(
    'mode',
    'Permissions',
    currentModeId,
    availableModes.map(({ id, name, description }) => ({
      value: id,
      name,
      description: description ?? null,
    })),
  );
  const choice = (id: Exclude<OptionId, 'mode'>, name: string, known: readonly Named[]) => {
    const { setting } = kinds[id];
    const current = currentOf(setting, session, chosenSettings);
    return known.length === 0
      ? []
      : [select(id, name, current, valuesOf(setting, session, chosenSettings, known))];
  };
  const named = (value: string) => [value, value] as const;
  return [
    mode,
    ...choice('agent_mode', "Agent's own mode", agentModes),
    ...choice(
      'model',
      'Model',
      models.map(({ id, display_name }) => [id, display_name]),
    ),
    ...choice('effort', 'Thinking effort', levelsOf(session, chosenSettings, models).map(named)),
  ];
}

/** The chosen settings after a choice. Throws `invalid` for one that is not offered. */
function chosen(
  option: string,
  value: unknown,
  context: { session: Settings; chosenSettings: ChosenSettings; offered: Offered },
): ChosenSettings {
  const { session, chosenSettings, offered } = context;
  const { models } = offered;
  const options = optionsOf(session, chosenSettings, offered);
  const found = options.find(({ id }) => id === option);
  if (!found || !Object.hasOwn(kinds, option))
    throw invalidError(
      `unknown option "${option}": choose from ${options.map(({ id }) => id).join(', ')}`,
    );
  const values = found.type === 'select' ? (found.options as SessionConfigSelectOption[]) : [];
  if (typeof value !== 'string' || !values.some((one) => one.value === value))
    throw invalidError(
      `unknown ${option} "${valueText(value)}": choose from ${values.map((one) => one.value).join(', ')}`,
    );
  const { setting } = kinds[option as OptionId];
  const isNone = value === DEFAULT && setting !== 'permission_mode' && session[setting] === null;
  // An agent may have a model or a mode of that very name, which is a choice as any other.
  const names =
    setting === 'agent_mode' ? offered.agentModes.map(([id]) => id) : models.map(({ id }) => id);
  const isName = setting !== 'thinking_effort' && names.includes(DEFAULT);
  const after = { ...chosenSettings, [setting]: isNone && !isName ? null : value };
  // Each model has its own levels.
  const levels = levelsOf(session, after, models);
  const effort = after.thinking_effort;
  return effort === null || levels.includes(effort) ? after : { ...after, thinking_effort: null };
}

type Named = readonly [value: string, name: string];

function select(
  id: OptionId,
  name: string,
  currentValue: string,
  options: SessionConfigSelectOption[],
): SessionConfigOption {
  return { type: 'select', id, name, category: kinds[id].category, currentValue, options };
}

/** The settings whose values the agent names. */
type FreeSetting = Exclude<keyof ChosenSettings, 'permission_mode'>;

function currentOf(
  setting: FreeSetting,
  session: Settings,
  chosenSettings: ChosenSettings,
): string {
  return chosenSettings[setting] ?? session[setting] ?? DEFAULT;
}

function valuesOf(
  setting: FreeSetting,
  session: Settings,
  chosenSettings: ChosenSettings,
  known: readonly Named[],
): SessionConfigSelectOption[] {
  const offered = known.map(([value, name]) => ({ value, name }));
  const current = currentOf(setting, session, chosenSettings);
  const others = [...(session[setting] === null ? [DEFAULT] : []), current];
  for (const value of others) {
    if (offered.some((one) => one.value === value)) continue;
    const began = session.provider_defaults?.[setting];
    const name = value === DEFAULT ? (began ? `Default (${began})` : 'Default') : value;
    offered.unshift({ value, name });
  }
  return offered;
}

/** The levels of the model of the next turn; where nobody says which that is, of all models. */
function levelsOf(
  session: Settings,
  chosenSettings: ChosenSettings,
  models: readonly Model[],
): string[] {
  const id = chosenSettings.model ?? session.model ?? session.provider_defaults?.model ?? DEFAULT;
  const model = models.find((one) => one.id === id);
  const levels = model ? model.reasoning_levels : models.flatMap((one) => one.reasoning_levels);
  return [...new Set(levels)];
}
