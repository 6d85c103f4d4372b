import { addAbortListener } from 'node:events';
import type { Clock } from '../../core/lib/clock.ts';
import { tooLargeRequest } from '../budget.ts';
import { excessOf } from '../json-connection.ts';
import { type AgentRequest, type AgentSink, type AgentUpdate, report } from '../provider.ts';
import {
  approvalRequest,
  describesCall,
  outcomeFor,
  type PermissionRequest,
  readPermission,
} from './permission.ts';
import type { ToolCallTracker } from './tool-call-tracker.ts';
import { otherSession, refIn } from './update-forwarder.ts';

/** The maximum time for which a request without arguments waits for a report about its call. */
const LATE_REPORT_MS = 300;

/**
 * Returns the request for an approval. Some agents report a call just after their request for it: a request without
 * arguments waits a moment for that report. A later one changes no approval, because people accept what they were shown.
 */
export async function describedRequest(
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
export function declineTooLarge(
  params: unknown,
  ref: string,
  sink: AgentSink,
): Promise<object | null> | undefined {
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
  return report(sink, updates).then(() => outcome);
}
