import { z } from 'zod';
import type { ApprovalDetail } from '../../api/approvals.ts';
import { approvalTitle, inputDetails, onOneLine } from '../details.ts';
import { MessageBudget } from '../budget.ts';
import type { AgentAnswer, AgentRequest, ToolChange } from '../provider.ts';
import {
  argumentsInMeta,
  metaDetails,
  isContinued,
  mergeCalls,
  NOT_KEPT,
  type ReportedCall,
} from './reported-call.ts';
import { argumentsIn, detailsOf } from './details.ts';
import { anyList, arrayOf, fieldOf, idText, isBlank, isObject } from '../lenient.ts';
import { diffsIn, readToolCall, textIn } from './tool-call.ts';
import { ownEntry } from '../../core/lib/own-entry.ts';

/** So many options of a request are read. */
const MAX_OPTIONS = 100;

const request = z.looseObject({
  toolCall: z.record(z.string(), z.unknown()).catch({}),
  // Options of other kinds are never chosen.
  options: arrayOf(
    z.looseObject({
      // The agent gets the id as it sent it.
      optionId: z.union([z.string(), z.number()]),
      kind: z.string(),
      name: z.unknown().optional(),
    }),
    MAX_OPTIONS,
  ).catch([]),
});

export interface PermissionRequest {
  /** The tool call that the request shows; null where it shows none. */
  tool: { ref: string; change: ToolChange } | null;
  call: ReportedCall;
  /** The call as far as its item shows it. */
  shown: { call: ReportedCall; budget: MessageBudget };
  options: readonly { optionId: string | number; kind: string; name?: unknown }[];
  raw: object;
}

export function readPermission(params: unknown): PermissionRequest {
  const budget = new MessageBudget();
  const data = request.safeParse(params).data ?? { toolCall: {}, options: [] };
  const shown = budget.bounded(data.toolCall);
  const tool = readToolCall(shown, budget);
  return {
    tool: tool === 'unknown' ? null : tool,
    call: data.toolCall,
    shown: { call: shown as ReportedCall, budget },
    options: data.options,
    raw: params ?? {},
  };
}

/**
 * The request, with the fields of earlier messages about the call: some agents send its input or content only once, and
 * some send a shorter one with the request. The details show what each of the messages says. `request` and `subject`
 * hold the same call, and `subject` also what only earlier messages say, so that an acceptance is bound to all that was
 * shown.
 */
export function approvalRequest(
  { call: asked, options, raw }: PermissionRequest,
  known: ReportedCall | undefined,
  cwd: string,
  earlier: readonly ReportedCall[] = known ? [known] : [],
): AgentRequest {
  const budget = new MessageBudget();
  const call = withoutTerminals(mergeCalls(known ?? {}, asked));
  // The one-line summary and the comparisons use only the shown part of the call.
  const shownCall = budget.bounded(call) as ReportedCall;
  const { kind, name } = namesOf(call, raw);
  const { sessionUpdate: _update, ...shown } = call;
  const about = othersIn(raw, requestFields, name);
  const others = { ...othersIn(asked, callFields), ...about };
  const isAllKept = earlier.every((one) => one[NOT_KEPT] === undefined);
  const { _meta: metaAbove } = raw as { _meta?: unknown };
  const metas = [call._meta, metaAbove];
  const metaArguments = [...metas, ...earlier.map((one) => one._meta)].flatMap(
    (meta) => argumentsInMeta(meta) ?? [],
  );
  const isStated = isWhole(kind, call) || [call, ...earlier].some(hasArguments);
  const states = isAllKept && (isStated || metaArguments.length > 0);
  const shownDetails = [
    ...detailsOf(call, name, { cwd, budget }),
    ...inputDetails(others),
    ...metas.flatMap((meta) => metaDetails(meta, isStated)),
  ];
  // Beside arguments the name of a tool says nothing more of what the call would do.
  const isKnownTitle = (title: string) => (states ? TOOL_NAME.test(title) : title === name);
  const context = { cwd, budget, isKnownTitle };
  const before = earlier.flatMap((one) => earlierDetails(withoutTerminals(one), context));
  const added = notShownBy(shownDetails, before);
  const binding = kind === 'execute' ? added.filter((one) => !isLabel(one, cwd)) : added;
  const wholeSubject = isWhole(kind, call)
    ? {
        ...subjectOf(kind, call, options),
        ...about,
        ...(metaArguments.length > 0 && { _meta: metaArguments }),
        ...(binding.length > 0 && { before: binding }),
      }
    : null;
  return {
    kind: ownEntry(approvalKinds, kind) ?? 'tool',
    title: approvalTitle(name, detailOf(shownCall)),
    request: { ...raw, toolCall: shown },
    details: [...shownDetails, ...added, ...chosenOf(options)],
    ...offersOf(options, wholeSubject !== null),
    ...(states ? {} : { lacksArguments: true }),
    subject: wholeSubject,
  };
}

