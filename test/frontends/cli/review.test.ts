import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { cadreOn } from '../../support/cli/cadre.ts';
import { sharedDemo } from '../../support/demo-server.ts';
import { numbered } from '../../support/diffs.ts';
import { openSession } from '../../support/turns.ts';
import { makeRepository, write } from '../../support/worktrees/work.ts';

const server = sharedDemo();
let repositories = 0;

/** Opens a session that has written a file with an escape sequence. */
async function changed() {
  const { client, directory } = server();
  const cadre = cadreOn(server());
  const repo = makeRepository(path.join(directory, `repo-${repositories++}`));
  const { id } = await openSession(client, repo);
  write(repo, { 'a.txt': 'ONE\n', 'new.txt': `${numbered(1, 9)}\u001B[31mred\u202E\n` });
  const comment = (place: string, ...words: string[]) =>
    cadre(['review', id, '--comment', place, ...words]);
  return { cadre, id, repo, comment };
}

it('A script can comment on lines of a diff, show the draft, drop a comment and send one turn.', async () => {
  const { cadre, id, repo, comment } = await changed();
  expect((await comment('new.txt:2-3', 'both', 'lines')).stdout).toMatch(
    /^Added comment cmt_\w+ on new\.txt:2-3\n$/,
  );
  expect((await comment('new.txt:10', 'what is this?\u001B[2J')).code).toBe(0);
  const removed = await cadre([
    '--json',
    'review',
    id,
    '--comment',
    'a.txt:1',
    '--removed',
    'why?',
  ]);
  expect(removed.json()).toMatchObject({ side: 'old', lines: ['-one'], state: 'current' });
  fs.appendFileSync(path.join(repo, 'a.txt'), 'more\n');
  fs.writeFileSync(
    path.join(repo, 'new.txt'),
    fs.readFileSync(path.join(repo, 'new.txt'), 'utf8').replace('line 2', 'two'),
  );
  const { stdout } = await cadre(['review', 'show', id]);
  expect(stdout.replaceAll(/^\w{8} /gm, 'ID ')).toBe(`ID  a.txt:1 (removed)
    -one
  why?

ID  new.txt:2-3  stale: its lines have changed
    +line 2
    +line 3
  both lines

ID  new.txt:10
    +<U+001B>[31mred<U+202E>
  what is this?<U+001B>[2J
`);
  const [first] = (
    (await cadre(['--json', 'review', 'show', id])).json() as { comments: { id: string }[] }
  ).comments;
  expect((await cadre(['review', 'drop', id, first?.id.slice(-8) ?? ''])).stdout).toBe(
    `Removed comment ${first?.id}\n`,
  );
  const sent = await cadre(['review', 'send', id, 'say Thanks for these.', '--no-wait']);
  expect(sent.stdout).toMatch(/^Sent 2 comments as turn turn_\w+\n$/);
  const again = await cadre(['review', 'send', id]);
  expect([again.code, again.stderr]).toEqual([
    7,
    expect.stringMatching(/has no comments.*: add comments with cadre review/),
  ]);
});

it('Each refusal of cadre review has a reason.', async () => {
  const { cadre, id, comment } = await changed();
  const refused = [
    [
      await comment('new.txt', 'x'),
      /invalid --comment "new\.txt": expected FILE:LINE or FILE:FIRST-LAST/,
    ],
    [await comment('new.txt:3-2', 'x'), /invalid --comment "new\.txt:3-2"/],
    [await comment('new.txt:99', 'x'), /the diff does not contain all lines of new\.txt:99/],
    [await comment('sub/b.txt:1', 'x'), /file "sub\/b\.txt" is not in the diff/],
    [
      await comment('new.txt:1'),
      /the comment has no text: pass the text of the comment after the session/,
    ],
    [
      await cadre(['review', id]),
      /not a terminal, so no editor can be opened: pass --comment FILE:LINE/,
    ],
    [await cadre(['review', id, 'words']), /pass --comment FILE:LINE/],
    [await cadre(['review']), /no session given/],
    [await cadre(['review', 'drop', id]), /pass either a comment or --all/],
    [await cadre(['review', 'drop', id, '--all']), /pass --yes/],
    [await cadre(['review', 'drop', id, 'cmt_nothing']), /comment "cmt_nothing" not found/],
  ] as const;
  for (const [{ code, stderr }, message] of refused) {
    expect(stderr).toMatch(message);
    expect(code).not.toBe(0);
  }
  await comment('new.txt:1', 'x');
  expect((await cadre(['review', 'drop', id, '--all', '--yes'])).stdout).toBe(
    'Removed 1 comment\n',
  );
});

it('Each file of a session is one line, whatever its name is.', async () => {
  const { cadre, id, repo } = await changed();
  write(repo, { 'x\n\u001B[2Ja.txt': 'one\n' });
  expect((await cadre(['sessions', 'files', id])).stdout.split('\n')).toContain('x a.txt');
});
