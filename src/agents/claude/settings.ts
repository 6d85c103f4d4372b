import { z } from 'zod';
import type { AgentCommand } from '../../api/commands.ts';
import type { Model } from '../../api/providers.ts';
import { objectionToAgentMode, ProviderError, type TurnSettings } from '../provider.ts';

/** Claude's mode that asks for no permission. The process has to be started with it allowed. */
export const BYPASS = 'bypassPermissions';

/** Claude's name for each mode that all providers have. */
const modes: Record<string, string> = {
  default: 'default',
  require_approval: 'default',
  read_only: 'plan',
  workspace_write: 'acceptEdits',
  accept_edits: 'acceptEdits',
  full_access: BYPASS,
  bypass: BYPASS,
};

/** Claude's own mode for a permission_mode. */
export function modeOf(permissionMode: string | null): string {
  return modes[permissionMode ?? 'default'] ?? permissionMode ?? 'default';
}

/** Whether claude would bypass permissions: as root it refuses to, unless a variable says that it is in a sandbox. */
export function mayBypass(env: Readonly<Record<string, string>>): boolean {
  return process.getuid?.() !== 0 || Boolean(env.IS_SANDBOX);
}

export const bypassRefused = () =>
  new ProviderError(
    'invalid_permission_mode',
    'claude: Claude Code refuses permission_mode "full_access" for root: run cadre as another user, ' +
      'or set IS_SANDBOX = "1" in providers.claude.env if this machine is a sandbox',
  );

/** The modes that claude names when it refuses another one; null where it names none. */
export function readModes(refusal: string): string[] | null {
  const list = /must be one of ([\w, ]+)$/.exec(refusal)?.[1];
  return list?.split(',').map((mode) => mode.trim()) ?? null;
}

/**
 * Why claude cannot have the settings, or null. A setting that passes may still be refused by claude. `known`: the modes
 * that claude has named; null where it has named none yet.
 */
export function objectionTo(
  settings: TurnSettings,
  models: readonly Model[],
  env: Readonly<Record<string, string>>,
  known: readonly string[] | null,
): ProviderError | null {
  const objection = objectionToAgentMode('claude', settings);
  if (objection) return objection;
  const mode = modeOf(settings.permissionMode);
  if (mode === BYPASS && !mayBypass(env)) return bypassRefused();
  if (known && !known.includes(mode)) {
    const all = [...Object.keys(modes), ...known.filter((one) => !(one in modes))];
    return new ProviderError(
      'invalid_permission_mode',
      `claude: unknown permission_mode "${mode}": choose from ${all.join(', ')}`,
    );
  }
  // Claude ignores an effort that it does not know.
  const levels = [...new Set(models.flatMap(({ reasoning_levels }) => reasoning_levels))];
  const { thinkingEffort: effort } = settings;
  if (effort === null || levels.length === 0 || levels.includes(effort)) return null;
  return new ProviderError(
    'invalid_thinking_effort',
    `claude: unknown thinking_effort "${effort}": choose from ${levels.join(', ')}`,
  );
}

const model = z.looseObject({
  value: z.string(),
  displayName: z.string().optional().catch(undefined),
  supportedEffortLevels: z.array(z.string()).optional().catch(undefined),
});
const command = z.looseObject({
  name: z.string().min(1),
  description: z.string().catch(''),
  argumentHint: z.string().nullish().catch(null),
});
const initialized = z.looseObject({
  models: z.array(z.unknown()).catch([]),
  commands: z.array(z.unknown()).catch([]),
  claude_code_version: z.string().optional().catch(undefined),
});

/** The used fields of claude's answer to `initialize`. */
export interface Initialized {
  version: string | null;
  models: Model[];
  /** Its slash commands. */
  commands: AgentCommand[];
}

export function readInitialized(raw: unknown): Initialized {
  const { data } = initialized.safeParse(raw);
  const models = (data?.models ?? []).flatMap((one): Model[] => {
    const { data: found } = model.safeParse(one);
    if (!found) return [];
    const { value: id, displayName, supportedEffortLevels: levels } = found;
    return [{ id, display_name: displayName ?? id, reasoning_levels: levels ?? [] }];
  });
  const commands = (data?.commands ?? []).flatMap((one): AgentCommand[] => {
    const { data: found } = command.safeParse(one);
    if (!found) return [];
    const { name, description, argumentHint } = found;
    return [{ name: name.replace(/^\//, ''), description, hint: argumentHint || null }];
  });
  return { version: data?.claude_code_version ?? null, models, commands };
}

const applied = z.looseObject({
  applied: z.looseObject({ model: z.string().nullish().catch(null) }),
});

/** The model of a turn that wishes for none, in the answer to `get_settings`. */
export function readModel(raw: unknown): string | null {
  return applied.safeParse(raw).data?.applied.model ?? null;
}
