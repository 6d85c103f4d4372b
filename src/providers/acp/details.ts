import { z } from 'zod';
import type { ApprovalDetail } from '../../api/approvals.ts';
import { cutTitle } from '../../lib/cut-title.ts';
import { commandDetail, diffDetail } from '../details.ts';
import { inputDetails } from '../provider.ts';
import type { ReportedCall } from './reported-call.ts';

const commandInput = z.looseObject({
  command: z.union([z.string(), z.array(z.string())]),
  cwd: z.string().nullish().catch(null),
});
const diff = z.looseObject({
  type: z.literal('diff'),
  path: z.string(),
  oldText: z.string().nullish().catch(null),
  newText: z.string(),
});
type Diff = z.output<typeof diff>;
const text = z.looseObject({ content: z.looseObject({ text: z.string() }) });
const place = z.looseObject({ path: z.string() });
const list = z.array(z.unknown()).catch([]);

/**
 * All that a call would do, for people: its command, its diffs, and every other field of its input and part of its
 * content. The title is shown where it says more than that, because it is cut elsewhere.
 */
export function detailsOf(
  { rawInput, content, locations }: ReportedCall,
  title: string,
  cwd: string,
): ApprovalDetail[] {
  const parts = list.parse(content);
  const diffs = parts.flatMap((part) => diff.safeParse(part).data ?? []);
  const details = [
    ...inputOf(rawInput, diffs, cwd),
    ...diffs.map(({ path, oldText, newText }) =>
      diffDetail(path, oldText ?? null, newText, diffs.length),
    ),
    ...parts.flatMap((part) => contentOf(part, rawInput)),
  ];
  if (details.length === 0)
    return [...inputDetails({ title }), ...inputDetails({ locations: places(locations) })];
  // An agent may name the file in full, or where it is moved to, in the places alone.
  if (diffs.length > 0) {
    const shown = new Set(diffs.map(({ path }) => path));
    details.push(...inputDetails({ locations: places(locations, shown) }));
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

/** A part of the content that is no diff, and no text that the input has, too. */
function contentOf(part: unknown, rawInput: unknown): ApprovalDetail[] {
  if (diff.safeParse(part).success) return [];
  const value = text.safeParse(part).data?.content.text ?? part;
  const said = typeof rawInput === 'object' ? Object.values(rawInput ?? {}) : [rawInput];
  return said.includes(value) ? [] : inputDetails({ content: value });
}

/** The places that a call names, without those of the paths that are shown; null where there are none. */
function places(locations: unknown, shown: ReadonlySet<string> = new Set()): unknown {
  const found = list
    .parse(locations)
    .filter((one) => !shown.has(place.safeParse(one).data?.path ?? ''));
  return found.length > 0 ? found : null;
}
