import type { Clock } from '../../core/lib/clock.ts';
import type { AgentRequest } from '../provider.ts';
import { approvalRequest, describesCall, type PermissionRequest } from './permission.ts';
import type { ToolCallTracker } from './tool-call-tracker.ts';

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
  withdrawn.addEventListener('abort', () => end(), { once: true });
  await ended;
  return read();
}
