import { excessOf } from '../json-connection.ts';
import { tooLargeRequest } from '../omissions.ts';
import { type AgentSink, type AgentUpdate, report } from '../provider.ts';
import { outcomeFor, readPermission } from './permission.ts';
import { otherSession, refIn } from './subagents.ts';

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
