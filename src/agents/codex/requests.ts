import { z } from 'zod';
import type { ApprovalDetail, Question } from '../../api/approvals.ts';
import type { Excess } from '../bounded-line.ts';
import { inWords, tooLargeRequest } from '../budget.ts';
import { excessOf } from '../json-connection.ts';
import type { AgentAnswer, AgentRequest } from '../provider.ts';
import type { Params } from './connection.ts';
import { cutTitle } from '../../core/lib/cut-title.ts';
import { answerTo, approvalTitle, commandDetail, inputDetails } from '../details.ts';
import {
  allDetails,
  changeDetails,
  contentFor,
  fieldsRequest,
  legacyChangeDetails,
  readElicitation,
} from './request-parts.ts';
import { type Reader, titleOfChanges } from './items.ts';
import { maybe, maybeText } from '../lenient.ts';
import { ownEntry } from '../../core/lib/own-entry.ts';

/** A request of codex, and how it is answered. */
export interface CodexRequest {
  request: AgentRequest;
  itemId: string | null;
  /** The limit that the request exceeds, so that nobody is asked; null: it is whole. */
  excess: Excess | null;
  /** The answer in codex's words. No rule that codex proposes is accepted: it would outlive the session. */
  answer(answer: AgentAnswer): object;
}

type Items = Pick<Reader, 'changesOf' | 'commandOf' | 'isForgotten'>;

/** Reads a request; null where cadre does not know its method. */
export function readRequest(method: string, params: Params, items: Items): CodexRequest | null {
  const read = ownEntry(kinds, method)?.(params, items);
  if (!read) return null;
  const { answer, ...request } = read;
  const { itemId, callId } = ofItem.parse(params);
  return {
    request: { request: params, ...request },
    itemId: itemId ?? callId,
    excess: excessOf(params),
    answer,
  };
}

/** The fields that identify or word a request, and the rules that codex proposes, which are never accepted. */
const ASIDE = new Set([
  'approvalId',
  'availableDecisions',
  'callId',
  'conversationId',
  'itemId',
  'proposedExecpolicyAmendment',
  'proposedNetworkPolicyAmendments',
  'reason',
  'startedAtMs',
  'threadId',
  'turnId',
]);

/** All that a request asks for: every field but those, also a field that cadre does not know. */
function wholeOf(params: Params): Params {
  return Object.fromEntries(Object.entries(params).filter(([name]) => !ASIDE.has(name)));
}

/** The reason that codex is given in a mode in which nobody is asked. */
export function refusalOf({ request, excess }: CodexRequest, mode: string | null): string {
  if (excess) return tooLargeRequest(excess).message;
  const way =
    request.kind === 'question'
      ? 'nobody can answer: decide yourself and continue'
      : 'the request was declined automatically';
  return (
    `the action needs an answer from the user, but in permission_mode "${mode ?? 'default'}" ${way}. ` +
    'The user can send the turn with permission_mode "require_approval", or allow the action in the configuration of codex.'
  );
}

const DECLINED = 'the user declined the request';
const ofItem = z.looseObject({ itemId: maybeText, callId: maybeText, reason: maybeText });
const command = z.looseObject({
  command: maybeText,
  cwd: maybeText,
  networkApprovalContext: maybe(z.looseObject({ host: z.string() })),
  additionalPermissions: z.unknown().optional(),
});
const legacyCommand = z.looseObject({ command: z.array(z.string()).catch([]), cwd: maybeText });
const legacyPatch = z.looseObject({ fileChanges: z.record(z.string(), z.unknown()).catch({}) });
const permissions = z.looseObject({
  permissions: z.record(z.string(), z.unknown()).catch({}),
});
const questions = z.looseObject({
  questions: z.array(
    z.looseObject({
      id: z.string(),
      question: z.string(),
      header: maybeText,
      isOther: z.boolean().catch(true),
      options: z.array(z.object({ label: z.string(), description: maybeText })).catch([]),
    }),
  ),
});

type Asked = z.output<typeof questions>['questions'][number];

/** The fields of a request; `request` where it is not the one that codex sent. */
type Read = Omit<AgentRequest, 'request'> & Partial<Pick<AgentRequest, 'request'>>;
type Answer = Pick<CodexRequest, 'answer'>;

