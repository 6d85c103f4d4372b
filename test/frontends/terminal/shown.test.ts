import { expect, test } from 'vitest';
import type { MergeResult, PullRequest } from '../../../src/api/worktree-merge.ts';
import {
  mergeResultLines,
  type MergeResultStyle,
  pullRequestLines,
} from '../../../src/frontends/terminal/merge-result.ts';
import { colorless } from '../../../src/frontends/terminal/palette.ts';

const HIDDEN = 'x\u001b]0;p\u0007\u202e\u009b\u200b\u00ad\u2028\r.txt';

test('The plans of a merge and of a pull request show hidden characters as code points.', () => {
  const style: MergeResultStyle = { palette: colorless, withRemedy: (refusal) => refusal };
  const shown = {
    worktree: { branch: HIDDEN, path: '/w' },
    target: HIDDEN,
    outcome: 'planned',
    how: 'merge_commit',
    checkout: HIDDEN,
    committer: HIDDEN,
    commits: [{ commit: '0123456789', subject: HIDDEN }],
    commit_count: 1,
    files: [{ path: HIDDEN, change: 'added', lines_added: 1, lines_deleted: 0 }],
    file_count: 1,
    uncommitted: [HIDDEN],
    uncommitted_count: 1,
    notes: [HIDDEN],
    obstacles: [HIDDEN],
    conflicts: [{ path: HIDDEN, kind: 'content' }],
    conflict_in: HIDDEN,
    branch: HIDDEN,
    remote: HIDDEN,
    remote_url: HIDDEN,
    pushed: false,
    title: HIDDEN,
    body: HIDDEN,
  };
  for (const lines of [
    mergeResultLines(shown as unknown as MergeResult, style),
    pullRequestLines(shown as unknown as PullRequest, style),
  ]) {
    expect(lines.join('')).not.toMatch(/[\p{Cc}\u202e\u200b\u00ad\u2028]/u);
    const parts = lines.filter((line) => line.includes('x<'));
    expect(parts.length).toBeGreaterThan(5);
    for (const line of parts) expect(line).toContain('x<U+001B>]0;p<U+0007><U+202E>');
  }
});
