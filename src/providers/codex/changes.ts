import { z } from 'zod';
import type { ApprovalDetail } from '../../api/approvals.ts';
import { filledFields } from '../../lib/filled-fields.ts';
import { diffDetail, hunksDetail } from '../details.ts';
import type { Change } from './items.ts';

const text = z.string().nullish().catch(null);
const kindOfChange = z.looseObject({ type: text, move_path: text }).catch({});
const legacyChange = z.looseObject({
  type: text,
  content: text,
  unified_diff: text,
  move_path: text,
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
 * A file with what codex would do to it: a new or removed file comes with its content, another one with its hunks. What
 * else codex says of the change is a detail of its own.
 */
export function changeDetails({ path, diff, kind, ...change }: Change): ApprovalDetail[] {
  const name = `change of ${path}`;
  if (typeof diff !== 'string') return [{ type: 'input', name, value: { ...change, kind } }];
  const { type, move_path: movedTo, ...others } = kindOfChange.parse(kind);
  const more = Object.fromEntries(filledFields({ ...change, ...others }));
  return [
    shownAs(type, { path, diff, movedTo: movedTo ?? path }),
    ...(Object.keys(more).length > 0 ? [{ type: 'input' as const, name, value: more }] : []),
  ];
}

function shownAs(
  type: string | null | undefined,
  { path, diff, movedTo }: { path: string; diff: string; movedTo: string },
): ApprovalDetail {
  if (type === 'add') return diffDetail(path, null, diff);
  if (type === 'delete') return diffDetail(path, diff, null);
  return hunksDetail(path, diff, movedTo);
}

/** The same for the request of older versions, which holds the content of a change in other fields. */
export function legacyChangeDetails([path, change]: [string, unknown]): ApprovalDetail[] {
  const { type, content, unified_diff, move_path, ...others } = legacyChanges
    .catch({ type: '' })
    .parse(change);
  const diff = content ?? unified_diff;
  if (typeof diff !== 'string')
    return [{ type: 'input', name: `change of ${path}`, value: change }];
  return changeDetails({ ...others, path, diff, kind: { type, move_path } });
}
