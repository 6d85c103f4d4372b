import type { Turn } from '../api/sessions.ts';
import type { TurnSettings } from '../providers/provider.ts';

/** What a session or a turn wants its agent to run with; null: the default of its provider. */
type Wishes = Pick<Turn, 'permission_mode' | 'model' | 'thinking_effort'>;

/** What a request names of the settings, with null for what it leaves out. */
export function wishesOf({
  permission_mode,
  model,
  thinking_effort,
}: { [K in keyof Wishes]?: Wishes[K] | undefined }): Wishes {
  return {
    permission_mode: permission_mode ?? null,
    model: model ?? null,
    thinking_effort: thinking_effort ?? null,
  };
}

/** What holds for a turn: its own wishes, else the session's. */
export function settingsOf(session: Wishes, turn: Wishes): TurnSettings {
  return {
    permissionMode: turn.permission_mode ?? session.permission_mode,
    model: turn.model ?? session.model,
    thinkingEffort: turn.thinking_effort ?? session.thinking_effort,
  };
}
