import { labelledId } from '../../core/lib/labelled-id.ts';
import { toolNames } from '../../api/tool-names.ts';
import type { AgentUpdate, TurnSettings } from '../provider.ts';
import type { Choices } from './choices.ts';
import type { Offered } from './options.ts';
import type { ReportedCall } from './reported-call.ts';

export type Notice = Omit<Extract<AgentUpdate, { type: 'notice' }>, 'type'>;

/** Tools that a person who wants to be asked expects to be asked for. */
const GRAVE = new Set<unknown>(['execute', 'edit', 'delete', 'move']);

/**
 * Detects, once for each process, that an agent requests no approval although the mode of the turn requires it or is not
 * set.
 */
export class PermissionPromptMonitor {
  /** Whether the agent asks; null: not known. */
  readonly #asks: () => boolean | null;
  readonly #memory = { hasAsked: false, isTold: false, isModeTold: false };

  constructor(asks: () => boolean | null) {
    this.#asks = asks;
  }

  save() {
    return { ...this.#memory };
  }

  restore(saved: ReturnType<PermissionPromptMonitor['save']>): void {
    Object.assign(this.#memory, saved);
  }

  noteAsked(): void {
    this.#memory.hasAsked = true;
  }

  /**
   * Before the prompt of a turn: whether the agent is known never to ask, lacks the mode in which it is said to ask, or is
   * in a mode of its own in which it may not ask, although nobody chose that.
   */
  beforeTurn(
    settings: TurnSettings,
    {
      missingAskingMode: missingMode,
      permissiveMode,
    }: Pick<Choices, 'missingAskingMode' | 'permissiveMode'>,
  ): Notice | null {
    if (this.#asks() !== false && permissiveMode !== null && isUnchosen(settings))
      return this.#modeNotice(permissiveMode);
    if (this.#asks() !== false) {
      if (missingMode === null || settings.agentMode !== null) return null;
      return this.#noticeOnce(settings, {
        code: 'asking_mode_missing',
        message:
          `the agent does not offer its mode "${missingMode}", so it can act without approval: ` +
          'set agent_mode to a mode in which the agent requests approval',
      });
    }
    return this.#noticeOnce(settings, {
      code: 'agent_never_asks',
      message:
        'permission_mode "require_approval" has no effect: this agent never requests approval',
    });
  }

  /** After news of a call: whether it is the first that an agent has completed without ever asking. */
  afterCall(call: ReportedCall, settings: TurnSettings): Notice | null {
    if (this.#asks() !== null || this.#memory.hasAsked) return null;
    if (call.status !== 'completed' || !GRAVE.has(call.kind) || isOwn(call)) return null;
    const title = typeof call.title === 'string' ? `"${call.title}"` : 'a tool';
    return this.#noticeOnce(settings, {
      code: 'agent_did_not_ask',
      message:
        `the agent ran ${title} without requesting approval, although permission_mode is "require_approval": ` +
        "the agent's own configuration and mode decide which actions need approval",
    });
  }

  #modeNotice({ id, name }: Offered): Notice | null {
    if (this.#memory.isModeTold) return null;
    this.#memory.isModeTold = true;
    return {
      code: 'agent_mode_does_not_ask',
      message:
        `the agent can act without your approval, because it runs in its own mode ${labelledId(id, name)}: send turns with ` +
        'permission_mode "require_approval", or set agent_mode',
    };
  }

  #noticeOnce({ permissionMode }: TurnSettings, notice: Notice): Notice | null {
    if (permissionMode !== 'require_approval' || this.#memory.isTold) return null;
    this.#memory.isTold = true;
    return notice;
  }
}

function isUnchosen({ agentMode, permissionMode }: TurnSettings): boolean {
  return agentMode === null && (permissionMode === null || permissionMode === 'default');
}

/** Whether a call looks like one of cadre's own tools, for which the gateway asks. */
function isOwn({ name, title, rawInput }: ReportedCall): boolean {
  const text = JSON.stringify([name, title, rawInput]);
  return toolNames.some((one) => text.includes(one));
}
