import { addAbortListener } from 'node:events';
import type { AttachedRequest } from '../attached-turn.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { tooLargeRequest } from '../budget.ts';
import { excessOf } from '../json-connection.ts';
import {
  type AgentAnswer,
  type AgentRequest,
  type AgentSink,
  type AgentUpdate,
  report,
  type TurnSettings,
} from '../provider.ts';
import { isCadreTool } from './cadre-tools.ts';
import type { AskedRequest } from '../output-lines.ts';
import {
  allowOnce,
  approvalRequest,
  describesCall,
  outcomeFor,
  type PermissionRequest,
  readPermission,
} from './permission.ts';
import type { ResolvedAgent } from './resolve.ts';
import type { ToolCallTracker } from './tool-call-tracker.ts';
import { otherSession, refIn } from './update-forwarder.ts';

/** The maximum time for which a request without arguments waits for a report about its call. */
const LATE_REPORT_MS = 300;

interface Dependencies {
  sink: AgentSink;
  clock: Clock;
  cwd: string;
  agent: ResolvedAgent;
  /** The session of the agent. */
  ref: () => string;
  calls: () => ToolCallTracker;
  /** Whether nothing that the agent says is of a turn. */
  ignoresMessages: () => boolean;
  permissionMode: () => TurnSettings['permissionMode'];
  /** Called for each request of a turn. */
  onAsked: () => void;
  /** Fails the turn. */
  refuse: (code: string, message: string) => void;
}

const cancelled = { outcome: 'cancelled' };

/** Answers the requests of an agent for permission. */
export class PermissionRequests {
  readonly #deps: Dependencies;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** Turns a request into an approval with `require_approval`; otherwise it fails the turn (interface 3.4). */
  async ask(params: unknown, { line, key, withdrawn, hold }: AskedRequest): Promise<object> {
    const { sink, cwd, agent, clock, refuse } = this.#deps;
    const declined = declineTooLarge(params, this.#deps.ref(), line);
    if (declined) return declined;
    if (this.#deps.ignoresMessages()) return { outcome: cancelled };
    this.#deps.onAsked();
    const permission = readPermission(params);
    const calls = this.#deps.calls();
    const ref = this.#callIn(params, permission);
    // For some agents this is the first mention of the tool.
    if (ref !== null) {
      const change = calls.asked(ref, permission.shown);
      await line.update({ type: 'tool', ref, change });
    }
    const known = ref === null ? undefined : calls.of(ref);
    const allowed = isCadreTool(permission, known, agent.quirks) && allowOnce(permission.options);
    if (allowed) return { outcome: allowed };
    const request = await describedRequest(permission, ref, { calls, cwd, clock }, withdrawn);
    if (this.#deps.permissionMode() !== 'require_approval') {
      await line.update({ type: 'declined_unasked' });
      refuse(
        'permission_required',
        `the agent requested permission: ${request.title}: send the turn with permission_mode "require_approval", ` +
          "or allow the action in the agent's own configuration",
      );
      return { outcome: cancelled };
    }
    const answer = await sink.ask(request, withdrawn, { key, hold });
    return { outcome: await this.#outcomeOf(answer, permission, ref, request.title) };
  }

  /** Answers a request that an earlier server has stored. */
  async askAgain(
    { title, request, answer }: AttachedRequest,
    withdrawn: AbortSignal,
  ): Promise<object> {
    const permission = readPermission(request);
    const ref = this.#callIn(request, permission);
    return { outcome: await this.#outcomeOf(await answer(withdrawn), permission, ref, title) };
  }

  async #outcomeOf(
    answer: AgentAnswer,
    { options }: PermissionRequest,
    ref: string | null,
    title: string,
  ): Promise<object> {
    const outcome = outcomeFor(answer, options);
    if (!outcome) {
      const message = `cannot accept the request: the agent offers no option to allow it once: ${title}`;
      this.#deps.refuse('provider_error', message);
      return cancelled;
    }
    if (ref !== null && answer.decision === 'decline')
      await this.#deps.sink.update({ type: 'tool', ref, change: { status: 'failed' } });
    return outcome;
  }

  /** Returns the id of the call that a request is about. Null if the request shows no call. */
  #callIn(params: unknown, { tool }: PermissionRequest): string | null {
    return tool && refIn(otherSession(params, this.#deps.ref()), tool.ref);
  }
}

/**
 * Returns the request for an approval. Some agents report a call just after their request for it: a request without
 * arguments waits a moment for that report. A later one changes no approval, because people accept what they were shown.
 */
async function describedRequest(
  permission: PermissionRequest,
  ref: string | null,
  { calls, cwd, clock }: { calls: ToolCallTracker; cwd: string; clock: Clock },
  withdrawn: AbortSignal,
): Promise<AgentRequest> {
  const known = () => (ref === null ? undefined : calls.of(ref));
  const read = () => approvalRequest(permission, known(), cwd, calls.messagesOf(ref));
  const request = read();
  if (!request.lacksArguments || ref === null || withdrawn.aborted) return request;
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  using _limit = clock.after(LATE_REPORT_MS, end);
  using _reports = calls.onReport(ref, () => {
    if (describesCall(known() ?? {})) end();
  });
  using _withdrawal = addAbortListener(withdrawn, () => end());
  await ended;
  return read();
}

/**
 * Declines a request for a permission that is too large to be shown to anybody. Undefined for any other. `ref`: the
 * session of the agent.
 */
function declineTooLarge(
  params: unknown,
  ref: string,
  line: Pick<AgentSink, 'update'>,
): Promise<object> | undefined {
  const excess = excessOf(params);
  if (!excess) return undefined;
  const { tool, options } = readPermission(params);
  const updates: AgentUpdate[] = [{ type: 'notice', ...tooLargeRequest(excess) }];
  // Some agents say nothing more of a tool that was refused.
  if (tool) {
    const about = refIn(otherSession(params, ref), tool.ref);
    updates.push({ type: 'tool', ref: about, change: { status: 'failed' } });
  }
  const outcome = outcomeFor({ decision: 'decline', reason: null }, options);
  return report(line, updates).then(() => ({ outcome }));
}
