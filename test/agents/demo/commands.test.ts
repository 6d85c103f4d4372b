import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  RequestError,
  type RequestPermissionOutcome,
  type SessionUpdate,
  type ToolCallUpdate,
} from '@agentclientprotocol/sdk/unstable';
import { expect, test } from 'vitest';
import { choose, chunkOf, openClient, type TestClient, openSession } from './client.ts';
import { tempDirectory } from '../../support/temp.ts';

test('A prompt without a command is answered by an introduction that lists the commands.', async () => {
  const { client, response } = await run('Please fix the login bug that we saw in March 2024');
  expect(client.said()).toMatch(
    /demo agent.*no model.*"Please fix the login bug that we saw ...".*/u,
  );
  expect(client.said()).toContain('\n  plan A | B | C\n');
  expect(client.said()).toContain('\n  ask TITLE, or ask run: COMMAND\n');
  expect(client.updates.length).toBeGreaterThan(50); // streamed, not sent as one
  expect(response.stopReason).toBe('end_turn');
});

test('`say` streams its text word by word, as one message.', async () => {
  const { client, response } = await run('say one  two three');
  expect(chunks(client)).toEqual(['one  ', 'two ', 'three']);
  expect(client.said()).toBe('[one  two three]');
  expect(response).toMatchObject({ stopReason: 'end_turn', usage: { totalTokens: 7 } });
});

test('Two say commands are two messages, whose ids start with the session id.', async () => {
  const { client, sessionId } = await run('say a; say b');
  expect(client.said()).toBe('[a][b]');
  expect(
    client.updates.slice(0, 2).map((update) => 'messageId' in update && update.messageId),
  ).toEqual([`${sessionId}-1-message-1`, `${sessionId}-1-message-2`]);
});

test('`think` streams thoughts and sends no message.', async () => {
  const { client } = await run('think about it');
  expect(ofKind(client, 'agent_thought_chunk').map(({ content }) => content)).toEqual([
    { type: 'text', text: 'about ' },
    { type: 'text', text: 'it' },
  ]);
  expect(client.said()).toBe('');
});

test('`repeat` sends its text several times in one message.', async () => {
  const { client } = await run('repeat 3 1 tick');
  expect(chunks(client)).toEqual(['tick', 'tick', 'tick']);
  expect(client.said()).toBe('[tickticktick]');
});

test('`flood` sends numbered chunks of the requested size.', async () => {
  const { client } = await run('flood 300 10');
  expect(chunks(client)).toHaveLength(300);
  expect(chunks(client)[0]).toBe('0 ........');
  expect(chunks(client)[299]).toBe('299 ......');
});

test('`longline` sends its text in one chunk.', async () => {
  const { client } = await run('longline 1000000');
  expect(chunks(client).map((chunk) => chunk.length)).toEqual([1_000_000]);
});

test('`late` sends its text after the end of the turn, and later commands do not run.', async () => {
  const { client, response } = await run('late too late; say never');
  expect(response.stopReason).toBe('end_turn');
  expect(client.said()).toBe('');
  await client.update((update) => chunkOf(update) === 'too late');
  expect(client.said()).toBe('[too late]');
});

test('`tool` reports its call as pending, running and completed with its output.', async () => {
  const { client, sessionId } = await run('tool run: ls => a.txt');
  const toolCallId = `${sessionId}-1-tool-1`;
  expect(client.updates.slice(0, 3)).toMatchObject([
    {
      sessionUpdate: 'tool_call',
      toolCallId,
      title: 'run: ls',
      kind: 'execute',
      status: 'pending',
    },
    { sessionUpdate: 'tool_call_update', toolCallId, status: 'in_progress' },
    {
      sessionUpdate: 'tool_call_update',
      toolCallId,
      status: 'completed',
      content: [{ type: 'content', content: { type: 'text', text: 'a.txt' } }],
      rawOutput: { output: 'a.txt' },
    },
  ]);
});

test('`plan` shows its entries from the first in progress to all completed.', async () => {
  const { client } = await run('plan A | B');
  expect(
    ofKind(client, 'plan').map(({ entries }) =>
      entries.map(({ content, status }) => [content, status]),
    ),
  ).toEqual([
    [
      ['A', 'in_progress'],
      ['B', 'pending'],
    ],
    [
      ['A', 'completed'],
      ['B', 'in_progress'],
    ],
    [
      ['A', 'completed'],
      ['B', 'completed'],
    ],
  ]);
});

test.each(['allow_once', 'allow_always'])(
  '`ask` runs its tool on %s and reports the option.',
  async (option) => {
    const client = await openClient({ askUser: choose(option) });
    const { response } = await run('ask deploy', client);
    expect(toolStates(client)).toEqual(['pending', 'in_progress', 'completed']);
    expect(client.said()).toBe(`[allowed (${option}): deploy]`);
    expect(response.stopReason).toBe('end_turn');
  },
);

