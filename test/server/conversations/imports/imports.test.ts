import fs from 'node:fs';
import { describe, expect, it } from 'vitest';
import { anError } from '../../../support/an-error.ts';
import { endpoints } from '../../../../src/api/index.ts';
import type { PastTurn } from '../../../../src/api/conversations.ts';
import type { Session } from '../../../../src/api/sessions.ts';
import { readEvents } from '../../../support/imports.ts';
import { type RawClaude, testRawClaude } from '../../../support/providers/raw-claude.ts';
import type { AgentHarness } from '../../../support/providers/scripted-agent.ts';
import { openElsewhere, Transcript } from '../../../support/transcripts.ts';

type Harness = AgentHarness<RawClaude>;

const importIt = ({ client }: Harness, ref: string, more: object = {}): Promise<Session> =>
  client.call(endpoints.createSession, {
    body: { provider: 'claude', import: { ref, ...more } },
  });
const get = ({ client }: Harness, session_id: string): Promise<Session> =>
  client.call(endpoints.getSession, { params: { session_id } });
const list = ({ client }: Harness, query: object = {}) =>
  client.call(endpoints.listConversations, { params: { provider: 'claude' }, query });
const past = async ({ client }: Harness, session_id: string): Promise<PastTurn[]> => {
  const query = { limit: 500 };
  return (
    await client.call(endpoints.listPastTurns, { params: { session_id }, query })
  ).toReversed();
};
const prompts = async (harness: Harness, id: string) =>
  (await past(harness, id)).map(({ prompt }) => prompt);

/** Sends a prompt and resolves with the turn when it has ended. */
async function run({ client }: Harness, session_id: string, text: string) {
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
    const harness = await testRawClaude({});
    const [older, newer] = [
      new Transcript(harness.cwd),
      new Transcript(harness.cwd, { cwd: '/else' }),
    ];
    older.turn('fix\u001b[31m the parser');
    newer.turn('write docs');
    newer.add({ type: 'custom-title', customTitle: 'the docs' });
    new Transcript(harness.cwd).add({ type: 'mode', mode: 'normal' });
    fs.utimesSync(older.file, 1000, 1000);
    const found = await list(harness);
    expect(found).toMatchObject([
      { ref: newer.ref, title: 'the docs', cwd: '/else', in_use: null, session_id: null },
      {
        ref: older.ref,
        title: 'fix the parser',
        cwd: harness.cwd,
        program: 'cli',
        changed_at: 1e6,
      },
    ]);
    expect(found[1]?.bytes).toBe(fs.statSync(older.file).size);
    expect((await list(harness, { cwd: '/else' })).map(({ ref }) => ref)).toEqual([newer.ref]);
    expect(await list(harness, { limit: 1 })).toHaveLength(1);
  });

  it('The list names the process that has a conversation open, and the session that continues it.', async () => {
    const harness = await testRawClaude({});
    const [held, own] = [new Transcript(harness.cwd), new Transcript(harness.cwd)];
    held.turn('a');
    own.turn('b');
    openElsewhere(harness.cwd, held.ref, process.pid);
    const { id } = await importIt(harness, own.ref);
    const of = new Map((await list(harness)).map((one) => [one.ref, one]));
    expect(of.get(held.ref)?.in_use).toEqual({
      pid: process.pid,
      program: 'claude',
      status: 'idle',
    });
    expect(of.get(own.ref)).toMatchObject({ in_use: null, session_id: id });
  });

  it('A registry entry of a process that has ended holds no conversation.', async () => {
    const harness = await testRawClaude({});
    const transcript = new Transcript(harness.cwd);
    transcript.turn('a');
    const file = openElsewhere(harness.cwd, transcript.ref, process.pid);
    const entry = JSON.parse(fs.readFileSync(file, 'utf8')) as object;
    fs.writeFileSync(file, JSON.stringify({ ...entry, procStart: '1' }));
    expect((await list(harness))[0]?.in_use).toBeNull();
  });
});

