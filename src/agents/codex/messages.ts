import { z } from 'zod';
import type { Params } from './connection.ts';

/** Notifications that concern no session: of accounts, of apps, of an editor that embeds codex. */
const FOREIGN =
  /^(account|app|attestation|command|externalAgentConfig|fs|fuzzyFileSearch|hook|mcpServer|model|modelProvider|process|project|rawResponse|rawResponseItem|remoteControl|skills|thread\/realtime|windows|windowsSandbox)\//;
/** The known notifications of threads, turns and items. */
const KNOWN = new Set([
  'autoApprovalReview/strictReviewRequired',
  'configWarning',
  'deprecationNotice',
  'error',
  'guardianWarning',
  'item/agentMessage/delta',
  'item/autoApprovalReview/completed',
  'item/autoApprovalReview/started',
  'item/commandExecution/outputDelta',
  'item/commandExecution/terminalInteraction',
  'item/completed',
  'item/fileChange/outputDelta',
  'item/fileChange/patchUpdated',
  'item/mcpToolCall/progress',
  'item/plan/delta',
  'item/reasoning/summaryPartAdded',
  'item/reasoning/summaryTextDelta',
  'item/reasoning/textDelta',
  'item/started',
  'serverRequest/resolved',
  'thread/archived',
  'thread/attachment/updated',
  'thread/closed',
  'thread/compacted',
  'thread/deleted',
  'thread/environment/connected',
  'thread/environment/disconnected',
  'thread/goal/cleared',
  'thread/goal/updated',
  'thread/name/updated',
  'thread/prediction/updated',
  'thread/project/updated',
  'thread/queue/changed',
  'thread/readState/changed',
  'thread/reverted',
  'thread/section/changed',
  'thread/settings/updated',
  'thread/started',
  'thread/status/changed',
  'thread/tokenUsage/updated',
  'thread/unarchived',
  'turn/completed',
  'turn/diff/updated',
  'turn/moderationMetadata',
  'turn/plan/updated',
  'turn/started',
  'warning',
  'windows/worldWritableWarning',
]);

export function isKnown(method: string): boolean {
  return KNOWN.has(method) || FOREIGN.test(method);
}

const ofThread = z.looseObject({
  threadId: z.string().optional().catch(undefined),
  conversationId: z.string().optional().catch(undefined),
});

/** The thread that a message belongs to; undefined for a message that belongs to no session. */
export function threadOf(params: Params): string | undefined {
  const { data } = ofThread.safeParse(params);
  return data?.threadId ?? data?.conversationId;
}

const begun = z.looseObject({
  thread: z.looseObject({ id: z.string(), parentThreadId: z.string() }),
});

/** The thread that began another one, in the notification that says so. */
export function parentOf(
  method: string,
  params: Params,
): { child: string; thread: string } | undefined {
  if (method !== 'thread/started') return undefined;
  const thread = begun.safeParse(params).data?.thread;
  return thread && { child: thread.id, thread: thread.parentThreadId };
}

const initialized = z.looseObject({ userAgent: z.string() });

/** The version of codex in its answer to `initialize`; null where there is none. */
export function versionIn(answer: unknown): string | null {
  const { data } = initialized.safeParse(answer);
  return /\/(\d+\.\d+\.\d+\S*)/.exec(data?.userAgent ?? '')?.[1] ?? null;
}