test.each(['reject_once', 'reject_always'])(
  '`ask` fails its tool on %s, and the next command runs.',
  async (option) => {
    const client = await openClient({ askUser: choose(option) });
    const { response } = await run('ask deploy; say next', client);
    expect(toolStates(client)).toEqual(['pending', 'failed']);
    expect(client.said()).toBe(`[rejected (${option}): deploy][next]`);
    expect(response.stopReason).toBe('end_turn');
  },
);

test('`ask` offers one option of each kind for a tool call that was announced before.', async () => {
  const asked: unknown[] = [];
  const client = await openClient({
    askUser(request) {
      asked.push(request);
      return { outcome: 'selected', optionId: 'allow_once' };
    },
  });
  const { sessionId } = await run('ask deploy', client);
  expect(asked).toMatchObject([
    {
      sessionId,
      toolCall: { toolCallId: `${sessionId}-1-tool-1`, title: 'deploy', status: 'pending' },
      options: [
        { kind: 'allow_once' },
        { kind: 'allow_always' },
        { kind: 'reject_once' },
        { kind: 'reject_always' },
      ],
    },
  ]);
});

test('`ask` with a command, and `edit`, show everything that they would do.', async () => {
  const calls: ToolCallUpdate[] = [];
  const client = await openClient({
    askUser({ toolCall }) {
      calls.push(toolCall);
      return { outcome: 'selected', optionId: 'allow_once' };
    },
  });
  await using place = tempDirectory('edit');
  writeFileSync(join(place.path, 'a'), 'old\n');
  const sessionId = await client.newSession(place.path);
  await client.prompt(sessionId, 'ask run: make\\nmake it; edit a => one\\ntwo; edit b =>');
  expect(calls).toMatchObject([
    { title: 'run: make\nmake it', kind: 'execute', rawInput: { command: 'make\nmake it' } },
    {
      title: 'Edit a',
      kind: 'edit',
      content: [
        { type: 'diff', path: join(place.path, 'a'), oldText: 'old\n', newText: 'one\ntwo\n' },
      ],
    },
    { title: 'Edit b', content: [{ oldText: null, newText: '' }] },
  ]);
});

test('`edit` writes the file when it is accepted, and fails if the file cannot be written.', async () => {
  await using place = tempDirectory('edit');
  const inPlace = (name: string) => join(place.path, name);
  const client = await openClient({
    askUser: ({ toolCall }) => ({
      outcome: 'selected',
      optionId: toolCall.title === 'Edit declined' ? 'reject_once' : 'allow_once',
    }),
  });
  const sessionId = await client.newSession(place.path);
  writeFileSync(inPlace('file'), 'old\n');
  await client.prompt(sessionId, 'edit file => one\\ntwo; edit a/b => new; edit declined => no');
  expect(readFileSync(inPlace('file'), 'utf8')).toBe('one\ntwo\n');
  expect(readFileSync(inPlace('a/b'), 'utf8')).toBe('new\n');
  expect(existsSync(inPlace('declined'))).toBe(false);
  await client.prompt(sessionId, 'edit file/below => no');
  expect(toolStates(client).at(-1)).toBe('failed');
});

test('`edit` asks in workspace_write only for a file outside the working directory.', async () => {
  await using place = tempDirectory('edit');
  const asked: string[] = [];
  const client = await openClient({
    askUser({ toolCall }) {
      asked.push(toolCall.title ?? '');
      return { outcome: 'selected', optionId: 'reject_once' };
    },
  });
  const sessionId = await client.newSession(place.path);
  await client.agent.request('session/set_mode', { sessionId, modeId: 'workspace_write' });
  await client.prompt(sessionId, 'edit a => one; edit ../outside => two');
  expect(readFileSync(join(place.path, 'a'), 'utf8')).toBe('one\n');
  expect(asked).toEqual(['Edit ../outside']);
});

test('`ask-all` sends all its requests before the first answer.', async () => {
  const answers: PromiseWithResolvers<RequestPermissionOutcome>[] = [];
  const bothAsked = Promise.withResolvers<void>();
  const client = await openClient({
    askUser() {
      const answer = Promise.withResolvers<RequestPermissionOutcome>();
      if (answers.push(answer) === 2) bothAsked.resolve();
      return answer.promise;
    },
  });
  const ran = run('ask-all one | two', client);
  await bothAsked.promise;
  answers[1]?.resolve({ outcome: 'selected', optionId: 'allow_once' });
  answers[0]?.resolve({ outcome: 'selected', optionId: 'reject_once' });
  expect((await ran).response.stopReason).toBe('end_turn');
  expect(client.said()).toContain('allowed (allow_once): two');
  expect(client.said()).toContain('rejected (reject_once): one');
});

