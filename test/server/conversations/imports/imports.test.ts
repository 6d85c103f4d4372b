import fs from 'node:fs';
import { describe, expect, it } from 'vitest';
import { anError } from '../../../support/an-error.ts';
import { endpoints } from '../../../../src/api/index.ts';
import type { PastTurn } from '../../../../src/api/conversations.ts';
import type { Session } from '../../../../src/api/sessions.ts';
import { readEvents } from '../../../support/imports.ts';
import { type RawClaude, testRawClaude } from '../../../support/providers/raw-claude.ts';
import type { PlayedStage } from '../../../support/providers/scripted-agent.ts';
import { openElsewhere, Transcript } from '../../../support/transcripts.ts';

type Stage = PlayedStage<RawClaude>;

const importIt = ({ client }: Stage, ref: string, more: object = {}): Promise<Session> =>
  client.call(endpoints.createSession, {
    body: { provider: 'claude', import: { ref, ...more } },
  });
const get = ({ client }: Stage, session_id: string): Promise<Session> =>
  client.call(endpoints.getSession, { params: { session_id } });
const list = ({ client }: Stage, query: object = {}) =>
  client.call(endpoints.listConversations, { params: { provider: 'claude' }, query });
const past = async ({ client }: Stage, session_id: string): Promise<PastTurn[]> => {
  const query = { limit: 500 };
  return (
    await client.call(endpoints.listPastTurns, { params: { session_id }, query })
  ).toReversed();
};
const prompts = async (stage: Stage, id: string) =>
  (await past(stage, id)).map(({ prompt }) => prompt);

/** Sends a prompt and resolves with the turn when it has ended. */
async function run({ client }: Stage, session_id: string, text: string) {
  const params = { session_id };
  const { turn_id } = await client.call(endpoints.sendTurn, {
    params,
    body: { input: { type: 'text', text } },
  });
  const read = () => client.call(endpoints.getTurn, { params: { ...params, turn_id } });
  await expect.poll(async () => (await read()).ended_at, { timeout: 20_000 }).not.toBeNull();
  return read();
}

describe('a list of conversations', () => {
  it('The list has the title, directory, size and time of each transcript, newest first.', async () => {
    const stage = await testRawClaude({});
    const [older, newer] = [new Transcript(stage.cwd), new Transcript(stage.cwd, { cwd: '/else' })];
    older.turn('fix\u001b[31m the parser');
    newer.turn('write docs');
    newer.add({ type: 'custom-title', customTitle: 'the docs' });
    new Transcript(stage.cwd).add({ type: 'mode', mode: 'normal' });
    fs.utimesSync(older.file, 1000, 1000);
    const found = await list(stage);
    expect(found).toMatchObject([
      { ref: newer.ref, title: 'the docs', cwd: '/else', in_use: null, session_id: null },
      { ref: older.ref, title: 'fix the parser', cwd: stage.cwd, program: 'cli', changed_at: 1e6 },
    ]);
    expect(found[1]?.bytes).toBe(fs.statSync(older.file).size);
    expect((await list(stage, { cwd: '/else' })).map(({ ref }) => ref)).toEqual([newer.ref]);
    expect(await list(stage, { limit: 1 })).toHaveLength(1);
  });

  it('The list names the process that has a conversation open, and the session that continues it.', async () => {
    const stage = await testRawClaude({});
    const [held, own] = [new Transcript(stage.cwd), new Transcript(stage.cwd)];
    held.turn('a');
    own.turn('b');
    openElsewhere(stage.cwd, held.ref, process.pid);
    const { id } = await importIt(stage, own.ref);
    const of = new Map((await list(stage)).map((one) => [one.ref, one]));
    expect(of.get(held.ref)?.in_use).toEqual({
      pid: process.pid,
      program: 'claude',
      status: 'idle',
    });
    expect(of.get(own.ref)).toMatchObject({ in_use: null, session_id: id });
  });

  it('A registry entry of a process that has ended holds no conversation.', async () => {
    const stage = await testRawClaude({});
    const transcript = new Transcript(stage.cwd);
    transcript.turn('a');
    const file = openElsewhere(stage.cwd, transcript.ref, process.pid);
    const entry = JSON.parse(fs.readFileSync(file, 'utf8')) as object;
    fs.writeFileSync(file, JSON.stringify({ ...entry, procStart: '1' }));
    expect((await list(stage))[0]?.in_use).toBeNull();
  });
});

