import { expect, it } from 'vitest';
import { sharedHarness, type Harness, afterCrash } from '../../../support/sessions/harness.ts';
import { edit, reviewOf, sessionWithCode } from './review.ts';
import { completed } from '../../../support/teams/team.ts';

const harness = sharedHarness();

/** A session that has changed every line, and its review. */
async function changed(on: Harness = harness()) {
  const { session, repo } = await sessionWithCode(on);
  edit(repo, (text) => text.replaceAll('line', 'LINE'));
  return { session, repo, review: reviewOf(on, session) };
}

const texts = (review: { comments: { text: string }[] }) => review.comments.map(({ text }) => text);
const states = (review: { comments: { state: string }[] }) =>
  review.comments.map(({ state }) => state);

it('A diff of 300 lines with five comments is sent as one turn, which says with each its file, lines and what they are.', async () => {
  const { session, review } = await changed();
  await review.add(300, 'the end');
  await review.add(7, 'on three lines', { last_line: 9 });
  await review.add(7, 'on a removed line', { side: 'old' });
  await review.add(1, 'the first,\nin two lines');
  await review.add(150, 'in the middle');
  const { body: sent } = await review.send({ text: 'Thank you.' });
  expect(sent).toMatchObject({ session_id: session.id, entry_id: null, comments: 5 });
  const turn = await harness().provider.nextTurn();
  expect(turn.text.split('\n\n').slice(0, 2)).toEqual([
    'This is a review of your changes: 5 comments on 1 file. Please address each of them.',
    'Thank you.',
  ]);
  expect(turn.text.slice(turn.text.indexOf('## 1'))).toBe(
    `## 1. code.ts, line 1

    1 + LINE 1

the first,
in two lines

## 2. code.ts, lines 7 to 9

    7 + LINE 7
    8 + LINE 8
    9 + LINE 9

on three lines

## 3. code.ts, line 7 (removed)

    7 - line 7

on a removed line

## 4. code.ts, line 150

    150 + LINE 150

in the middle

## 5. code.ts, line 300

    300 + LINE 300

the end`,
  );
  turn.end(completed);
  expect((await review.get()).comments).toEqual([]);
  expect((await review.send()).body).toMatchObject({ code: 'conflict' });
  const events = (await harness().events(session.id)).filter(({ kind }) =>
    /^review|turn\.acc/.test(kind),
  );
  expect(events.map(({ kind }) => kind)).toEqual([
    ...Array.from({ length: 5 }, () => 'review.added'),
    'turn.accepted',
    'review.sent',
  ]);
});

it('Lines that changed since are stale and stay where they were; the turn says so.', async () => {
  const { repo, review } = await changed();
  for (const line of [10, 20, 30]) await review.add(line, `on ${line}`);
  edit(repo, (text) => text.replace('LINE 20\n', 'twenty\n'));
  expect(states(await review.get())).toEqual(['current', 'changed', 'current']);
  edit(repo, (text) => text.replace('LINE 25\n', 'LINE 25\nmore\n'));
  expect(
    (await review.get()).comments.map((one) => [one.first_line, one.state, one.found_at]),
  ).toEqual([
    [10, 'current', null],
    [20, 'changed', null],
    [30, 'moved', 31],
  ]);
  await review.send();
  const turn = await harness().provider.nextTurn();
  expect(turn.text.match(/^\(.*\)$/gm)).toEqual([
    '(These lines have changed since: check whether the comment still applies.)',
    '(The file has changed since: these lines are now at line 31.)',
  ]);
  turn.end(completed);
});

it('A file that is as it was before has no comments any more that could be placed; a session without a repository has unknown ones.', async () => {
  const { repo, review } = await changed();
  await review.add(10, 'ten');
  edit(repo, (text) => text.replaceAll('LINE', 'line'));
  expect(states(await review.get())).toEqual(['gone']);
  const elsewhere = reviewOf(harness(), await harness().open({ cwd: harness().directory }));
  expect((await elsewhere.add(1, 'x')).body.code).toBe('invalid');
  expect((await elsewhere.add(1, 'x', { lines: ['+x'] })).body.state).toBe('unknown');
  expect(states(await elsewhere.get())).toEqual(['unknown']);
});

it('Comments are on lines that the diff shows, or on those that the client has seen; and are within limits.', async () => {
  const { repo, review } = await changed();
  const most = await review.add(1, 'too many', { last_line: 201 });
  expect([most.status, most.body.error]).toEqual([
    400,
    'body: cannot comment on lines 1 to 201 of "code.ts", because these lines exceed 200 lines, the maximum for a comment',
  ]);
  edit(repo, (text) => text.replaceAll(/LINE (1\d\d)\n/g, 'line $1\n'));
  const refused = await Promise.all([
    review.add(150, 'not shown'),
    review.add(1, 'none', { path: 'a.txt' }),
    review.add(5, 'backwards', { last_line: 4 }),
    review.add(1, '   '),
  ]);
  expect(refused.map(({ status }) => status)).toEqual([400, 400, 400, 400]);
  expect(refused[0]?.body.error).toBe(
    'body: cannot comment on lines 150 to 150 of "code.ts", because these lines are not in one hunk of the session diff: check the diff, or send the lines as text',
  );
  const seen = await review.add(2, 'as seen', { lines: ['+LINE two'] });
  expect(seen.body).toMatchObject({ state: 'changed', lines: ['+LINE two'] });
});

