import type {
  SessionConfigOption,
  SessionConfigSelectOption,
  SessionMode,
  SessionModeState,
} from '@agentclientprotocol/sdk/unstable';
import type { Model } from '../api/providers.ts';
import type { Session } from '../api/sessions.ts';
import { AppError } from '../errors.ts';

/** What the editor has chosen for the turns that it sends; null: as the session was opened. */
export interface Wishes {
  permission_mode: string | null;
  model: string | null;
  thinking_effort: string | null;
}

type Settings = Pick<Session, keyof Wishes | 'provider_defaults'>;

/** The options by which an editor chooses, and the setting that each is. */
const settingOf = {
  mode: 'permission_mode',
  model: 'model',
  effort: 'thinking_effort',
} as const satisfies Record<string, keyof Wishes>;

type OptionId = keyof typeof settingOf;

/** The value for "as the agent is configured", where the session itself asks for nothing. */
const DEFAULT = 'default';

const modes: readonly SessionMode[] = [
  { id: 'require_approval', name: 'Ask', description: 'The agent asks you before it acts.' },
  {
    id: 'default',
    name: 'Default',
    description: 'As the agent is configured; a turn in which it has to ask fails.',
  },
  { id: 'read_only', name: 'Read only', description: 'The agent changes nothing.' },
  { id: 'workspace_write', name: 'Edit', description: 'The agent edits files without asking.' },
  {
    id: 'full_access',
    name: 'Full access',
    description: 'The agent does everything without asking.',
  },
];

/** The permission modes of a session, and the one of the next turn. */
export function modesOf(session: Settings, wishes: Wishes): SessionModeState {
  const own = session.permission_mode;
  const isKnown = own === null || modes.some(({ id }) => id === own);
  return {
    currentModeId: wishes.permission_mode ?? own ?? DEFAULT,
    availableModes: isKnown ? [...modes] : [...modes, { id: own, name: own }],
  };
}

/** The choices of a session, with their values for the next turn. */
export function optionsOf(
  session: Settings,
  wishes: Wishes,
  models: readonly Model[],
): SessionConfigOption[] {
  const { currentModeId, availableModes } = modesOf(session, wishes);
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
  const model = select(
    'model',
    'Model',
    currentOf('model', session, wishes),
    valuesOf(
      'model',
      session,
      wishes,
      models.map(({ id, display_name }) => [id, display_name]),
    ),
  );
  const levels = levelsOf(session, wishes, models);
  const effort = select(
    'effort',
    'Thinking effort',
    currentOf('thinking_effort', session, wishes),
    valuesOf(
      'thinking_effort',
      session,
      wishes,
      levels.map((level) => [level, level]),
    ),
  );
  return [mode, ...(models.length > 0 ? [model] : []), ...(levels.length > 0 ? [effort] : [])];
}

/** The wishes after a choice. Throws `invalid` for one that is not offered. */
export function chosen(
  option: string,
  value: unknown,
  given: { session: Settings; wishes: Wishes; models: readonly Model[] },
): Wishes {
  const { session, wishes, models } = given;
  const options = optionsOf(session, wishes, models);
  const found = options.find(({ id }) => id === option);
  if (!found || !Object.hasOwn(settingOf, option))
    throw new AppError('invalid', `no option "${option}": there are ${namesOf(options)}`);
  const values = found.type === 'select' ? (found.options as SessionConfigSelectOption[]) : [];
  if (typeof value !== 'string' || !values.some((one) => one.value === value))
    throw new AppError(
      'invalid',
      `"${String(value)}" is no ${option} here: choose ${values.map((one) => one.value).join(', ')}`,
    );
  const setting = settingOf[option as OptionId];
  const isNone = value === DEFAULT && setting !== 'permission_mode' && session[setting] === null;
  // A provider may have a model of that very name, which is a choice as any other.
  const isModel = setting === 'model' && models.some(({ id }) => id === DEFAULT);
  const after = { ...wishes, [setting]: isNone && !isModel ? null : value };
  // The levels of one model are not those of another.
  const levels = levelsOf(session, after, models);
  const effort = after.thinking_effort;
  return effort === null || levels.includes(effort) ? after : { ...after, thinking_effort: null };
}

function select(
  id: OptionId,
  name: string,
  currentValue: string,
  options: SessionConfigSelectOption[],
): SessionConfigOption {
  const category = id === 'effort' ? 'thought_level' : id;
  return { type: 'select', id, name, category, currentValue, options };
}

function currentOf(
  setting: 'model' | 'thinking_effort',
  session: Settings,
  wishes: Wishes,
): string {
  return wishes[setting] ?? session[setting] ?? DEFAULT;
}

function valuesOf(
  setting: 'model' | 'thinking_effort',
  session: Settings,
  wishes: Wishes,
  known: readonly (readonly [value: string, name: string])[],
): SessionConfigSelectOption[] {
  const offered = known.map(([value, name]) => ({ value, name }));
  const current = currentOf(setting, session, wishes);
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
function levelsOf(session: Settings, wishes: Wishes, models: readonly Model[]): string[] {
  const id = wishes.model ?? session.model ?? session.provider_defaults?.model ?? DEFAULT;
  const model = models.find((one) => one.id === id);
  const levels = model ? model.reasoning_levels : models.flatMap((one) => one.reasoning_levels);
  return [...new Set(levels)];
}

function namesOf(options: readonly SessionConfigOption[]): string {
  return options.map(({ id }) => id).join(', ');
}
