import type { Approval } from '../api/approvals.ts';
import type { ToolName } from '../api/tool-names.ts';
import { AppError } from '../errors.ts';
import { cutTitle } from '../lib/cut-title.ts';
import type { SessionService } from '../sessions/service.ts';
import { ToolError } from './envelope.ts';
import {
  type Circumstances,
  type Effect,
  type Verdict,
  verdictOf,
  verdictOfAll,
  wayOut,
} from './gate.ts';
import type { Caller } from './toolkit.ts';

/** What a person is shown before it happens, and what the acceptance is good for. */
export interface Question {
  kind: Approval['kind'];
  /** Any text: it is shown in one line, without control characters. */
  title: string;
  /** All that will happen. The acceptance is good for these very values. */
  request: Record<string, unknown>;
}

interface GatekeeperDependencies {
  sessions: Pick<SessionService, 'permission' | 'ask'>;
  /** The tools that the operator has freed just now. */
  freed: () => readonly ToolName[];
}

/** Brings calls before the gate, and asks where the gate says so. */
export class Gatekeeper {
  readonly #given: GatekeeperDependencies;

  constructor(given: GatekeeperDependencies) {
    this.#given = given;
  }

  /** Under which circumstances a call is made just now. */
  async circumstances({ session, isOperator }: Caller): Promise<Circumstances> {
    const { mode, canAsk } = await this.#given.sessions.permission(session.id);
    const asked = isOperator ? 'operator' : canAsk ? 'person' : 'nobody';
    return { mode, asked, freed: this.#given.freed() };
  }

  /**
   * Resolves once the effects may happen: at once, or when a person has accepted them. Throws `unauthorized` with the
   * way out where they may not, and `limit_reached` where too much is being asked for.
   */
  async pass(
    caller: Caller,
    effects: readonly Effect[],
    question: () => Question,
  ): Promise<Verdict> {
    const given = await this.circumstances(caller);
    const verdict = verdictOfAll(effects, given);
    const strictest = effects.find((effect) => verdictOf(effect, given) === verdict);
    if (!strictest || verdict === 'free') return verdict;
    if (verdict === 'refuse') throw refusal(strictest, given);
    await this.#ask(caller, strictest, given, question());
    return verdict;
  }

  /** Like `pass`, for one effect that its arguments tell all about. */
  passOne(caller: Caller, effect: Effect, args: Record<string, unknown>): Promise<Verdict> {
    const title = `${effect.action.replaceAll('_', ' ')}: ${JSON.stringify(args)}`;
    return this.pass(caller, [effect], () => ({ kind: 'tool', title, request: args }));
  }

  async #ask(
    { session, gone }: Caller,
    effect: Effect,
    { mode }: Circumstances,
    { kind, title, request }: Question,
  ): Promise<void> {
    const shown = { tool: effect.tool, ...request };
    const asking = { kind, title: oneLine(title), request: shown, subject: shown };
    const answer = await this.#given.sessions
      .ask(session.id, asking, gone)
      .catch((error: unknown) => {
        if (!(error instanceof AppError) || error.code !== 'too_many') throw error;
        throw new ToolError('limit_reached', `${error.message}, or ${wayOut(effect, mode)}`);
      });
    if (answer.decision === 'accept') return;
    const why =
      answer.decision === 'decline'
        ? (answer.reason ?? 'declined')
        : 'its turn has ended, or nobody waits for the answer any more';
    throw new ToolError('unauthorized', `${effect.tool} was not allowed: ${why}`);
  }
}

function refusal(effect: Effect, { mode }: Circumstances): ToolError {
  const what = `${effect.tool} (${effect.action.replaceAll('_', ' ')})`;
  const said = mode ?? 'default';
  const why =
    verdictOf(effect, { mode, asked: 'person', freed: [] }) === 'refuse'
      ? `is not allowed in the permission_mode ${said}`
      : `needs an approval in the permission_mode ${said}, and the session has no turn in which a person could be asked`;
  return new ToolError('unauthorized', `${what} ${why}: ${wayOut(effect, mode)}`);
}

/** A text as one line that a terminal shows as it is. */
function oneLine(text: string): string {
  const visible = text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').replaceAll(/ {2,}/g, ' ');
  return cutTitle(visible.trim());
}
