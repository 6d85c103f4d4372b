import { z } from 'zod';
import type { AgentCommand } from '../../api/commands.ts';
import type { Model } from '../../api/providers.ts';
import { Refusal } from '../json-connection.ts';
import { ProviderError, type TurnSettings } from '../provider.ts';
import { objectionToAgentMode, objectionToEffort } from '../session-settings.ts';
import { arrayOf, maybeText } from '../lenient.ts';
import { ownEntry } from '../../core/lib/own-entry.ts';

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

export function modeOf(permissionMode: string | null): string {
  return ownEntry(modes, permissionMode ?? 'default') ?? permissionMode ?? 'default';
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
function readModes(refusal: string): string[] | null {
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
  return objectionToEffort('claude', settings, models);
}

const model = z
  .looseObject({
    value: z.string(),
    displayName: maybeText,
    supportedEffortLevels: z.array(z.string()).catch([]),
  })
  .transform(({ value: id, displayName, supportedEffortLevels: levels }): Model => {
    return { id, display_name: displayName ?? id, reasoning_levels: levels };
  });
const command = z
  .looseObject({
    name: z.string().min(1),
    description: z.string().catch(''),
    argumentHint: maybeText,
  })
  .transform(({ name, description, argumentHint }): AgentCommand => {
    return { name: name.replace(/^\//, ''), description, hint: argumentHint || null };
  });
/** Claude's answer to `initialize`. */
const initialized = z
  .looseObject({
    models: arrayOf(model).catch([]),
    commands: arrayOf(command).catch([]),
    claude_code_version: maybeText,
  })
  .catch({ models: [], commands: [], claude_code_version: null })
  .transform(({ models, commands, claude_code_version: version }) => {
    return { models, commands, version };
  });

export type Initialized = z.output<typeof initialized>;

export function readInitialized(raw: unknown): Initialized {
  return initialized.parse(raw);
}

const applied = z.looseObject({
  applied: z.looseObject({ model: maybeText }),
});

/** The model of a turn that requests none, in the answer to `get_settings`. */
export function readModel(raw: unknown): string | null {
  return applied.safeParse(raw).data?.applied.model ?? null;
}

/** The settings that claude has in a process. */
export class AppliedSettings {
  isForBypass = false;
  /** Null: unknown, because an earlier server has started the process. */
  mode: string | null = null;
  /** Null: what the process began with. */
  #model: string | null = null;
  #effort: string | null = null;
  readonly #ask: (subtype: string, request: object) => Promise<unknown>;
  readonly #onModes: (modes: readonly string[]) => void;

  constructor(
    ask: (subtype: string, request: object) => Promise<unknown>,
    onModes: (modes: readonly string[]) => void,
  ) {
    this.#ask = ask;
    this.#onModes = onModes;
  }

  /** This server has started the process. */
  begun(isForBypass: boolean): void {
    this.isForBypass = isForBypass;
    this.mode = 'default';
  }

  save() {
    return { isForBypass: this.isForBypass, model: this.#model, effort: this.#effort };
  }

  restore({ isForBypass, model, effort }: ReturnType<AppliedSettings['save']>): void {
    this.isForBypass = isForBypass;
    this.#model = model;
    this.#effort = effort;
  }

  /** Sets what differs. `modelOfProcess`: the model that the process began with. */
  async apply(
    {
      mode,
      model,
      thinkingEffort: effort,
    }: Pick<TurnSettings, 'model' | 'thinkingEffort'> & { mode: string },
    modelOfProcess: string | null,
  ): Promise<void> {
    if (mode !== this.mode) {
      await this.#set('invalid_permission_mode', 'set_permission_mode', { mode });
      this.mode = mode;
    }
    const wanted = model ?? modelOfProcess;
    if (wanted !== null && wanted !== (this.#model ?? modelOfProcess)) {
      await this.#set('invalid_model', 'set_model', { model: wanted });
      this.#model = wanted;
    }
    if (effort !== this.#effort) {
      const settings = { effortLevel: effort };
      await this.#set('invalid_thinking_effort', 'apply_flag_settings', { settings });
      this.#effort = effort;
    }
  }

  async #set(code: ProviderError['code'], subtype: string, request: object): Promise<void> {
    try {
      await this.#ask(subtype, request);
    } catch (error) {
      const { cause, message } = error as Error;
      const named = code === 'invalid_permission_mode' ? readModes(message) : null;
      if (named) this.#onModes(named);
      throw cause instanceof Refusal ? new ProviderError(code, message, { cause: error }) : error;
    }
  }
}
