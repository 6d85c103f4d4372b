import fs from 'node:fs';
import path from 'node:path';
import type { Review, ReviewComment } from '../../../../src/api/reviews.ts';
import type { Session } from '../../../../src/api/sessions.ts';
import { numbered } from '../../../support/diffs.ts';
import type { Refusal, Reply, Harness } from '../../../support/sessions/harness.ts';
import { commit, makeRepository, write } from '../../../support/worktrees/work.ts';

let repositories = 0;

/** Opens a session in a repository with a file code.ts of 300 lines. */
export async function sessionWithCode(
  harness: Harness,
): Promise<{ session: Session; repo: string }> {
  const repo = makeRepository(path.join(harness.directory, '..', `repo-${repositories++}`));
  write(repo, { 'code.ts': numbered(1, 300) });
  commit(repo, 'code');
  // Git's reflog of HEAD has only the commit at the start of the session, whatever the clock of the harness.
  const log = path.join(repo, '.git/logs/HEAD');
  const last = fs.readFileSync(log, 'utf8').trimEnd().split('\n').at(-1) ?? '';
  fs.writeFileSync(log, `${last.replace(/^[0-9a-f]+/, '0'.repeat(40))}\n`);
  const session = await harness.open({ cwd: repo });
  return { session, repo };
}

/** Changes the file: `change` maps its text to the new one. */
export function edit(repo: string, change: (text: string) => string, name = 'code.ts'): void {
  const file = path.join(repo, name);
  fs.writeFileSync(file, change(fs.readFileSync(file, 'utf8')));
}

interface Sent {
  session_id: string;
  turn_id: string | null;
  entry_id: string | null;
  comments: number;
}

/** Returns the requests of clients for the review of a session. */
export function reviewOf(harness: Harness, session: { id: string }) {
  const base = `/v1/sessions/${session.id}/review`;
  const headers = (key?: string) => (key === undefined ? {} : { 'Idempotency-Key': key });
  return {
    get: async (): Promise<Review> => (await harness.get<Review>(base)).body,
    add: (
      line: number,
      text: string,
      more: object = {},
      key?: string,
    ): Promise<Reply<ReviewComment & Refusal>> =>
      harness.post(
        `${base}/comments`,
        { path: 'code.ts', first_line: line, text, ...more },
        headers(key),
      ),
    edit: (one: { id: string }, text: string): Promise<Reply<ReviewComment & Refusal>> =>
      harness.patch(`${base}/comments/${one.id}`, { text }),
    drop: (one: { id: string }): Promise<Reply<Refusal>> =>
      harness.del(`${base}/comments/${one.id}`),
    dropAll: (): Promise<Reply<Review>> => harness.del<Review>(base),
    send: (body: object = {}, key?: string): Promise<Reply<Sent & Refusal>> =>
      harness.post(`${base}/send`, body, headers(key)),
  };
}
