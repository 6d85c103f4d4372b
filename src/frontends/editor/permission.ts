import type {
  PermissionOption,
  RequestPermissionRequest,
  RequestPermissionResponse,
  ToolCallContent,
} from '@agentclientprotocol/sdk/unstable';
import type { Approval, ApprovalDetail, decideApproval } from '../../api/approvals.ts';
import type { BodyInputOf } from '../../api/endpoint.ts';
import { ARGUMENTS_MISSING } from '../../core/lib/arguments-missing.ts';
import { diffContent, type ShownTool, textContent, toolFields } from './tool-call.ts';

/** A decision on an approval. */
export type Decision = BodyInputOf<typeof decideApproval>;

/** The tool call that an approval is about, as the editor has been told of it. */
export interface AskedCall {
  item_id: string;
  tool: ShownTool;
}

/** What an editor is asked for an approval: all that it would do, and the answers that it takes. */
export function permissionRequest(
  approval: Approval,
  call: AskedCall | null,
): Omit<RequestPermissionRequest, 'sessionId'> {
  const tool = call?.tool ?? {
    call_ref: approval.id,
    title: approval.title,
    kind: kinds[approval.kind],
  };
  return {
    toolCall: {
      ...toolFields(call?.item_id ?? approval.id, tool, 'pending'),
      title: approval.title,
      content: [
        ...(approval.arguments_missing ? textContent(ARGUMENTS_MISSING) : []),
        ...approval.details.flatMap(contentOf),
      ],
    },
    options: optionsOf(approval),
  };
}

/** What an editor is asked again before it accepts a request that its agent does not describe: it takes no typed word. */
export function confirmationOf(
  request: Omit<RequestPermissionRequest, 'sessionId'>,
): Omit<RequestPermissionRequest, 'sessionId'> {
  const accept = {
    optionId: ONCE,
    name: 'Accept it although nobody knows what it would do',
    kind: 'allow_once',
  } as const;
  return {
    toolCall: { ...request.toolCall, content: textContent(ARGUMENTS_MISSING) },
    options: [reject, accept],
  };
}

/** The decision that an editor's answer means. One that it did not take declines. */
export function decisionOf({ outcome }: RequestPermissionResponse): Decision {
  if (outcome.outcome === 'cancelled')
    return { decision: 'decline', reason: 'the editor dismissed the question' };
  if (outcome.optionId === ONCE) return { decision: 'accept' };
  if (outcome.optionId === SESSION) return { decision: 'accept', scope: 'session' };
  return { decision: 'decline' };
}

const ONCE = 'once';
const SESSION = 'session';

const kinds = {
  command: 'execute',
  file_change: 'edit',
  tool: 'other',
  question: 'other',
  budget: 'other',
} as const satisfies Record<Approval['kind'], string>;

function optionsOf({ scopes, session_allows }: Approval): PermissionOption[] {
  const offered: PermissionOption[] = [];
  if (scopes.includes('once'))
    offered.push({ optionId: ONCE, name: 'Allow once', kind: 'allow_once' });
  if (scopes.includes('session'))
    offered.push({
      optionId: SESSION,
      name: `Allow for the session: ${session_allows ?? 'the same'}`,
      kind: 'allow_always',
    });
  return [...offered, reject];
}

export const reject: PermissionOption = {
  optionId: 'reject',
  name: 'Decline',
  kind: 'reject_once',
};

function contentOf(detail: ApprovalDetail): ToolCallContent[] {
  switch (detail.type) {
    case 'command': {
      const where = detail.cwd === null ? '' : `\n\nin ${detail.cwd}`;
      return textContent(`${fenced(detail.command, 'sh')}${where}`);
    }
    case 'diff':
      return diffContent(detail.path, detail.diff);
    case 'omitted':
      return textContent(
        `NOT SHOWN: ${detail.name} (${detail.bytes} bytes). cadre approvals show has the whole request.`,
      );
    case 'input': {
      const { value } = detail;
      const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
      return textContent(`${detail.name}:\n${fenced(text, '')}`);
    }
  }
}

/** A text as a block of code that none of its own lines ends. */
function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}