test('`ask` sends no request in full_access.', async () => {
  const { client, sessionId } = await openSession({
    askUser: () => Promise.reject(new Error('was asked')),
  });
  await client.agent.request('session/set_mode', { sessionId, modeId: 'full_access' });
  await client.prompt(sessionId, 'ask deploy');
  expect(client.said()).toBe('[allowed (full_access): deploy]');
});

test('A client that cannot answer fails the tool and the prompt.', async () => {
  const client = await openClient({ askUser: () => Promise.reject(new Error('no user')) });
  await expect(run('ask deploy', client)).rejects.toMatchObject({ code: -32_603 });
  expect(toolStates(client)).toEqual(['pending', 'failed']);
});

test('`usage` sends its numbers once, and the answer has them too.', async () => {
  const { client, response } = await run('usage 1200 8000; say hi');
  expect(ofKind(client, 'usage_update')).toMatchObject([{ used: 1200, size: 8000 }]);
  expect(response.usage).toEqual({ totalTokens: 1200, inputTokens: 1199, outputTokens: 1 });
});

test('Without usage, each turn ends with a small usage_update that grows with the session.', async () => {
  const client = await openClient();
  const { sessionId } = await run('say a b', client);
  await client.prompt(sessionId, 'say c');
  expect(ofKind(client, 'usage_update')).toMatchObject([
    { used: 5, size: 200_000 },
    { used: 8, size: 200_000 },
  ]);
  expect(client.updates.at(-1)).toMatchObject({ sessionUpdate: 'usage_update' });
});

test('`image` shows the number, type and size of the images.', async () => {
  const { client, sessionId } = await openSession();
  await client.prompt(sessionId, [
    { type: 'text', text: 'image' },
    { type: 'image', mimeType: 'image/png', data: Buffer.alloc(70).toString('base64') },
    { type: 'image', mimeType: 'image/jpeg', data: Buffer.alloc(3).toString('base64') },
  ]);
  await client.prompt(sessionId, 'image');
  expect(client.said()).toBe('[images: 2 (image/png, 70 bytes) (image/jpeg, 3 bytes)][images: 0]');
});

test('`history` shows the number of earlier turns and the last prompt.', async () => {
  const client = await openClient();
  const { sessionId } = await run('history', client);
  await client.prompt(sessionId, 'history');
  expect(client.said()).toBe('[earlier turns: 0][earlier turns: 1; last prompt: history]');
});

test('`env`, `pid`, `cwd` and `mode` show only the requested value.', async () => {
  const client = await openClient({ host: { env: { NAME: 'a  value' } } });
  const sessionId = await client.newSession('/some/where');
  await client.prompt(sessionId, 'env NAME; env OTHER; pid; cwd; mode');
  expect(client.said()).toBe('[a  value][(unset)][4711][/some/where][default]');
});

test('`fail` ends the prompt with an internal error, after the earlier messages.', async () => {
  const client = await openClient();
  const failed = run('say first; fail out of luck; say never', client);
  await expect(failed).rejects.toThrow(new RequestError(-32_603, 'out of luck'));
  await expect(failed).rejects.toMatchObject({ code: -32_603 });
  expect(client.said()).toBe('[first]');
});

test('`garbage` writes a line that is not a protocol message.', async () => {
  const raw: string[] = [];
  await run('garbage', await openClient({ host: { writeRaw: (text) => void raw.push(text) } }));
  expect(raw).toEqual(['this line is not JSON\n']);
});

test('`spawn` starts a process for the requested time and shows its pid.', async () => {
  const client = await openClient({ host: { startSleeper: (ms) => Promise.resolve(ms + 1) } });
  await run('spawn 700', client);
  expect(client.said()).toBe('[spawned 701]');
});

test('`wait` delays the next command for the requested time.', async () => {
  const done: string[] = [];
  const sleep = async (ms: number) => {
    await new Promise((resolve) => setImmediate(resolve));
    done.push(`slept ${ms}`, client.said());
  };
  const client = await openClient({ host: { sleep } });
  await run('say before; wait 20; say after', client);
  expect(done).toEqual(['slept 20', '[before]']);
  expect(client.said()).toBe('[before][after]');
});

async function run(script: string, given?: TestClient) {
  const client = given ?? (await openClient());
  const sessionId = await client.newSession();
  const response = await client.prompt(sessionId, script);
  return { client, sessionId, response };
}

function chunks(client: TestClient): string[] {
  return client.updates.flatMap((update) => chunkOf(update) ?? []);
}

function ofKind<Kind extends SessionUpdate['sessionUpdate']>(client: TestClient, kind: Kind) {
  const isOfKind = (update: SessionUpdate): update is SessionUpdate & { sessionUpdate: Kind } =>
    update.sessionUpdate === kind;
  return client.updates.filter(isOfKind);
}

function toolStates(client: TestClient) {
  return client.updates.flatMap((update) =>
    update.sessionUpdate === 'tool_call' || update.sessionUpdate === 'tool_call_update'
      ? [update.status]
      : [],
  );
}
