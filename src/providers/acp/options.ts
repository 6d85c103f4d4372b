import { z } from 'zod';
import { ProviderError, type TurnSettings } from '../provider.ts';

/** An array without the entries that do not match the schema. */
function arrayOf<T extends z.ZodType>(entry: T) {
  return z.array(z.unknown()).transform((entries) =>
    entries.flatMap((one): z.output<T>[] => {
      const { data } = entry.safeParse(one);
      return data === undefined ? [] : [data];
    }),
  );
}

const option = z.looseObject({
  id: z.string(),
  category: z.string().nullish().catch(null),
  currentValue: z.unknown().optional(),
  options: arrayOf(z.looseObject({ value: z.string() }))
    .nullish()
    .catch(null),
});

/** The answer of an agent that has opened a session, as far as it is used. */
export const openedSession = z.looseObject({
  sessionId: z.string().optional().catch(undefined),
  modes: z
    .looseObject({
      currentModeId: z.string().nullish().catch(null),
      availableModes: arrayOf(z.looseObject({ id: z.string() })),
    })
    .nullish()
    .catch(null),
  configOptions: arrayOf(option).nullish().catch(null),
});
export type OpenedSession = z.output<typeof openedSession>;

/** A setting that can be chosen for a session, and the request that sets it. */
export interface Choice {
  code: ProviderError['code'];
  name: keyof TurnSettings;
  known: string[];
  current: string | null;
  request: (value: string) => { method: string; params: object };
}

/** Modes of cadre's own: they decide what cadre does with the agent's requests, not what the agent does. */
const OWN_MODES = new Set(['default', 'require_approval']);

/** What can be chosen in an opened session: its mode, model and thinking effort. */
export function choicesOf({ modes, configOptions }: OpenedSession): Choice[] {
  const mode: Choice = {
    code: 'invalid_permission_mode',
    name: 'permissionMode',
    known: modes?.availableModes.map(({ id }) => id) ?? [],
    current: modes?.currentModeId ?? null,
    request: (modeId) => ({ method: 'session/set_mode', params: { modeId } }),
  };
  const configured = (category: string, name: Choice['name'], code: Choice['code']): Choice => {
    const found = configOptions?.find((one) => one.category === category);
    return {
      code,
      name,
      known: found?.options?.flatMap(({ value }) => value ?? []) ?? [],
      current: typeof found?.currentValue === 'string' ? found.currentValue : null,
      request: (value) => ({
        method: 'session/set_config_option',
        params: { configId: found?.id, value },
      }),
    };
  };
  const byMode = modes
    ? mode
    : { ...configured('mode', 'permissionMode', 'invalid_permission_mode') };
  return [
    byMode,
    configured('model', 'model', 'invalid_model'),
    configured('thought_level', 'thinkingEffort', 'invalid_thinking_effort'),
  ];
}

/** Modes that have two names: an agent may know either. */
const ALIASES: Readonly<Record<string, string>> = {
  accept_edits: 'workspace_write',
  workspace_write: 'accept_edits',
  bypass: 'full_access',
  full_access: 'bypass',
};

/** The value that settings wish for; null where they wish for what the session began with. */
export function wantedOf(settings: TurnSettings, { name, known }: Choice): string | null {
  const wanted = settings[name];
  if (name !== 'permissionMode' || wanted === null) return wanted;
  if (OWN_MODES.has(wanted)) return null;
  const alias = ALIASES[wanted];
  return alias !== undefined && !known.includes(wanted) && known.includes(alias) ? alias : wanted;
}

/** Why the agent cannot have the settings, with what it offers, or null. */
export function objectionTo(
  settings: TurnSettings,
  choices: readonly Choice[],
): ProviderError | null {
  for (const choice of choices) {
    const wanted = wantedOf(settings, choice);
    if (wanted === null || choice.known.includes(wanted)) continue;
    const names = {
      permissionMode: 'permission_mode',
      model: 'model',
      thinkingEffort: 'thinking_effort',
    };
    const offer =
      choice.known.length > 0
        ? `it has: ${choice.known.join(', ')}`
        : 'it offers none to choose from';
    return new ProviderError(
      choice.code,
      `the agent has no ${names[choice.name]} "${wanted}"; ${offer}`,
    );
  }
  return null;
}
