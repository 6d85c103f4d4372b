import type { Approval, ApprovalDetail } from '../../../api/approvals.ts';
import type { Session } from '../../../api/sessions.ts';
import type { ToolName } from '../../../api/tool-names.ts';
import { isAppError } from '../../../api/errors.ts';
import { cutTitle } from '../../../core/lib/cut-title.ts';
import { filledFields } from '../../../core/lib/filled-fields.ts';
import { stricterMode } from '../../../api/permission-modes.ts';
import type { Modes } from '../../conversations/sessions/permission-mode.ts';
import type { SessionService } from '../../conversations/sessions/service.ts';
import type { TurnRunner } from '../../conversations/sessions/turn-runner.ts';
import { ToolError, type Caller, type SessionCaller } from './toolkit.ts';
import {
  type Circumstances,
  type Effect,
  type Verdict,
  verdictOf,
  verdictOfAll,
  remedy,
} from './tool-policy-table.ts';

/** The approval that a person is shown before the effects happen. */
export interface Question {
  kind: Approval['kind'];
  /** Any text; it is shown on one line, without control characters. */
  title: string;
  /** Everything that will happen. An acceptance holds for exactly these values. */
  request: Record<string, unknown>;
  details: readonly ApprovalDetail[];
}

interface ToolPolicyDeps {
  sessions: Pick<SessionService, 'permission'>;
  runner: Pick<TurnRunner, 'ask'>;
  /** Returns the tools that the operator has freed, by the current configuration. */
  freed: () => readonly ToolName[];
  /** Whether commands of sessions need no approval, because their sandbox is full and has no network. */
  allowsSandboxed: (session: Session) => Promise<boolean>;
}

/** Checks calls against the tool policy table, and asks a person if the verdict demands it. */
export class ToolPolicy {
  readonly #deps: ToolPolicyDeps;

  constructor(deps: ToolPolicyDeps) {
    this.#deps = deps;
  }

  async circumstances(caller: Caller): Promise<Circumstances> {
    const freed = this.#deps.freed();
    if (!caller.session) return { mode: caller.mode, asked: 'nobody', freed };
    const { mode: own, canAsk } = await this.#deps.sessions.permission(caller.id);
    const mode = caller.tokenMode === undefined ? own : stricterMode(own, caller.tokenMode);
    const asked = caller.isOperator ? 'operator' : canAsk ? 'person' : 'nobody';
    const isAllowed =
      mode !== 'require_approval' && (await this.#deps.allowsSandboxed(caller.session));
    return { mode, asked, freed: isAllowed ? [...freed, 'cadre_process_run'] : freed };
  }

  /** Returns the modes of the caller's turn, which a member that it spawns inherits. */
  async modes(caller: Caller): Promise<Modes> {
    if (!caller.session) return { mode: caller.mode, agentMode: null };
    const { agentMode } = await this.#deps.sessions.permission(caller.id);
    const { mode } = await this.circumstances(caller);
    return { mode, agentMode };
  }

  /** Resolves once the effects may happen, or a person has accepted them. Throws `unauthorized` or `limit_reached`. */
  async pass(
    caller: Caller,
    effects: readonly Effect[],
    question: () => Question,
  ): Promise<Verdict> {
    const circumstances = await this.circumstances(caller);
    const verdict = verdictOfAll(effects, circumstances);
    const strictest = effects.find((effect) => verdictOf(effect, circumstances) === verdict);
    if (!strictest || verdict === 'free') return verdict;
    if (!caller.session) throw refusalOutside(strictest, circumstances);
    if (verdict === 'refuse') throw refusal(strictest, circumstances);
    await this.#ask(caller, strictest, circumstances, question());
    return verdict;
  }

  /** Does the same for one effect that its arguments describe completely. */
  passOne(caller: Caller, effect: Effect, args: Record<string, unknown>): Promise<Verdict> {
    const title = `${effect.action.replaceAll('_', ' ')}: ${JSON.stringify(args)}`;
    return this.pass(caller, [effect], () => ({
      kind: 'tool',
      title,
      request: args,
      details: inputDetails(args),
    }));
  }

  async #ask(
    { session, signal }: SessionCaller,
    effect: Effect,
    { mode }: Circumstances,
    { kind, title, request, details: parts }: Question,
  ): Promise<void> {
    const { tool } = effect;
    const shown = { tool, ...request };
    const details = [...parts, ...inputDetails({ tool })];
    const asking = { kind, tool, title: oneLine(title), request: shown, details, subject: shown };
    const answer = await this.#deps.runner
      .ask(session.id, asking, signal)
      .catch((error: unknown) => {
        if (!isAppError(error, 'too_many')) throw error;
        throw new ToolError('limit_reached', `${error.message}, or ${remedy(effect, mode)}`);
      });
    if (answer.decision === 'accept') return;
    const why =
      answer.decision === 'decline'
        ? (answer.reason ?? 'declined')
        : 'the turn has ended, or the caller no longer waits for the answer';
    throw new ToolError('unauthorized', `the call of ${effect.tool} was not allowed: ${why}`);
  }
}

/** Returns the fields of a request as details, without those that are null or that other details show. */
export function inputDetails(request: object, shown: readonly string[] = []): ApprovalDetail[] {
  return filledFields(request, shown).map(([name, value]) => ({ type: 'input', name, value }));
}

function refusal(effect: Effect, { mode }: Circumstances): ToolError {
  const what = `${effect.tool} (${effect.action.replaceAll('_', ' ')})`;
  const modeName = mode ?? 'default';
  const why =
    verdictOf(effect, { mode, asked: 'person', freed: [] }) === 'refuse'
      ? `is not allowed in permission_mode ${modeName}`
      : `requires an approval in permission_mode ${modeName}, and the session has no running turn that could request it`;
  return new ToolError('unauthorized', `${what} ${why}: ${remedy(effect, mode)}`);
}

/** An external caller has no turn in which a person could be asked: the mode of its token decides alone. */
function refusalOutside({ tool, action }: Effect, { mode }: Circumstances): ToolError {
  const what = `${tool} (${action.replaceAll('_', ' ')})`;
  return new ToolError(
    'unauthorized',
    mode === 'read_only'
      ? `${what} is not allowed for a caller without a session in permission_mode read_only: set up the caller again with permission_mode full_access`
      : `${what} is not allowed for a caller without a session in permission_mode ${mode ?? 'default'}: set up the caller again with permission_mode full_access, or allow the tool with [gateway] free = ["${tool}"] in the configuration`,
  );
}

function oneLine(text: string): string {
  const visible = text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').replaceAll(/ {2,}/g, ' ');
  return cutTitle(visible.trim());
}
