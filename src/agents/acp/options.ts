import { z } from 'zod';
import { arrayOf, fieldOf, maybe, maybeText } from '../lenient.ts';

export interface Offered {
  id: string;
  name: string;
  description?: string | null;
}

const words = { name: maybeText, description: maybeText };
const offered = (
  id: string,
  { name, description }: z.output<z.ZodObject<typeof words>>,
): Offered => {
  return { id, name: name || id, description };
};
const value = z.looseObject({ value: z.string(), ...words });
const toOffered = ({ value: id, ...one }: z.output<typeof value>) => offered(id, one);
/** The values of an option come as a list, or in groups, which say nothing but how to show them. */
const values = arrayOf(
  z.union([
    value.transform((one) => [toOffered(one)]),
    z.looseObject({ options: arrayOf(value) }).transform(({ options }) => options.map(toOffered)),
  ]),
).transform((groups) => groups.flat());

const onAndOff: readonly Offered[] = ['on', 'off'].map((id) => ({ id, name: id }));
const option = z
  .looseObject({
    id: z.string(),
    type: maybeText,
    category: maybeText,
    currentValue: z.unknown().optional(),
    options: maybe(values),
  })
  .transform(({ id, type, category, currentValue: now, options }) => {
    const isBoolean = type === 'boolean';
    const current = typeof now === 'boolean' ? (now ? 'on' : 'off') : now;
    return {
      id,
      category,
      isBoolean,
      current: typeof current === 'string' ? current : null,
      offered: isBoolean ? onAndOff : (options ?? []),
    };
  });
type Option = z.output<typeof option>;

const configOptions = maybe(arrayOf(option));

const offer = z.looseObject({
  configOptions,
  modes: maybe(
    z
      .looseObject({
        currentModeId: maybeText,
        availableModes: arrayOf(z.looseObject({ id: z.string(), ...words })),
      })
      .transform(({ currentModeId: current, availableModes }) => {
        return { current, offered: availableModes.map((one) => offered(one.id, one)) };
      }),
  ),
  /** An older form, which the protocol has given up and some agents still speak. */
  models: maybe(
    z
      .looseObject({
        currentModelId: maybeText,
        availableModels: arrayOf(z.looseObject({ modelId: z.string(), ...words })),
      })
      .transform(({ currentModelId: current, availableModels }) => {
        return { current, offered: availableModels.map((one) => offered(one.modelId, one)) };
      }),
  ),
});
export type Offer = z.output<typeof offer>;

export const nothingOffered: Offer = { configOptions: null, modes: null, models: null };

const openedSession = offer
  .extend({ sessionId: maybeText })
  .catch({ ...nothingOffered, sessionId: null });
export type OpenedSession = z.output<typeof openedSession>;

export function openedIn(answer: unknown): OpenedSession {
  return openedSession.parse(answer);
}

/** The whole list of options in an answer or update; null where there is none. */
export function readOptions(raw: unknown): Option[] | null {
  return configOptions.parse(fieldOf(raw, 'configOptions'));
}

export interface ChoiceUpdate {
  mode: string | null;
  options: readonly Option[] | null;
}

/** Reads the update in a `session/update`; null where it changes no choice. */
export function readChoiceUpdate(raw: unknown): ChoiceUpdate | null {
  switch (fieldOf(raw, 'sessionUpdate')) {
    case 'current_mode_update': {
      const mode = fieldOf(raw, 'currentModeId');
      return typeof mode === 'string' ? { mode, options: null } : null;
    }
    case 'config_option_update':
      return { mode: null, options: readOptions(raw) };
    default:
      return null;
  }
}

/** The choices in a session, in the order in which they are set: a choice may change the values of the later ones. */
export const choiceNames = ['model', 'thinkingEffort', 'agentMode'] as const;
export type ChoiceName = (typeof choiceNames)[number];

/** The choices as people and requests name them. */
export const choiceWords = {
  model: 'model',
  thinkingEffort: 'thinking_effort',
  agentMode: 'mode',
} as const;

export interface Choice {
  readonly offered: readonly Offered[];
  readonly current: string | null;
  /** Whether the agent may know values that it does not list. */
  readonly isOpen: boolean;
  /** False: it does not offer this choice at all, so there is no request that sets it. */
  readonly canBeSet: boolean;
  request(value: string): { method: string; params: object };
}

/** The field of an offer with the older form of a choice, and the request that sets it there. */
const olderForms = {
  model: { form: 'models', method: 'session/set_model', field: 'modelId', isOpen: true },
  thinkingEffort: null,
  agentMode: { form: 'modes', method: 'session/set_mode', field: 'modeId', isOpen: false },
} as const;

/** Returns a choice from the newest report of the agent. Options override the older forms of the same choice. */
export function choiceIn(offer: Offer, which: ChoiceName): Choice {
  const found = optionFor(which, offer.configOptions ?? []);
  if (found) return byOption(found);
  const older = olderForms[which];
  const choice = older && offer[older.form];
  if (!choice) return notOffered;
  const { method, field, isOpen } = older;
  const request = (value: string) => ({ method, params: { [field]: value } });
  return { ...choice, isOpen, canBeSet: true, request };
}

const notOffered: Choice = {
  offered: [],
  current: null,
  isOpen: false,
  canBeSet: false,
  request: () => ({ method: '', params: {} }),
};

/** The category of a choice, and the ids that its option has in some agents, also without a category. */
const wanted: Record<ChoiceName, { category: string; ids: readonly string[] }> = {
  model: { category: 'model', ids: ['model'] },
  thinkingEffort: {
    category: 'thought_level',
    ids: ['thought_level', 'reasoning_effort', 'thinking_effort', 'effort'],
  },
  agentMode: { category: 'mode', ids: ['mode'] },
};

/**
 * The option of a choice. A category may have several, for example a model and its provider: the one whose id is the
 * obvious one wins, then one whose id contains the category's name, then the first.
 */
function optionFor(which: ChoiceName, options: readonly Option[]): Option | undefined {
  const { category, ids } = wanted[which];
  const usable = options.filter((one) => one.offered.length > 0);
  const named = (among: readonly Option[]) =>
    ids.flatMap((id) => among.find((one) => one.id.toLowerCase() === id) ?? [])[0];
  const inside = usable.filter((one) => one.category === category);
  const containing = inside.filter(({ id }) => id.toLowerCase().includes(category));
  return (
    named(inside) ??
    containing.find(({ id }) => !/provider/i.test(id)) ??
    inside[0] ??
    named(usable.filter((one) => !one.category || one.category === 'model_config'))
  );
}

function byOption({ id: configId, isBoolean, offered, current }: Option): Choice {
  return {
    offered,
    current,
    isOpen: false,
    canBeSet: true,
    request: (value) => ({
      method: 'session/set_config_option',
      params: isBoolean
        ? { configId, type: 'boolean', value: value === 'on' }
        : { configId, value },
    }),
  };
}

/** Returns the offered options with another current value for one option, for agents that do not report the change. */
export function withCurrent(offer: Offer, which: ChoiceName, current: string): Offer {
  const options = offer.configOptions ?? [];
  const found = optionFor(which, options);
  if (found) {
    const configOptions = options.map((one) => (one === found ? { ...one, current } : one));
    return { ...offer, configOptions };
  }
  const older = olderForms[which];
  const choice = older && offer[older.form];
  return choice ? { ...offer, [older.form]: { ...choice, current } } : offer;
}
