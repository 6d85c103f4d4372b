import { z } from 'zod';
import { arrayOf, fieldOf } from '../lenient.ts';

const name = z.string().nullish().catch(null);
const value = z.looseObject({ value: z.string(), name, description: name });
/** The values of an option come as a list, or in groups, which say nothing but how to show them. */
const values = arrayOf(
  z.union([
    value.transform((one) => [one]),
    z.looseObject({ options: arrayOf(value) }).transform(({ options }) => options),
  ]),
).transform((groups) => groups.flat());

const option = z.looseObject({
  id: z.string(),
  type: z.string().nullish().catch(null),
  category: z.string().nullish().catch(null),
  currentValue: z.unknown().optional(),
  options: values.nullish().catch(null),
});
type Option = z.output<typeof option>;

const configOptions = arrayOf(option).nullish().catch(null);

/** The choices in a session, as an agent reports them. */
const offer = z.looseObject({
  configOptions,
  modes: z
    .looseObject({
      currentModeId: z.string().nullish().catch(null),
      availableModes: arrayOf(z.looseObject({ id: z.string(), name, description: name })),
    })
    .nullish()
    .catch(null),
  /** An older form, which the protocol has given up and some agents still speak. */
  models: z
    .looseObject({
      currentModelId: z.string().nullish().catch(null),
      availableModels: arrayOf(z.looseObject({ modelId: z.string(), name })),
    })
    .nullish()
    .catch(null),
});
export type Offer = z.output<typeof offer>;

export const nothingOffered: Offer = { configOptions: null, modes: null, models: null };

/** The answer of an agent that has opened a session, as far as it is used. */
export const openedSession = offer.extend({ sessionId: z.string().optional().catch(undefined) });
export type OpenedSession = z.output<typeof openedSession>;

const optionList = z.looseObject({ configOptions });

/** The whole list of options in an answer or update; null where there is none. */
export function readOptions(raw: unknown): Option[] | null {
  return optionList.safeParse(raw).data?.configOptions ?? null;
}

const choiceUpdate = z.union([
  z.looseObject({ sessionUpdate: z.literal('current_mode_update'), currentModeId: z.string() }),
  z.looseObject({ sessionUpdate: z.literal('config_option_update'), configOptions: z.unknown() }),
]);

const CHOICE_UPDATES: ReadonlySet<unknown> = new Set([
  'current_mode_update',
  'config_option_update',
]);

/** A change of a choice in a session. */
export interface ChoiceUpdate {
  mode: string | null;
  options: readonly Option[] | null;
}

/** Reads the update in a `session/update`; null where it changes no choice. */
export function readChoiceUpdate(raw: unknown): ChoiceUpdate | null {
  if (!CHOICE_UPDATES.has(fieldOf(raw, 'sessionUpdate'))) return null;
  const { data: update } = choiceUpdate.safeParse(raw);
  if (!update) return null;
  return update.sessionUpdate === 'current_mode_update'
    ? { mode: update.currentModeId, options: null }
    : { mode: null, options: readOptions(update) };
}

/** The choices in a session, in the order in which they are set: a choice may change the values of the later ones. */
export const choiceNames = ['model', 'thinkingEffort', 'agentMode'] as const;
export type ChoiceName = (typeof choiceNames)[number];

/** A value that an agent offers. */
export interface Offered {
  id: string;
  name: string;
  description?: string | null | undefined;
}

/** A setting that can be chosen in a session, and the request that sets it. */
export interface Choice {
  readonly offered: readonly Offered[];
  readonly current: string | null;
  /** Whether the agent may know values that it does not list. */
  readonly isOpen: boolean;
  /** False: it does not offer this choice at all, so there is no request that sets it. */
  readonly canBeSet: boolean;
  request(value: string): { method: string; params: object };
}

/** Returns a choice from the newest report of the agent. Options override the older forms of the same choice. */
export function choiceIn({ configOptions, modes, models }: Offer, which: ChoiceName): Choice {
  const found = optionFor(which, configOptions ?? []);
  if (found) return byOption(found);
  if (which === 'agentMode' && modes) {
    return {
      offered: modes.availableModes.map(({ id, name, description }) => ({
        id,
        name: name || id,
        description,
      })),
      current: modes.currentModeId ?? null,
      isOpen: false,
      canBeSet: true,
      request: (modeId) => ({ method: 'session/set_mode', params: { modeId } }),
    };
  }
  if (which === 'model' && models) {
    return {
      offered: models.availableModels.map((one) => ({
        id: one.modelId,
        name: one.name ?? one.modelId,
      })),
      current: models.currentModelId ?? null,
      isOpen: true,
      canBeSet: true,
      request: (modelId) => ({ method: 'session/set_model', params: { modelId } }),
    };
  }
  return notOffered;
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
  const usable = options.filter((one) => offeredBy(one).length > 0);
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

function byOption(found: Option): Choice {
  const isBoolean = found.type === 'boolean';
  const { id: configId, currentValue: now } = found;
  return {
    offered: offeredBy(found),
    current: typeof now === 'boolean' ? onOff(now) : typeof now === 'string' ? now : null,
    isOpen: false,
    canBeSet: true,
    request: (wish) => ({
      method: 'session/set_config_option',
      params: isBoolean
        ? { configId, type: 'boolean', value: wish === 'on' }
        : { configId, value: wish },
    }),
  };
}

function offeredBy({ type, options }: Option): Offered[] {
  if (type === 'boolean') return ['on', 'off'].map((id) => ({ id, name: id }));
  return (options ?? []).map(({ value: id, name, description }) => ({
    id,
    name: name || id,
    description,
  }));
}

function onOff(is: boolean): string {
  return is ? 'on' : 'off';
}

/** The offer with an option at another value, where the agent does not say so itself. */
export function withCurrent(offer: Offer, which: ChoiceName, value: string): Offer {
  const found = optionFor(which, offer.configOptions ?? []);
  if (found) {
    const currentValue = found.type === 'boolean' ? value === 'on' : value;
    const configOptions = (offer.configOptions ?? []).map((one) =>
      one === found ? { ...one, currentValue } : one,
    );
    return { ...offer, configOptions };
  }
  if (which === 'agentMode' && offer.modes)
    return { ...offer, modes: { ...offer.modes, currentModeId: value } };
  if (which === 'model' && offer.models)
    return { ...offer, models: { ...offer.models, currentModelId: value } };
  return offer;
}