it('A comment is changed and dropped by its id, or with all others; only in its own session.', async () => {
  const { session, review } = await changed();
  const { review: other } = await changed();
  const { body: one } = await review.add(1, 'one');
  await review.add(2, 'two');
  await review.add(3, 'three');
  expect((await review.edit(one, 'ONE')).body).toMatchObject({ text: 'ONE', state: 'current' });
  expect(texts(await review.get())).toEqual(['ONE', 'two', 'three']);
  expect((await other.edit(one, 'x')).status).toBe(404);
  expect((await other.drop(one)).status).toBe(404);
  expect((await review.drop(one)).status).toBe(200);
  expect((await review.drop(one)).body).toMatchObject({ code: 'not_found' });
  expect((await review.dropAll()).body.comments).toEqual([]);
  expect((await review.dropAll()).body.comments).toEqual([]);
  const kinds = (await harness().events(session.id)).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind.startsWith('review.'))).toEqual([
    'review.added',
    'review.added',
    'review.added',
    'review.edited',
    'review.dropped',
    'review.dropped',
  ]);
});

it('While a turn runs a review is refused as a turn is, and keeps its comments; queued, it is the next turn.', async () => {
  const { session, review } = await changed();
  const running = await harness().startTurn(session);
  await review.add(1, 'one');
  expect((await review.send()).body.code).toBe('turn_in_progress');
  expect(texts(await review.get())).toEqual(['one']);
  const { body } = await review.send({ queue: true });
  expect(body).toMatchObject({
    turn_id: null,
    entry_id: expect.stringMatching(/^que_/) as string,
  });
  expect((await review.get()).comments).toEqual([]);
  running.end(completed);
  const next = await harness().provider.nextTurn();
  expect(next.text).toContain('## 1. code.ts, line 1\n');
  next.end(completed);
});

it('Two clients that send at once send it once; a repeated request with its key has the first answer.', async () => {
  const { review, session } = await changed();
  await review.add(1, 'one');
  const both = await Promise.all([review.send({}, 'a'), review.send({}, 'b')]);
  expect(new Set(both.map(({ status }) => status))).toEqual(new Set([200, 409]));
  const [key, first] = both[0]?.status === 200 ? ['a', both[0]] : ['b', both[1]];
  expect((await review.send({}, key)).body).toEqual(first?.body);
  (await harness().provider.nextTurn()).end(completed);
  const accepted = (await harness().events(session.id)).filter(
    ({ kind }) => kind === 'turn.accepted',
  );
  expect(accepted).toHaveLength(1);
});

it('A comment that is added while a review is sent stays for the next review.', async () => {
  const { review } = await changed();
  await review.add(1, 'one');
  const [sent] = await Promise.all([review.send(), review.add(2, 'two')]);
  (await harness().provider.nextTurn()).end(completed);
  expect(texts(await review.get())).toHaveLength(2 - sent.body.comments);
});

it('A closed session takes no comments; its draft can still be read and dropped.', async () => {
  const { review, session } = await changed();
  await review.add(1, 'one');
  await harness().close(session.id);
  expect((await review.add(2, 'two')).body.code).toBe('session_closed');
  expect((await review.send()).body.code).toBe('session_closed');
  expect(texts(await review.get())).toEqual(['one']);
  expect((await review.dropAll()).status).toBe(200);
});

it('After a SIGKILL, a draft is kept, and a sent draft is gone and has its turn.', async () => {
  const [after, { kept, sent, answer }] = await afterCrash(async (before) => {
    const kept = await changed(before);
    await kept.review.add(1, 'kept');
    const sent = await changed(before);
    await sent.review.add(1, 'sent');
    const { body } = await sent.review.send({}, 'the-key');
    return { kept: kept.session, sent: sent.session, answer: body };
  });
  expect(texts(await reviewOf(after, kept).get())).toEqual(['kept']);
  expect((await reviewOf(after, sent).get()).comments).toEqual([]);
  expect((await reviewOf(after, sent).send()).body.code).toBe('conflict');
  expect((await reviewOf(after, sent).send({}, 'the-key')).body).toEqual(answer);
  const accepted = (await after.events(sent.id)).filter(({ kind }) => kind === 'turn.accepted');
  expect(accepted).toHaveLength(1);
});
