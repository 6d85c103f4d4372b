import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ClaudeConversations } from '../../../src/agents/claude/conversations.ts';
import { testDirectory } from '../../support/temp.ts';
import { openElsewhere, Transcript } from '../../support/transcripts.ts';

const { signal } = new AbortController();

function conversationsIn(home: string, owns = (_pid: number) => false) {
  const root = () => path.join(home, '.claude');
  return new ClaudeConversations({ home: root, program: () => ['claude'], owns });
}

/** Returns the prompts of a transcript that a test writes. */
async function promptsOf(write: (transcript: Transcript) => void, max = 200): Promise<string[]> {
  const home = testDirectory('transcript');
  const transcript = new Transcript(home);
  write(transcript);
  const query = { after: null, max };
  const { turns } = await conversationsIn(home).turns(transcript.ref, query, signal);
  return turns.map(({ prompt }) => prompt);
}

test('Only the branch with the newest message is the conversation.', async () => {
  const prompts = await promptsOf((transcript) => {
    transcript.turn('a');
    const fork = transcript.parent;
    transcript.turn('lost');
    transcript.parent = fork;
    transcript.turn('b');
  });
  expect(prompts).toEqual(['a', 'b']);
});

test('A directory of transcripts that cannot be read does not hide the others.', async () => {
  const home = testDirectory('transcript');
  const transcript = new Transcript(home);
  transcript.turn('a');
  fs.symlinkSync('loop', path.join(home, '.claude', 'projects', 'loop'));
  const found = await conversationsIn(home).list({ cwd: null, limit: 10 }, signal);
  expect(found.map(({ ref }) => ref)).toEqual([transcript.ref]);
});

test('A compaction keeps the turns before it, and its summary is not a prompt.', async () => {
  const prompts = await promptsOf((transcript) => {
    transcript.turn('before');
    const logicalParentUuid = transcript.parent;
    transcript.parent = null;
    transcript.row('system', 'compacted', { logicalParentUuid });
    transcript.row('user', 'a summary', { isCompactSummary: true });
    transcript.turn('after');
  });
  expect(prompts).toEqual(['before', 'after']);
});

test('Commands, reminders, subagents, unknown rows and torn lines are not turns.', async () => {
  const prompts = await promptsOf((transcript) => {
    transcript.turn('a');
    transcript.row('user', '<command-name>/compact</command-name>');
    transcript.row('user', 'a reminder', { isMeta: true });
    transcript.add({ type: 'user', uuid: 's', isSidechain: true, message: { content: 'sub' } });
    transcript.add({ type: 'mode', mode: 'plan' });
    fs.appendFileSync(transcript.file, '[]\nnull\n\r\n{"type":"user","uuid":"torn", "mess');
  });
  expect(prompts).toEqual(['a']);
});

test('A row whose time is a record with fields named as methods has no time.', async () => {
  const prompts = await promptsOf((transcript) => {
    transcript.row('user', 'a', { timestamp: { toString: 1, valueOf: 1 } });
    transcript.turn('b');
  });
  expect(prompts).toEqual(['a', 'b']);
});

test('Parents that form a circle end the conversation.', async () => {
  const prompts = await promptsOf((transcript) => {
    transcript.add({ type: 'user', uuid: 'x', parentUuid: 'y', message: { content: 'x' } });
    transcript.add({ type: 'user', uuid: 'y', parentUuid: 'x', message: { content: 'y' } });
  });
  expect(prompts).toEqual(['x', 'y']);
});

test('A line of 9 MiB is passed over, and long texts are cut.', async () => {
  const home = testDirectory('transcript');
  const transcript = new Transcript(home);
  transcript.turn('a', 'x'.repeat(50_000));
  transcript.add({ type: 'file', text: 'x'.repeat(9 * 1024 * 1024) });
  transcript.turn('b');
  const query = { after: null, max: 200 };
  const { turns } = await conversationsIn(home).turns(transcript.ref, query, signal);
  expect(turns.map(({ prompt }) => prompt)).toEqual(['a', 'b']);
  expect(turns[0]?.items[0]?.text).toMatch(/^x{16384} … \[cut\]$/);
});

test('The turns after a mark are read; if the mark is gone, its time decides.', async () => {
  const home = testDirectory('transcript');
  const transcript = new Transcript(home, { at: 0 });
  const refs = ['a', 'b', 'c'].map((prompt) => transcript.turn(prompt));
  const conversations = conversationsIn(home);
  const after = async (ref: string, occurredAt: number) => {
    const query = { after: { ref, occurredAt }, max: 200 };
    const { turns } = await conversations.turns(transcript.ref, query, signal);
    return turns.map(({ prompt }) => prompt);
  };
  expect(await after(refs[1] ?? '', 0)).toEqual(['c']);
  expect(await after('gone', 2000)).toEqual(['b', 'c']);
});

test('A symbolic link is not a transcript, and an unreadable registry holds nothing.', async () => {
  const home = testDirectory('transcript');
  const transcript = new Transcript(home);
  transcript.turn('a');
  const other = path.join(
    path.dirname(transcript.file),
    '00000000-0000-4000-8000-000000000000.jsonl',
  );
  fs.symlinkSync(transcript.file, other);
  const conversations = conversationsIn(home);
  const found = await conversations.list({ cwd: null, limit: 10 }, signal);
  expect(found.map(({ ref }) => ref)).toEqual([transcript.ref]);
  fs.writeFileSync(openElsewhere(home, transcript.ref, process.pid), '{');
  expect((await conversations.holders())(transcript.ref)).toBeNull();
});

test('A directory that cannot be read is named in the error.', async () => {
  const home = testDirectory('transcript');
  fs.mkdirSync(path.join(home, '.claude'));
  for (const name of ['sessions', 'projects'])
    fs.symlinkSync(name, path.join(home, '.claude', name));
  const conversations = conversationsIn(home);
  const code = 'provider_unavailable';
  const about = (name: string) => expect.stringContaining(path.join('.claude', name)) as string;
  await expect(conversations.holders()).rejects.toMatchObject({ code, message: about('sessions') });
  await expect(conversations.find('a')).rejects.toMatchObject({ code, message: about('projects') });
});

test('A process of this server holds no conversation.', async () => {
  const home = testDirectory('transcript');
  const transcript = new Transcript(home);
  openElsewhere(home, transcript.ref, process.pid);
  const holderOf = async (owns: boolean) =>
    (await conversationsIn(home, () => owns).holders())(transcript.ref)?.pid;
  expect(await holderOf(false)).toBe(process.pid);
  expect(await holderOf(true)).toBeUndefined();
});

test('A changed transcript is read again for the list.', async () => {
  const home = testDirectory('transcript');
  const transcript = new Transcript(home);
  transcript.turn('a');
  const conversations = conversationsIn(home);
  const title = async () => (await conversations.list({ cwd: null, limit: 1 }, signal))[0]?.title;
  expect(await title()).toBe('a');
  transcript.add({ type: 'custom-title', customTitle: 'renamed' });
  expect(await title()).toBe('renamed');
});
