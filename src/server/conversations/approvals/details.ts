import type { ApprovalDetail } from '../../../api/approvals.ts';
import { shorten } from '../../../core/lib/shorten.ts';

/** The maximum size of the details of an approval as JSON, in bytes: arguments of 8 MiB fit, and their diffs. */
const MAX_DETAILS_BYTES = 12 * 1024 * 1024;
/** The maximum size of details whose request is compared with another one. */
const MAX_COMPARED_BYTES = 1024 * 1024;
/** The maximum number of omitted parts that are named, and the maximum length of a name. */
const NAMED_PARTS = 10;
const NAME_CHARACTERS = 200;

/**
 * Returns the details as they are stored. If all of them are above 12 MiB, those that do not fit are replaced by one
 * detail at the end that names them: nothing is cut in its middle, and nothing is left out silently. `isLarge`: the
 * request is too large to be stored a third time, as its own subject.
 */
export function boundedDetails(details: readonly ApprovalDetail[]): {
  details: ApprovalDetail[];
  isLarge: boolean;
} {
  let room = MAX_DETAILS_BYTES;
  const kept: ApprovalDetail[] = [];
  const omitted: { name: string; bytes: number }[] = [];
  for (const detail of details) {
    const bytes = Buffer.byteLength(JSON.stringify(detail));
    if (bytes > room) {
      omitted.push({ name: nameOf(detail), bytes });
    } else {
      room -= bytes;
      kept.push(detail);
    }
  }
  return {
    details: omitted.length === 0 ? kept : [...kept, asOne(omitted)],
    isLarge: omitted.length > 0 || MAX_DETAILS_BYTES - room > MAX_COMPARED_BYTES,
  };
}

function asOne(omitted: readonly { name: string; bytes: number }[]): ApprovalDetail {
  const named = omitted.slice(0, NAMED_PARTS).map(({ name }) => shorten(name, NAME_CHARACTERS));
  const others = omitted.length - named.length;
  return {
    type: 'omitted',
    name: [...named, ...(others > 0 ? [`${others} other parts`] : [])].join(', '),
    bytes: omitted.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

function nameOf(detail: ApprovalDetail): string {
  switch (detail.type) {
    case 'command':
      return 'the command';
    case 'diff':
      return `the change to ${detail.path}`;
    case 'input':
    case 'omitted':
      return detail.name;
  }
}