describe('a fork of a conversation', () => {
  it('A conversation that is open elsewhere is forked with its past turns, and its own session can be imported too.', async () => {
    const stage = await testRawClaude({});
    const transcript = new Transcript(stage.cwd);
    transcript.turn('first');
    transcript.turn('second');
    const entry = openElsewhere(stage.cwd, transcript.ref, process.pid);
    const forked = await importIt(stage, transcript.ref, { fork: true });
    expect(forked).toMatchObject({
      title: 'first',
      provider_session_ref: null,
      forked_from: {
        session_id: null,
        turn_id: null,
        conversation: transcript.ref,
        past_turns: 2,
        omitted_turns: 0,
      },
    });
    expect(forked.imported).toBeUndefined();
    expect(await prompts(stage, forked.id)).toEqual(['first', 'second']);
    const { text } = await run(stage, forked.id, 'go on');
    expect(text).toBe('go on');
    expect(stage.agents.at(-1)?.args).toEqual(
      expect.arrayContaining([`--resume=${transcript.ref}`, '--fork-session']),
    );
    expect((await get(stage, forked.id)).forked_from?.way).toBe('agent');
    fs.rmSync(entry);
    const imported = await importIt(stage, transcript.ref);
    expect(imported.id).not.toBe(forked.id);
    const kinds = (await readEvents(stage.client, forked.id)).map(({ kind }) => kind);
    expect(kinds.slice(0, 4)).toEqual([
      'session.created',
      'past.turn',
      'past.turn',
      'session.forked',
    ]);
  });
});

describe('an import', () => {
  it('An import stores the past turns with their items, without turns, usage or news.', async () => {
    const stage = await testRawClaude({});
    const transcript = new Transcript(stage.cwd);
    transcript.turn('first', 'one\u0007');
    transcript.row('user', 'second');
    const call = { type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'ls' } };
    transcript.row('assistant', [{ type: 'thinking', thinking: 'hm' }, call]);
    const result = { type: 'tool_result', tool_use_id: 't1', content: 'a.txt', is_error: true };
    transcript.row('user', [result], { toolUseResult: { stdout: 'a.txt' } });
    const { id } = await importIt(stage, transcript.ref);
    expect(await get(stage, id)).toMatchObject({
      title: 'first',
      title_source: 'agent',
      cwd: stage.cwd,
      provider_session_ref: transcript.ref,
      usage: null,
      news_seq: 0,
      permission_mode: null,
      last_turn_id: null,
      imported: { program: 'cli', past_turns: 2, omitted_turns: 0, complete: true },
    });
    expect(await past(stage, id)).toMatchObject([
      { prompt: 'first', status: 'completed', items: [{ kind: 'message', text: 'one' }] },
      {
        prompt: 'second',
        status: 'unknown',
        items: [
          { kind: 'reasoning', text: 'hm' },
          { kind: 'tool', title: 'Bash: ls', status: 'failed', text: 'a.txt' },
        ],
      },
    ]);
    const kinds = (await readEvents(stage.client, id)).map(({ kind }) => kind);
    expect(kinds).toEqual(['session.created', 'past.turn', 'past.turn', 'session.imported']);
  });

  it('A second import returns the session of the first, until that is closed.', async () => {
    const stage = await testRawClaude({});
    const transcript = new Transcript(stage.cwd);
    transcript.turn('a');
    const [one, two] = await Promise.all([1, 2].map(() => importIt(stage, transcript.ref)));
    expect(two?.id).toBe(one?.id);
    const params = { session_id: one?.id ?? '' };
    await stage.client.call(endpoints.closeSession, { params, body: {} });
    expect((await importIt(stage, transcript.ref)).id).not.toBe(one?.id);
  });

  it('An import stores only the newest turns of the chosen number, and counts the others.', async () => {
    const stage = await testRawClaude({});
    const [some, none] = [new Transcript(stage.cwd), new Transcript(stage.cwd)];
    for (const transcript of [some, none])
      for (const prompt of ['a', 'b', 'c']) transcript.turn(prompt);
    const { id } = await importIt(stage, some.ref, { history: 2 });
    expect(await prompts(stage, id)).toEqual(['b', 'c']);
    expect((await get(stage, id)).imported).toMatchObject({ past_turns: 2, omitted_turns: 1 });
    const empty = await importIt(stage, none.ref, { history: 0 });
    none.turn('d');
    await run(stage, empty.id, 'go');
    expect(await prompts(stage, empty.id)).toEqual(['d']);
  });

  it('An import of an unknown conversation is refused, and creates no session.', async () => {
    const stage = await testRawClaude({});
    const refs = ['../../etc/passwd', 'e1d1bd2a-0000-4000-8000-000000000000'];
    for (const ref of refs)
      await expect(importIt(stage, ref)).rejects.toMatchObject({ code: 'not_found' });
    expect(await stage.client.call(endpoints.listSessions, { query: {} })).toEqual([]);
  });

  it('An import of a conversation that is open elsewhere is refused with the process id.', async () => {
    const stage = await testRawClaude({});
    const transcript = new Transcript(stage.cwd);
    transcript.turn('a');
    openElsewhere(stage.cwd, transcript.ref, process.pid);
    await expect(importIt(stage, transcript.ref)).rejects.toMatchObject(
      anError('conflict', `process ${process.pid}, idle`),
    );
  });
});