describe('a fork of a conversation', () => {
  it('A conversation that is open elsewhere is forked with its past turns, and its own session can be imported too.', async () => {
    const harness = await testRawClaude({});
    const transcript = new Transcript(harness.cwd);
    transcript.turn('first');
    transcript.turn('second');
    const entry = openElsewhere(harness.cwd, transcript.ref, process.pid);
    const forked = await importIt(harness, transcript.ref, { fork: true });
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
    expect(await prompts(harness, forked.id)).toEqual(['first', 'second']);
    const { text } = await run(harness, forked.id, 'go on');
    expect(text).toBe('go on');
    expect(harness.agents.at(-1)?.args).toEqual(
      expect.arrayContaining([`--resume=${transcript.ref}`, '--fork-session']),
    );
    expect((await get(harness, forked.id)).forked_from?.way).toBe('agent');
    fs.rmSync(entry);
    const imported = await importIt(harness, transcript.ref);
    expect(imported.id).not.toBe(forked.id);
    const kinds = (await readEvents(harness.client, forked.id)).map(({ kind }) => kind);
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
    const harness = await testRawClaude({});
    const transcript = new Transcript(harness.cwd);
    transcript.turn('first', 'one\u0007');
    transcript.row('user', 'second');
    const call = { type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'ls' } };
    transcript.row('assistant', [{ type: 'thinking', thinking: 'hm' }, call]);
    const result = { type: 'tool_result', tool_use_id: 't1', content: 'a.txt', is_error: true };
    transcript.row('user', [result], { toolUseResult: { stdout: 'a.txt' } });
    const { id } = await importIt(harness, transcript.ref);
    expect(await get(harness, id)).toMatchObject({
      title: 'first',
      title_source: 'agent',
      cwd: harness.cwd,
      provider_session_ref: transcript.ref,
      usage: null,
      news_seq: 0,
      permission_mode: null,
      last_turn_id: null,
      imported: { program: 'cli', past_turns: 2, omitted_turns: 0, complete: true },
    });
    expect(await past(harness, id)).toMatchObject([
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
    const kinds = (await readEvents(harness.client, id)).map(({ kind }) => kind);
    expect(kinds).toEqual(['session.created', 'past.turn', 'past.turn', 'session.imported']);
  });

  it('A second import returns the session of the first, until that is closed.', async () => {
    const harness = await testRawClaude({});
    const transcript = new Transcript(harness.cwd);
    transcript.turn('a');
    const [one, two] = await Promise.all([1, 2].map(() => importIt(harness, transcript.ref)));
    expect(two?.id).toBe(one?.id);
    const params = { session_id: one?.id ?? '' };
    await harness.client.call(endpoints.closeSession, { params, body: {} });
    expect((await importIt(harness, transcript.ref)).id).not.toBe(one?.id);
  });

  it('An import stores only the newest turns of the chosen number, and counts the others.', async () => {
    const harness = await testRawClaude({});
    const [some, none] = [new Transcript(harness.cwd), new Transcript(harness.cwd)];
    for (const transcript of [some, none])
      for (const prompt of ['a', 'b', 'c']) transcript.turn(prompt);
    const { id } = await importIt(harness, some.ref, { history: 2 });
    expect(await prompts(harness, id)).toEqual(['b', 'c']);
    expect((await get(harness, id)).imported).toMatchObject({ past_turns: 2, omitted_turns: 1 });
    const empty = await importIt(harness, none.ref, { history: 0 });
    none.turn('d');
    await run(harness, empty.id, 'go');
    expect(await prompts(harness, empty.id)).toEqual(['d']);
  });

  it('An import of an unknown conversation is refused, and creates no session.', async () => {
    const harness = await testRawClaude({});
    const refs = ['../../etc/passwd', 'e1d1bd2a-0000-4000-8000-000000000000'];
    for (const ref of refs)
      await expect(importIt(harness, ref)).rejects.toMatchObject({ code: 'not_found' });
    expect(await harness.client.call(endpoints.listSessions, { query: {} })).toEqual([]);
  });

  it('An import of a conversation that is open elsewhere is refused with the process id.', async () => {
    const harness = await testRawClaude({});
    const transcript = new Transcript(harness.cwd);
    transcript.turn('a');
    openElsewhere(harness.cwd, transcript.ref, process.pid);
    await expect(importIt(harness, transcript.ref)).rejects.toMatchObject(
      anError('conflict', `process ${process.pid}, idle`),
    );
  });
});

describe('a turn of an imported session', () => {
  it('A turn resumes the conversation by its id, and a lost conversation fails the session.', async () => {
    let isLost = false;
    const harness = await testRawClaude(
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
    const transcript = new Transcript(harness.cwd);
    transcript.turn('a');
    const { id } = await importIt(harness, transcript.ref);
    expect((await run(harness, id, 'go')).status).toBe('completed');
    expect(harness.agents[0]?.args).toContain(`--resume=${transcript.ref}`);
    const other = new Transcript(harness.cwd);
    other.turn('b');
    const lost = await importIt(harness, other.ref);
    isLost = true;
    expect((await run(harness, lost.id, 'go')).error?.code).toBe('resume_failed');
    expect((await get(harness, lost.id)).status).toBe('failed');
    expect(harness.agents.every(({ args }) => !args.join().includes('--session-id'))).toBe(true);
  });

  it('Turns of the own program in between are stored before the next turn, and its own turns are not.', async () => {
    const harness = await testRawClaude({});
    const transcript = new Transcript(harness.cwd);
    transcript.turn('before');
    const { id } = await importIt(harness, transcript.ref);
    for (const round of [1, 2]) {
      await run(harness, id, `cadre ${round}`);
      transcript.moveTo(Date.now());
      transcript.turn(`cadre ${round}`);
      transcript.moveTo(Date.now() + 60_000);
      transcript.turn(`own ${round}`);
    }
    await run(harness, id, 'cadre 3');
    expect(await prompts(harness, id)).toEqual(['before', 'own 1', 'own 2']);
    // An agent that does not know the new turns is replaced.
    expect(harness.agents).toHaveLength(3);
    expect((await get(harness, id)).imported).toMatchObject({ past_turns: 3 });
  });

  it('A turn is refused while the conversation is open elsewhere, and runs afterwards.', async () => {
    const harness = await testRawClaude({});
    const transcript = new Transcript(harness.cwd);
    transcript.turn('a');
    const { id } = await importIt(harness, transcript.ref);
    const file = openElsewhere(harness.cwd, transcript.ref, process.pid);
    await expect(run(harness, id, 'go')).rejects.toMatchObject({ code: 'conflict' });
    expect(harness.agents).toHaveLength(0);
    fs.rmSync(file);
    expect((await run(harness, id, 'go')).status).toBe('completed');
  });
});

it('A hand-back ends the idle agent, returns the command, and the session later has the turns of the own program.', async () => {
  const harness = await testRawClaude({});
  const session = await harness.open();
  const params = { session_id: session.id };
  const handBack = () => harness.client.call(endpoints.handBackSession, { params, body: {} });
  await expect(handBack()).rejects.toMatchObject({ code: 'conflict' });
  await session.run('begun in cadre');
  const { provider_session_ref: ref } = await session.record();
  expect(await handBack()).toEqual({
    session_id: session.id,
    cwd: harness.cwd,
    ref,
    // The program of the configuration, with its arguments.
    command: [expect.any(String), expect.any(String), `--resume=${ref}`],
  });
  await harness.noAgents();
  const transcript = new Transcript(harness.cwd);
  transcript.turn('own');
  fs.renameSync(transcript.file, transcript.file.replace(transcript.ref, ref ?? ''));
  await run(harness, session.id, 'again');
  expect(await prompts(harness, session.id)).toEqual(['own']);
});