/** Returns the fields of an earlier message that describe the effect of a call. */
function earlierDetails(
  call: ReportedCall,
  context: { cwd: string; budget: MessageBudget; isKnownTitle: (title: string) => boolean },
): AgentRequest['details'] {
  const title = typeof call.title === 'string' ? call.title : '';
  const details = detailsOf({ ...call, locations: null }, '', context).filter(
    (one) => one.type !== 'input' || one.name !== 'title',
  );
  const titles = context.isKnownTitle(title.trim()) ? [] : inputDetails({ title });
  const others = inputDetails(othersIn(call, callFields));
  return [...details, ...titles, ...others, ...metaDetails(call._meta, true)];
}

/**
 * Reports whether a detail describes a command without changing its effect. An agent may send such a detail before one request and
 * after the next request for the same command (opencode 1.18.33), so it is not part of the comparison.
 */
function isLabel(detail: ApprovalDetail, cwd: string): boolean {
  if (detail.type !== 'input') return false;
  return detail.name === 'description' || (detail.name === 'cwd' && detail.value === cwd);
}

const TOOL_NAME = /^\w+([-_.:]{1,2}\w+)*$/;

/** The most work to find what details repeat: code units that are compared, and that are written in one line. */
const MAX_COMPARED = 64 * 1024 * 1024;
const MAX_IN_ONE_LINE = 2 * 1024 * 1024;
/** The fixed cost of each comparison, in addition to the compared text. */
const COMPARISON = 128;

/** A detail with its text in one line, and how many code units of it a comparison reads at most. */
interface Comparable {
  detail: ApprovalDetail;
  line: string | null;
  size: number;
}

/** Returns the details of earlier messages that `details` do not show already. Beyond the limit, repetitions are returned, too. */
function notShownBy(
  details: AgentRequest['details'],
  earlier: AgentRequest['details'],
): AgentRequest['details'] {
  let room = MAX_COMPARED;
  let lineRoom = MAX_IN_ONE_LINE;
  const comparable = (detail: ApprovalDetail): Comparable => {
    const text = textOf(detail);
    const size = text?.length ?? (room > 0 ? JSON.stringify(detail).length : 0);
    if (text === null) room -= size;
    const isInOneLine = text !== null && size <= lineRoom;
    if (isInOneLine) lineRoom -= size;
    return { detail, line: isInOneLine ? onOneLine(text) : null, size };
  };
  const all = details.map(comparable);
  for (const one of earlier.map(comparable)) {
    const isKnown = all.some((other) => {
      if (room > 0) room -= COMPARISON + Math.min(one.size, other.size);
      return room > 0 && isShownBy(one, other);
    });
    if (!isKnown) all.push(one);
  }
  return all.slice(details.length).map(({ detail }) => detail);
}

function isShownBy({ detail, line }: Comparable, other: Comparable): boolean {
  if (isContinued(detail, other.detail)) return true;
  // In a command a line break is more than a blank.
  if (detail.type === 'command' && other.detail.type === 'command') return false;
  if (line === null) return false;
  const shown = other.line ?? '';
  // A title is often the command behind one word.
  return shown.startsWith(line) || (shown !== '' && line.endsWith(shown) && isOneWord(line, shown));
}

function textOf(one: ApprovalDetail): string | null {
  if (one.type === 'command') return one.command;
  return one.type === 'input' && typeof one.value === 'string' ? one.value : null;
}

/** Reports whether a call has arguments in any field. */
export function describesCall(call: ReportedCall): boolean {
  return hasArguments(call) || argumentsInMeta(call._meta) !== null;
}

/** Whether a message holds the arguments of its call: as input, as a diff, or as JSON in a text. */
function hasArguments({ rawInput: input, content }: ReportedCall): boolean {
  return (
    !isBlank(input) ||
    anyList.parse(content).some((part) => diffsIn([part]).length > 0 || argumentsIn(part) !== null)
  );
}

/** The kind and title of a call, also of one without an id, and of a request that has its title beside the call. */
function namesOf(call: ReportedCall, raw: object): { kind: string; name: string } {
  const ref = idText.safeParse(call.toolCallId).data ?? '';
  const tool = readToolCall({ ...call, content: null, rawOutput: null, toolCallId: ref });
  const { kind = 'other', title } = tool === 'unknown' ? {} : tool.change;
  const whole = title === undefined ? undefined : titled.safeParse(call).data?.title;
  const { title: above } = titled.safeParse(raw).data ?? {};
  return { kind, name: whole || (title ?? above ?? ref) || 'something' };
}

const titled = z.looseObject({ title: z.string() });
/** The fields of a call and of a request that are shown in ways of their own, or say nothing of what would be done. */
const callFields = new Set([
  'sessionUpdate',
  'toolCallId',
  'title',
  'name',
  'kind',
  'status',
  'content',
  'locations',
  'rawInput',
  'rawOutput',
  '_meta',
]);
const requestFields = new Set(['sessionId', 'toolCall', 'options', '_meta']);

/**
 * Returns the fields that the protocol does not have, because they may describe the effect of the call. `name` is
 * always shown.
 */
