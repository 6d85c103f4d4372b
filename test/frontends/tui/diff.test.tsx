import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { defaultScreen } from '../../../src/core/lib/screen-settings.ts';
import { numbered } from '../../support/diffs.ts';
import { testRuntime } from '../../support/runtime.ts';
import { completed, scriptedProvider } from '../../support/scripted-provider.ts';
import { keys, testScreen } from './test-screen.tsx';
import { openSession } from '../../support/turns.ts';
import { makeRepository, write } from '../../support/worktrees/work.ts';

const start = { page: 'top' } as const;

/** A session with a new file of 40 lines and one changed line. */
async function changedSession() {
  const provider = scriptedProvider({});
  const { client, directory } = await testRuntime({ providers: [provider] });
  const repo = makeRepository(path.join(directory, 'repo'));
  const { id } = await openSession(client, repo, { title: 'the job' });
  write(repo, { 'a.txt': 'ONE\n', 'new.txt': numbered(1, 40) });
  const comments = async () => {
    const read = await client.call(endpoints.getReview, { params: { session_id: id } });
    return read.comments.map((one) => `${one.path}:${one.first_line}-${one.last_line} ${one.text}`);
  };
  return { client, id, repo, comments, provider };
}

test('Lines of a diff are commented on, one by one and as a range, and all comments are sent as one turn.', async () => {
  const { client, comments, provider } = await changedSession();
  const size = { rows: 24, columns: 80 };
  const { expectShows, expectHides, press, resize } = testScreen(client, start, size);
  await expectShows('the job');
  await press('D').shows(/1\/2 a\.txt +\+41 -1\n▌a\.txt {2}modified {2}\+1 -1/);
  await press('j', 'j', 'c').shows('Comment on line 1 (removed)');
  await press('w', 'h', 'y', '\n', '?', keys.enter).shows(/ {2}-one\n +┃ why\n +┃ \?\n/);
  await press('}', 'j', 'j', 'v', 'j', 'j').shows(/│ +1 \+line 1\n│ +2 \+line 2\n▌ +3 \+line 3/);
  await press('c', 't', 'h', 'r', 'e', 'e', keys.enter).shows(/3 \+line 3\n +┃ three/);
  await press('{', '{', keys.tab, 'c', '!', keys.enter).shows('┃ ?!');
  expect(await comments()).toEqual(['a.txt:1-1 why\n?!', 'new.txt:1-3 three']);
  await press('G').shows(/▌ +40 \+line 40\n/);
  await press('c', 'x', keys.enter).shows(/┃ x\n/);
  await press(keys.tab, 'x').shows('Drop this comment?  y yes  n no');
  await press('y').hides('┃ x');
  resize({ rows: 12, columns: 40 });
  await expectShows(/2\/2 new\.txt +\+41 -1 {2}2 comments\n/);
  await press('s').shows('Send 2 comments as one turn?');
  await press('y');
  const turn = await provider.nextTurn();
  expect(turn.text).toMatch(/^This is a review of your changes: 2 comments on 2 files\./);
  turn.end(completed);
  await expectHides('new.txt');
  expect(await comments()).toEqual([]);
});

test('A comment of another client is there at once; the draft survives closing; lines that changed are stale when they are read again.', async () => {
  const { client, id, repo, comments } = await changedSession();
  const { expectShows, press } = testScreen(client, start);
  await expectShows('the job');
  await press('D').shows('1/2 a.txt');
  await client.call(endpoints.addReviewComment, {
    params: { session_id: id },
    body: { path: 'new.txt', first_line: 2, text: 'from elsewhere' },
  });
  await expectShows('┃ from elsewhere');
  fs.writeFileSync(path.join(repo, 'new.txt'), `zero\n${numbered(1, 40)}`);
  await press('r').shows(/\n +! stale: on line 2, now at 3\n +! from elsewhere/);
  await expectShows('1 comment, 1 stale');
  await press('q', 'D').shows('! from elsewhere');
  expect(await comments()).toEqual(['new.txt:2-2 from elsewhere']);
});

test('The diff dialog gives the reason if it cannot add, edit, drop or send a comment.', async () => {
  const { client, id } = await changedSession();
  const { expectShows, press } = testScreen(client, start);
  await expectShows('the job');
  await press('D').shows('1/2 a.txt');
  // At the name of the file, a comment belongs to the first line below.
  await press('c').shows('Comment on line 1');
  await press(keys.escape).hides('Comment on line');
  await press('g', 'x').shows('select a comment: press tab for the next one');
  await press('s').shows('no comments: press c to add one');
  await press('e').shows('no editor is available');
  await press('j', 'j', 'v', '}', 'j', 'j', 'c').shows('a comment covers lines of one hunk');
  await press('v', 'c', 'o', 'k', keys.enter).shows('┃ ok');
  await client.call(endpoints.sendTurn, {
    params: { session_id: id },
    body: { input: { type: 'text', text: 'go' } },
  });
  await press('s', 'y').shows('a turn is running: press s, then w to queue the comments');
  await press('s', 'w').shows('Comments queued as one turn');
});

test('A wide terminal shows a diff side by side; t and the configuration select another form.', async () => {
  const { client, comments } = await changedSession();
  const size = { rows: 24, columns: 160 };
  const unified = /▌ 1 {4}-one\n {5}1 \+ONE/;
  const split = /▌ 1 -one +1 \+ONE/;
  const first = testScreen(client, start, size);
  await first.expectShows('the job');
  await first.press('D').shows('1/2 a.txt');
  await first.press('j', 'j').shows(split);
  await first.press('c', 'w', 'h', 'y', keys.enter).shows(/1 \+ONE\n +┃ why/);
  expect(await comments()).toEqual(['a.txt:1-1 why']);
  await first.press('t').shows(/ {2}1 {4}-one\n▌ {4}1 \+ONE\n +┃ why/);
  await first.press('k', 't').shows(split);

  const configured = { ...defaultScreen, diff: 'unified' } as const;
  const { expectShows, press } = testScreen(client, start, size, configured);
  await expectShows('the job');
  await press('D').shows('1/2 a.txt');
  await press('j', 'j').shows(unified);
  await expectShows('t side by side');
});
