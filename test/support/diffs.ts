import { createTwoFilesPatch } from 'diff';
import type { FileChange } from '../../src/api/diffs.ts';
import type { ReviewComment } from '../../src/api/reviews.ts';
import type { Anchor } from '../../src/core/lib/diff-anchor.ts';

/** Returns the entry of a session's diff for a file that changed from one text to another. */
export function fileChange(path: string, before: string, after: string): FileChange {
  const patch = createTwoFilesPatch(`a/${path}`, `b/${path}`, before, after, '', '', {
    context: 3,
  });
  return {
    path,
    old_path: null,
    status: 'modified',
    old_mode: '100644',
    new_mode: '100644',
    old_blob: null,
    new_blob: null,
    additions: 1,
    deletions: 1,
    old_bytes: null,
    new_bytes: null,
    patch: `diff --git a/${path} b/${path}\n${patch.split('\n').slice(1).join('\n')}`,
    no_patch: null,
  };
}

/** Returns numbered lines from one number to another. */
export function numbered(from: number, to: number): string {
  return Array.from({ length: to - from + 1 }, (_, i) => `line ${from + i}\n`).join('');
}

export function aComment(anchor: Anchor, text: string, more: object = {}): ReviewComment {
  return {
    id: `cmt_${text}`,
    session_id: 'sess_1',
    ...anchor,
    text,
    created_by: 'api',
    created_at: 0,
    updated_at: 0,
    state: 'current',
    found_at: null,
    ...more,
  };
}
