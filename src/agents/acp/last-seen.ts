import type { Model } from '../../api/providers.ts';
import { AuthRecord } from './auth-record.ts';
import type { Choices } from './choices.ts';
import { type ChoiceName, choiceNames, type Offered } from './options.ts';

/**
 * What was last seen of an agent by any of its processes, so that it can be told without starting one. It is empty when
 * the server starts.
 */
export interface LastSeen {
  /** Null: none of its processes has opened a session. */
  models: readonly Model[] | null;
  /** Its own modes. */
  modes: readonly Offered[];
  /** The thinking efforts that it has offered with each of its models. */
  readonly levels: Map<string, readonly string[]>;
  readonly auth: AuthRecord;
  /** The choices for which a turn has waited, and which the agent did not offer: no turn waits for them again. */
  readonly notOffered: Set<ChoiceName>;
  /** The choices that it has offered only after it had got a prompt. */
  readonly offeredLate: Set<ChoiceName>;
}

export function nothingSeen(): LastSeen {
  return {
    models: null,
    modes: [],
    levels: new Map(),
    auth: new AuthRecord(),
    notOffered: new Set(),
    offeredLate: new Set(),
  };
}

/**
 * Keeps what an agent offers in a session. It tells the efforts of its current model alone: a model that it has not
 * worked with yet is shown with those.
 */
export function noteChoices(seen: LastSeen, choices: Choices): void {
  const { offered, current } = choices.choice('model');
  const levels = choices.choice('thinkingEffort').offered.map(({ id }) => id);
  if (current !== null) seen.levels.set(current, levels);
  seen.models = offered.map(({ id, name }) => ({
    id,
    display_name: name,
    reasoning_levels: [...(seen.levels.get(id) ?? levels)],
  }));
  seen.modes = choices.choice('agentMode').offered;
  for (const which of choiceNames)
    if (choices.choice(which).canBeSet) seen.notOffered.delete(which);
}
