import { z } from 'zod';
import type { ApprovalDetail } from '../../api/approvals.ts';
import { filledFields } from '../../core/lib/filled-fields.ts';
import { DERIVED_LIMITS, MessageBudget } from '../budget.ts';
import { hunksDetail } from '../details.ts';
import type { Change } from './items.ts';
import { maybeText } from '../lenient.ts';

const kindOfChange = z
  .looseObject({ type: maybeText, move_path: maybeText })
  .catch({ type: null, move_path: null });
const legacyChange = z.looseObject({
  type: maybeText,
  content: maybeText,
  unified_diff: maybeText,
  move_path: maybeText,
});
/** Versions differ in whether the type is a field, or the name of the only one. */
const legacyChanges = z.union([
  legacyChange.extend({ type: z.string() }),
  z.record(z.string(), legacyChange).transform((one) => {
    const [type = null, fields] = Object.entries(one)[0] ?? [];
    return { ...fields, type };
  }),
]);

/**
 * Returns the details of a file change: the content of a new or removed file, or the hunks of another file. Further
 * fields of the change are a detail of their own.
 */
export function changeDetails(
  { path, diff, kind, ...change }: Change,
  budget = new MessageBudget(),
): ApprovalDetail[] {
  const name = `change of ${path}`;
  if (typeof diff !== 'string') return [{ type: 'input', name, value: { ...change, kind } }];
  const { type, move_path: movedTo, ...others } = kindOfChange.parse(kind);
  const more = Object.fromEntries(filledFields({ ...change, ...others }));
  return [
    shownAs(type, { path, diff, movedTo: movedTo ?? path }, budget) ?? {
      type: 'input',
      name,
      value: { diff, kind },
    },
    ...(Object.keys(more).length > 0 ? [{ type: 'input' as const, name, value: more }] : []),
  ];
}

/** Null where the change is too large to be shown as a diff. */
function shownAs(
  type: string | null | undefined,
  { path, diff, movedTo }: { path: string; diff: string; movedTo: string },
  budget: MessageBudget,
): ApprovalDetail | null {
  if (type !== 'add' && type !== 'delete')
    return budget.isPath(path) && budget.isPath(movedTo) ? hunksDetail(path, diff, movedTo) : null;
  const [before, after] = type === 'add' ? [null, diff] : [diff, null];
  const whole = budget.diff(path, before, after);
  return whole === null ? null : { type: 'diff', path, diff: whole };
}

/** The same for the request of older versions, which holds the content of a change in other fields. */
export function legacyChangeDetails(
  [path, change]: [string, unknown],
  budget = new MessageBudget(),
): ApprovalDetail[] {
  const { type, content, unified_diff, move_path, ...others } = legacyChanges
    .catch({ type: '' })
    .parse(change);
  const diff = content ?? unified_diff;
  if (typeof diff !== 'string')
    return [{ type: 'input', name: `change of ${path}`, value: change }];
  return changeDetails({ ...others, path, diff, kind: { type, move_path } }, budget);
}

/** All changes of a request. Too many are shown as they came. */
export function allDetails<T>(
  changes: readonly T[],
  detailsOf: (change: T, budget: MessageBudget) => ApprovalDetail[],
): ApprovalDetail[] {
  if (changes.length > DERIVED_LIMITS.entries)
    return [{ type: 'input', name: 'changes', value: changes }];
  const budget = new MessageBudget();
  return changes.flatMap((change) => detailsOf(change, budget));
}