function othersIn(
  fields: object,
  known: ReadonlySet<string>,
  name: string | null = null,
): Record<string, unknown> {
  const others = Object.entries(fields).filter(([field]) => !known.has(field));
  return Object.fromEntries(others.filter(([, value]) => value !== name));
}

/** The name of the option that an acceptance takes, where the agent offers several to accept once. */
function chosenOf(options: PermissionRequest['options']): AgentRequest['details'] {
  const [first, ...others] = options.filter(({ kind }) => kind === 'allow_once');
  return others.length > 0 ? inputDetails({ 'option chosen on accept': first?.name }) : [];
}

/** A terminal in the content is an id alone, another one for each call: it says nothing of what would be done. */
function withoutTerminals({ content, ...call }: ReportedCall): ReportedCall {
  if (!Array.isArray(content)) return { ...call, content };
  return { ...call, content: content.filter((part) => fieldOf(part, 'type') !== 'terminal') };
}

const approvalKinds: Record<string, AgentRequest['kind']> = {
  execute: 'command',
  edit: 'file_change',
  delete: 'file_change',
  move: 'file_change',
};

/**
 * Reports whether a call describes its effect exactly: by its input, or by its diffs if it changes files. A title and a
 * text do not: agents shorten them, put the model's own words there, or name a file without its new content.
 */
function isWhole(kind: string, { rawInput: input, content }: ReportedCall): boolean {
  if (!isBlank(input)) return true;
  return kind !== 'execute' && diffsIn(anyList.parse(content)).length > 0;
}

/** All fields of a call but its id, status and output, and the name of the option that an acceptance takes. */
function subjectOf(
  kind: string,
  call: ReportedCall,
  options: PermissionRequest['options'],
): Record<string, unknown> {
  const {
    sessionUpdate: _update,
    toolCallId: _id,
    status: _status,
    rawOutput: _output,
    rawInput: input = null,
    _meta,
    ...rest
  } = call;
  const option = options.find((one) => one.kind === 'allow_once')?.name ?? null;
  return { ...rest, kind, input, option };
}

const input = z.looseObject({
  command: z.union([z.string(), z.array(z.string()).transform((words) => words.join(' '))]),
});

/** Returns the effect of a call as one text: its command, else its files, its texts, its input or its locations. */
function detailOf({ rawInput, content, locations }: ReportedCall): string | null {
  const { command } = input.safeParse(rawInput).data ?? {};
  if (command !== undefined) return command;
  const parts = anyList.parse(content);
  const paths = diffsIn(parts).map(({ path }) => path);
  if (paths.length > 0) return paths.join(', ');
  const texts = parts.flatMap((part) => textIn(part) ?? []);
  if (texts.length > 0) return texts.join('\n');
  if (!isBlank(rawInput)) return wordsOf(rawInput);
  const located = anyList
    .parse(locations)
    .map((location) => fieldOf(location, 'path'))
    .filter((path) => typeof path === 'string');
  return located.length > 0 ? located.join(', ') : null;
}

/** An input in one line: its value where that is a single text, else JSON. */
function wordsOf(rawInput: unknown): string {
  const [only, ...others] = isObject(rawInput) ? Object.values(rawInput) : [];
  return typeof only === 'string' && others.length === 0 ? only : JSON.stringify(rawInput);
}

/** Said of an acceptance for the session, which cadre keeps itself. */
const SAME_REQUEST = 'this exact request';

/**
 * Returns the scopes of an acceptance. An agent may keep its own `allow_always` for ever, or apply it to more than was
 * shown, so that option is never chosen: cadre remembers an acceptance for the session, and allows each equal request
 * once. This needs a request that describes its effect exactly.
 */
function offersOf(
  options: PermissionRequest['options'],
  isExact: boolean,
): Pick<AgentRequest, 'scopes' | 'sessionAllows' | 'isKeptByCadre'> {
  const offers = (wanted: string) => options.some(({ kind }) => kind === wanted);
  if (!offers('allow_once')) return { scopes: [] };
  if (!offers('allow_always') || !isExact) return { scopes: ['once'] };
  return { scopes: ['once', 'session'], sessionAllows: SAME_REQUEST, isKeptByCadre: true };
}

/** The outcome to send for an answer; null where the agent does not offer what was accepted. */
export function outcomeFor(
  answer: AgentAnswer,
  options: PermissionRequest['options'],
): object | null {
  const cancelled = { outcome: 'cancelled' };
  if (answer.decision === 'cancelled') return cancelled;
  const wanted = answer.decision === 'accept' ? 'allow_once' : 'reject_once';
  const option = options.find(({ kind }) => kind === wanted);
  if (option) return { outcome: 'selected', optionId: option.optionId };
  return answer.decision === 'accept' ? null : cancelled;
}

/** The outcome that allows a request for once; null where the agent does not offer that. */
export function allowOnce(options: PermissionRequest['options']): object | null {
  return outcomeFor({ decision: 'accept', scope: 'once', answers: null }, options);
}

/** Whether a text has only one word before its end. */
function isOneWord(line: string, end: string): boolean {
  return /^\w{0,20}[ :`]*$/.test(line.slice(0, -end.length));
}
