import { z } from 'zod';
import type { ApprovalDetail } from '../../api/approvals.ts';
import { cutTitle } from '../../core/lib/cut-title.ts';
import { filledFields } from '../../core/lib/filled-fields.ts';
import { DERIVED_LIMITS, type MessageBudget } from '../budget.ts';
import { commandDetail, inputDetails } from '../details.ts';
import { objectIn, type ReportedCall } from './reported-call.ts';
import { diffsIn, textIn } from './tool-call.ts';
import { anyList, fieldOf, isBlank, isObject, maybeText } from '../lenient.ts';

const commandInput = z.looseObject({
  command: z.union([z.string(), z.array(z.string())]),
  cwd: maybeText,
});
type Diff = ReturnType<typeof diffsIn>[number];

/**
 * All that a call would do, for people: its command, its diffs, and every other field of its input and part of its
 * content. The title is shown where it says more than that, because it is cut elsewhere.
 */
export function detailsOf(
  { rawInput, content, locations }: ReportedCall,
  title: string,
  { cwd, budget }: { cwd: string; budget: MessageBudget },
): ApprovalDetail[] {
  const all = anyList.parse(content);
  // If there are too many parts, all of them are shown as they came.
  const isMuch = all.length > DERIVED_LIMITS.entries;
  const parts = isMuch ? [] : all;
  const diffs = diffsIn(parts);
  const inputValues = new Set<unknown>(isObject(rawInput) ? Object.values(rawInput) : [rawInput]);
  const details = [
    ...inputOf(rawInput, diffs, cwd),
    ...diffs.map((one) => changeOf(one, diffs.length, budget)),
    ...parts.flatMap((part) => contentOf(part, inputValues)),
    ...inputDetails({ content: isMuch ? all : null }),
  ];
  if (details.length === 0)
    return [
      ...inputDetails({ title }),
      ...inputDetails({ locations: unshownLocations(locations) }),
    ];
  // An agent may name the file in full, or where it is moved to, in the locations alone.
  if (diffs.length > 0) {
    const shown = new Set<unknown>(diffs.map(({ path }) => path));
    details.push(...inputDetails({ locations: unshownLocations(locations, shown) }));
  }
  return isShown(title, details) ? details : [...inputDetails({ title }), ...details];
}

/** Whether a person sees the whole title anyway: it is short enough, or repeats the command. */
function isShown(title: string, details: readonly ApprovalDetail[]): boolean {
  if (title === cutTitle(title)) return true;
  return details.some((one) => one.type === 'command' && title.includes(one.command));
}

/** The names that agents give to the texts of an edit. Another field may hold the same text and mean something else. */
const HOLDS_TEXT =
  /^(?!.*(?:path|file|dir|name|dest|target)).*(?:old|new|text|content|str|body|replac|search|code)/i;

/** The input of a call, without the texts that its diffs show. */
function inputOf(rawInput: unknown, diffs: readonly Diff[], cwd: string): ApprovalDetail[] {
  const command = commandInput.safeParse(rawInput).data;
  const texts = new Set<unknown>(diffs.flatMap(({ oldText, newText }) => [oldText, newText]));
  const others = inputDetails(rawInput, command ? ['command', 'cwd'] : []).filter(
    (one) => one.type !== 'input' || !texts.has(one.value) || !HOLDS_TEXT.test(one.name),
  );
  return command ? [commandDetail(command.command, command.cwd ?? cwd), ...others] : others;
}

/** The change of a file. One that is too large to be compared is shown as it came. */
function changeOf(change: Diff, among: number, budget: MessageBudget): ApprovalDetail {
  const { path, oldText, newText } = change;
  const diff = budget.diff(path, oldText, newText, among);
  return diff === null
    ? { type: 'input', name: 'change', value: change }
    : { type: 'diff', path, diff };
}

/** Returns a part of the content that is not a diff and not a text of the input. */
function contentOf(part: unknown, inputValues: ReadonlySet<unknown>): ApprovalDetail[] {
  if (diffsIn([part]).length > 0) return [];
  const value = textIn(part) ?? part;
  const args = argumentsIn(part);
  if (args !== null)
    return filledFields(args)
      .filter(([, one]) => !inputValues.has(one))
      .map(([name, one]) => ({ type: 'input', name, value: one }));
  return inputValues.has(value) ? [] : inputDetails({ content: value });
}

/** Returns the locations of a call that are not shown elsewhere. Null if the call has no such location. */
function unshownLocations(locations: unknown, shown: ReadonlySet<unknown> = new Set()): unknown {
  const found = anyList.parse(locations).filter((one) => !shown.has(fieldOf(one, 'path')));
  return found.length > 0 ? found : null;
}

/** The arguments of a call in a text of its content, where some agents put them as JSON; null for any other part. */
export function argumentsIn(part: unknown): object | null {
  const args = objectIn(textIn(part));
  return args === undefined || isBlank(args) ? null : args;
}