const kinds: Record<string, (params: Params, items: Items) => (Read & Answer) | null> = {
  'item/commandExecution/requestApproval'(params, items) {
    return { ...aboutCommand(params, items), answer: (reply) => ({ decision: wordFor(reply) }) };
  },
  'item/fileChange/requestApproval'(params, items) {
    const { itemId, reason } = ofItem.parse(params);
    const changes = items.changesOf(itemId ?? '');
    const isNamed = changes.length > 0;
    const isTold = isNamed && changes.every(({ diff }) => typeof diff === 'string');
    const title = isNamed ? titleOfChanges(changes) : (reason ?? 'a file change');
    return {
      request: { ...params, changes },
      kind: 'file_change',
      title: approvalTitle(title, rootIn(params)),
      details: [...allDetails(changes, changeDetails), ...otherDetails(params)],
      ...offersOf(params, SAME_FILES),
      ...(items.isForgotten(itemId ?? '') ? { lacksArguments: true } : {}),
      subject: isTold ? { ...wholeOf(params), changes } : null,
      answer: (reply) => ({ decision: wordFor(reply) }),
    };
  },
  'item/permissions/requestApproval'(params) {
    const { permissions: wanted } = permissions.parse(params);
    const { reason } = ofItem.parse(params);
    const granted = Object.fromEntries(Object.entries(wanted).filter(([, one]) => one !== null));
    const isTold = Object.keys(granted).length > 0;
    const title = `more permissions${reason ? `: ${reason}` : ''}`;
    return {
      kind: 'tool',
      title: approvalTitle(title, isTold ? inWords(granted) : null),
      details: otherDetails(params),
      scopes: ['once', 'session'],
      sessionAllows: 'these permissions for all later actions',
      subject: isTold ? wholeOf(params) : null,
      // Codex knows no shorter scope than the turn.
      answer: (reply) => ({
        permissions: reply.decision === 'accept' ? granted : {},
        scope: isForSession(reply) ? 'session' : 'turn',
      }),
    };
  },
  'item/tool/requestUserInput'(params) {
    const { data } = questions.safeParse(params);
    if (!data) return null;
    const parts = data.questions.map(questionOf);
    return {
      kind: 'question',
      title: cutTitle(data.questions.map(({ question }) => question).join(' ')),
      details: otherDetails(params, ['questions']),
      subject: { questions: data.questions },
      questions: parts,
      answer: (reply) => ({ answers: answersTo(parts, reply) }),
    };
  },
  'mcpServer/elicitation/request'(params) {
    const asked = readElicitation(params);
    return {
      ...fieldsRequest(asked),
      answer: (reply) => ({
        action: reply.decision === 'cancelled' ? 'cancel' : reply.decision,
        content: contentFor(asked, reply),
        _meta: isForSession(reply) ? { persist: 'session' } : null,
      }),
    };
  },
  execCommandApproval(params) {
    const { command: line, cwd } = legacyCommand.parse(params);
    const isTold = line.length > 0;
    return {
      kind: 'command',
      title: cutTitle(line.join(' ')),
      details: [
        ...(isTold ? [commandDetail(line, cwd)] : []),
        ...otherDetails(params, ['command', 'cwd', 'parsedCmd']),
      ],
      scopes: ['once', 'session'],
      sessionAllows: SAME_COMMAND,
      subject: isTold ? { ...wholeOf(params), command: line, cwd } : null,
      answer: (reply) => ({ decision: legacyDecision(reply) }),
    };
  },
  applyPatchApproval(params) {
    const { fileChanges: changes } = legacyPatch.parse(params);
    const paths = Object.keys(changes);
    return {
      kind: 'file_change',
      title: approvalTitle(`edit ${paths.join(', ')}`, rootIn(params)),
      details: [
        ...allDetails(Object.entries(changes), legacyChangeDetails),
        ...otherDetails(params, ['fileChanges']),
      ],
      scopes: ['once', 'session'],
      sessionAllows: SAME_FILES,
      subject: paths.length > 0 ? wholeOf(params) : null,
      answer: (reply) => ({ decision: legacyDecision(reply) }),
    };
  },
};

