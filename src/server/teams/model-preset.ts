import { AppError, invalidError } from '../../api/errors.ts';
import type { ProviderId } from '../../api/provider-kinds.ts';
import type { BodyOf } from '../../api/endpoint.ts';
import type { spawnMember } from '../../api/teams.ts';

type SpawnRequest = BodyOf<typeof spawnMember>;

/** A named choice of provider, agent, model and effort for members. */
export interface ModelPreset {
  name: string;
  provider: ProviderId;
  /** Null: the default agent of the provider. */
  agent: string | null;
  model: string | null;
  thinking_effort: string | null;
  agent_mode: string | null;
}

/** Returns the preset. Throws `unknown_model_preset`, and `invalid` if the request also names what it sets. */
export function presetOf(
  { model_preset: name, provider, agent, model }: SpawnRequest,
  presets: readonly ModelPreset[],
): ModelPreset | null {
  if (name === undefined || name === null) return null;
  if (provider || agent || model)
    throw invalidError(
      'body.model_preset: a preset cannot be combined with provider, agent or model: leave out either the preset or these fields',
    );
  const found = presets.find((preset) => preset.name === name);
  if (found) return found;
  const names = presets.map((preset) => preset.name).join(', ') || 'none';
  throw new AppError(
    'unknown_model_preset',
    `unknown model preset "${name}": choose from ${names}`,
  );
}

/** Returns metadata with the name and the effort of a preset. Throws `invalid` for metadata that is not an object. */
export function withPreset(metadata: unknown, { name, thinking_effort }: ModelPreset): unknown {
  const presetFields = { model_preset: name, thinking_effort };
  if (metadata === undefined || metadata === null) return presetFields;
  if (typeof metadata !== 'object' || Array.isArray(metadata))
    throw invalidError('body.metadata: metadata must be an object if model_preset is set');
  return { ...metadata, ...presetFields };
}
