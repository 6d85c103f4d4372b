import type {
  PermissionOption,
  RequestPermissionRequest,
  RequestPermissionResponse,
  ToolCallContent,
} from '@agentclientprotocol/sdk/unstable';
import type { Approval, ApprovalDetail, decideApproval } from '../../api/approvals.ts';
import type { BodyInputOf } from '../../api/endpoint.ts';
import { ARGUMENTS_MISSING } from '../../core/lib/arguments-missing.ts';
import { revealed } from '../../core/lib/plain.ts';
import {
  diffContent,
  MAX_BYTES,
  type DisplayedTool,
  textContent,
  toolFields,
} from './tool-call.ts';

export type Decision = BodyInputOf<typeof decideApproval>;

/** The tool call of an approval, as the editor has it. */
export interface AskedCall {
  item_id: string;
  tool: DisplayedTool;
}

export type PermissionRequest = Omit<RequestPermissionRequest, 'sessionId'>;

/** The request to an editor for an approval: everything that it would allow, and the possible answers. */
export function permissionRequest(approval: Approval, call: AskedCall | null): PermissionRequest {
  const tool = call?.tool ?? {
    call_ref: approval.id,
    title: approval.title,
    kind: kinds[approval.kind],
  };
  const { details, questions, request } = approval;
  // Without details the request is all that is known of it.
  const isBare = details.length === 0 && !questions?.length;
  const shown: readonly ApprovalDetail[] = isBare
    ? [{ type: 'input', name: 'request', value: request }]
    : details;
  const parts = shown.map(partsOf);
  const isWhole = parts.every((part) => part.isWhole);
  return {
    toolCall: {
      ...toolFields(call?.item_id ?? approval.id, tool, 'pending'),
      title: revealed(approval.title),
      content: [
        ...(approval.arguments_missing ? textContent(ARGUMENTS_MISSING) : []),
        ...parts.flatMap(({ content }) => content),
      ],
    },
    // A user of an editor may not accept a request that the editor does not show.
    options: isWhole ? optionsOf(approval) : [reject],
  };
}

/** Returns the second request for a permission that the agent does not describe. An editor takes no typed word. */
export function confirmationOf(request: PermissionRequest): PermissionRequest {
  const accept = {
    optionId: ONCE,
    name: 'Accept without a description of the action',
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
    return { decision: 'decline', reason: 'the editor dismissed the approval request' };
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
      name: `Allow for the session: ${revealed(session_allows ?? 'the same')}`,
      kind: 'allow_always',
    });
  return [...offered, reject];
}

export const reject: PermissionOption = {
  optionId: 'reject',
  name: 'Decline',
  kind: 'reject_once',
};

/** The shown part of a detail, and whether it is complete. */
interface Parts {
  content: ToolCallContent[];
  isWhole: boolean;
}

function partsOf(detail: ApprovalDetail): Parts {
  switch (detail.type) {
    case 'command': {
      const where = detail.cwd === null ? '' : `\n\nin ${detail.cwd}`;
      return textParts(`${fenced(revealed(detail.command), 'sh')}${revealed(where)}`);
    }
    case 'diff':
      return diffParts(detail);
    case 'omitted':
      return notShown(detail.name, detail.bytes);
    case 'input': {
      const { name, value } = detail;
      const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
      return textParts(`${revealed(name)}:\n${fenced(revealed(text), '')}`);
    }
  }
}

function diffParts({ path, diff }: Extract<ApprovalDetail, { type: 'diff' }>): Parts {
  const [header = ''] = diff.split(/^@@/m, 1);
  const changes = diffContent(path, diff);
  // An editor shows one path of a change, which may have another one, too.
  const names = ['--- ', '+++ '].flatMap((mark) => [mark + path, `${mark}/dev/null`]);
  const known = new Set(['', ...names]);
  const isPlain = header.split('\n').every((line) => known.has(line));
  const rest = isPlain ? textParts('') : textParts(fenced(revealed(diff), 'diff'));
  return { content: [...changes, ...rest.content], isWhole: rest.isWhole };
}

function textParts(text: string): Parts {
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_BYTES) return notShown(text.slice(0, NAME_LENGTH), bytes);
  return { content: textContent(text), isWhole: true };
}

/** The beginning of a text that is named where it is too large to be shown. Code units. */
const NAME_LENGTH = 200;

function notShown(name: string, bytes: number): Parts {
  const why = `NOT SHOWN: ${revealed(name)} (${bytes} bytes). You cannot accept this request in the editor: run cadre approvals show.`;
  return { content: textContent(why), isWhole: false };
}

/** A text as a block of code that none of its own lines ends. */
function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}