const FOR_SESSION = 'acceptForSession';
const SAME_COMMAND = 'the same command in the same directory';
const SAME_FILES = 'every change of the same files';
const offered = maybe(z.array(z.unknown()));

/**
 * Returns the fields that do not describe the effect of a command: its kind, codex's reading of it, and the local
 * machine.
 */
function usualIn({ environmentId }: Params): string[] {
  return ['kind', 'commandActions', ...(environmentId === 'local' ? ['environmentId'] : [])];
}

/** Returns the scopes that codex offers. Versions without a list support an acceptance for the session. */
function offersOf(
  { availableDecisions }: Params,
  sessionAllows: string,
): Pick<AgentRequest, 'scopes' | 'sessionAllows'> {
  const isOffered = offered.parse(availableDecisions)?.includes(FOR_SESSION) ?? true;
  return isOffered ? { scopes: ['once', 'session'], sessionAllows } : {};
}

/** The fields of a request that say what it would do and that no other detail shows, and why codex asks. */
function otherDetails(params: Params, shown: readonly string[] = []): ApprovalDetail[] {
  const { reason } = ofItem.parse(params);
  return inputDetails({ ...wholeOf(params), reason }, shown);
}

/** `decline` continues the turn, `cancel` ends it. */
function wordFor(reply: AgentAnswer): string {
  if (isForSession(reply)) return FOR_SESSION;
  return { accept: 'accept', decline: 'decline', cancelled: 'cancel' }[reply.decision];
}

function isForSession(reply: AgentAnswer): boolean {
  return reply.decision === 'accept' && reply.scope === 'session';
}

function legacyDecision(reply: AgentAnswer): unknown {
  if (reply.decision === 'accept') return isForSession(reply) ? 'approved_for_session' : 'approved';
  return reply.decision === 'decline'
    ? { denied: { rejection: reply.reason ?? DECLINED } }
    : 'abort';
}

/** A command as the request shows it, or as its item does where the request only names the item. */
function aboutCommand(params: Params, items: Items): Read {
  const { itemId, reason } = ofItem.parse(params);
  const asked = command.parse(params);
  const item = items.commandOf(itemId ?? '');
  const line = asked.command ?? item?.command ?? null;
  const cwd = asked.cwd ?? item?.cwd ?? null;
  const { networkApprovalContext: network, additionalPermissions: more = null } = asked;
  const beside = [
    ...(network ? [`network access to ${network.host}`] : []),
    ...(more === null ? [] : [`with more permissions ${inWords(more)}`]),
  ];
  const title = line ?? beside.shift() ?? reason ?? 'a command';
  const isTold = line !== null || network || more !== null;
  return {
    request: { ...params, command: line, cwd },
    kind: 'command',
    title: approvalTitle(title, beside.join(', ') || null),
    details: [
      ...(line === null ? [] : [commandDetail(line, cwd)]),
      ...otherDetails(params, ['command', 'cwd', ...usualIn(params)]),
    ],
    ...offersOf(params, network ? `network access to ${network.host}` : SAME_COMMAND),
    ...(line === null && items.isForgotten(itemId ?? '') ? { lacksArguments: true } : {}),
    subject: isTold ? { ...wholeOf(params), command: line, cwd } : null,
  };
}

/** Codex may ask for more than the changes that it shows: for all below a directory. */
function rootIn({ grantRoot }: Params): string | null {
  return typeof grantRoot === 'string' && grantRoot ? `and all files below ${grantRoot}` : null;
}

/** The answer to each question. Where nobody answers, the reason is the answer. */
function answersTo(questions: readonly Question[], reply: AgentAnswer): object {
  const answers = questions.flatMap((one) => {
    if (reply.decision === 'decline') return [[one.id, { answers: [reply.reason ?? DECLINED] }]];
    if (reply.decision === 'cancelled') return [];
    const chosen = answerTo(one, questions, reply.answers ?? {});
    return chosen ? [[one.id, { answers: chosen }]] : [];
  });
  return Object.fromEntries(answers) as object;
}

function questionOf({ isOther, ...asked }: Asked): Question {
  const { id, question, header, options } = asked;
  const free = isOther || options.length === 0;
  return { id, question, header, options, free, multiple: true, required: true, type: 'text' };
}
