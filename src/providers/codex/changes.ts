import { z } from 'zod';
import type { ApprovalDetail } from '../../api/approvals.ts';
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

/** A file with what codex would do to it: a new or removed file comes with its content, another one with its hunks. */
export function changeDetail({ path, diff, ...change }: Change): ApprovalDetail {
  if (typeof diff !== 'string') return { type: 'input', name: `change of ${path}`, value: change };
  const { type, move_path: movedTo } = kindOfChange.parse(change.kind);
  if (type === 'add') return diffDetail(path, null, diff);
  if (type === 'delete') return diffDetail(path, diff, null);
  return hunksDetail(path, diff, movedTo ?? path);
}

/** The same for the request of older versions, which holds the content of a change in other fields. */
export function legacyChangeDetail([path, change]: [string, unknown]): ApprovalDetail {
  const { type, content, unified_diff, move_path } = legacyChanges
    .catch({ type: '' })
    .parse(change);
  const diff = content ?? unified_diff;
  if (typeof diff !== 'string') return { type: 'input', name: `change of ${path}`, value: change };
  return changeDetail({ path, diff, kind: { type, move_path } });
}
