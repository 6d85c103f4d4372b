import type { ApprovalDetail } from '../../src/api/approvals.ts';
import { unifiedDiff } from '../../src/agents/details.ts';

/** The change of a file as a detail of an approval. */
export function diffDetail(...change: Parameters<typeof unifiedDiff>): ApprovalDetail {
  return { type: 'diff', path: change[0], diff: unifiedDiff(...change) };
}