describe('a turn of an imported session', () => {
  it('A turn resumes the conversation by its id, and a lost conversation fails the session.', async () => {
    let isLost = false;
    const stage = await testRawClaude(
      {
        begins(claude) {
          if (!isLost) return;
          claude.stderr('No conversation found with session ID: it\n');
          claude.exit(1);
        },
        requests: { initialize: () => (isLost ? new Promise<never>(() => undefined) : {}) },
      },
      { providers: { idle_timeout_ms: 1 } },
    );
    const transcript = new Transcript(stage.cwd);
    transcript.turn('a');
    const { id } = await importIt(stage, transcript.ref);
    expect((await run(stage, id, 'go')).status).toBe('completed');
    expect(stage.agents[0]?.args).toContain(`--resume=${transcript.ref}`);
    const other = new Transcript(stage.cwd);
    other.turn('b');
    const lost = await importIt(stage, other.ref);
    isLost = true;
    expect((await run(stage, lost.id, 'go')).error?.code).toBe('resume_failed');
    expect((await get(stage, lost.id)).status).toBe('failed');
    expect(stage.agents.every(({ args }) => !args.join().includes('--session-id'))).toBe(true);
  });

  it('Turns of the own program in between are stored before the next turn, and its own turns are not.', async () => {
    const stage = await testRawClaude({});
    const transcript = new Transcript(stage.cwd);
    transcript.turn('before');
    const { id } = await importIt(stage, transcript.ref);
    for (const round of [1, 2]) {
      await run(stage, id, `cadre ${round}`);
      transcript.moveTo(Date.now());
      transcript.turn(`cadre ${round}`);
      transcript.moveTo(Date.now() + 60_000);
      transcript.turn(`own ${round}`);
    }
    await run(stage, id, 'cadre 3');
    expect(await prompts(stage, id)).toEqual(['before', 'own 1', 'own 2']);
    // An agent that does not know the new turns is replaced.
    expect(stage.agents).toHaveLength(3);
    expect((await get(stage, id)).imported).toMatchObject({ past_turns: 3 });
  });

  it('A turn is refused while the conversation is open elsewhere, and runs afterwards.', async () => {
    const stage = await testRawClaude({});
    const transcript = new Transcript(stage.cwd);
    transcript.turn('a');
    const { id } = await importIt(stage, transcript.ref);
    const file = openElsewhere(stage.cwd, transcript.ref, process.pid);
    await expect(run(stage, id, 'go')).rejects.toMatchObject({ code: 'conflict' });
    expect(stage.agents).toHaveLength(0);
    fs.rmSync(file);
    expect((await run(stage, id, 'go')).status).toBe('completed');
  });
});

it('A hand-back ends the idle agent, returns the command, and the session later has the turns of the own program.', async () => {
  const stage = await testRawClaude({});
  const session = await stage.open();
  const params = { session_id: session.id };
  const handBack = () => stage.client.call(endpoints.handBackSession, { params, body: {} });
  await expect(handBack()).rejects.toMatchObject({ code: 'conflict' });
  await session.run('begun in cadre');
  const { provider_session_ref: ref } = await session.record();
  expect(await handBack()).toEqual({
    session_id: session.id,
    cwd: stage.cwd,
    ref,
    // The program of the configuration, with its arguments.
    command: [expect.any(String), expect.any(String), `--resume=${ref}`],
  });
  await stage.noAgents();
  const transcript = new Transcript(stage.cwd);
  transcript.turn('own');
  fs.renameSync(transcript.file, transcript.file.replace(transcript.ref, ref ?? ''));
  await run(stage, session.id, 'again');
  expect(await prompts(stage, session.id)).toEqual(['own']);
});
