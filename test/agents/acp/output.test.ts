import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { itemsOf } from '../../support/providers/calls.ts';
import { endTurn, type RawAgent, sharedRawAgent } from '../../support/providers/raw-agent.ts';
import { asking, done, onGo, textContent, touch } from '../../support/providers/rows.ts';

const on = sharedRawAgent();

/** Runs a turn in which the agent sends these updates of a call, and expects one item. */
async function expectReported(updates: readonly object[], expected: object): Promise<void> {
  const { client, firstTurn } = on(
    onGo((agent) => {
      agent.update({ sessionUpdate: 'tool_call', ...touch }, ...updates);
      return endTurn;
    }),
  );
  const { turn } = await firstTurn('go');
  expect(await itemsOf(client, turn)).toMatchObject([expected]);
}

const news = (_meta: object, more: object = {}) => ({
  sessionUpdate: 'tool_call_update',
  toolCallId: 't1',
  _meta,
  ...more,
});
const delta = (data: string) => news({ terminal_output_delta: { terminal_id: 't1', data } });
const whole = (data: string) => news({ terminal_output: { terminal_id: 't1', data } });
const terminal = { content: [{ type: 'terminal', terminalId: 't1' }] };

test.each(
  Object.entries<[object[], string]>({
    'pieces in _meta.terminal_output_delta, as codex-acp sends them': [
      [
        news({}, terminal),
        delta('one\n'),
        delta('two\n'),
        { ...done, rawOutput: { exit_code: 0 } },
      ],
      'one\ntwo\n',
    ],
    'pieces in _meta.terminal_output': [
      [whole('one\n'), whole('two\n'), { ...done, ...terminal }],
      'one\ntwo\n',
    ],
    'the whole output, sent several times': [
      [whole('one\n'), whole('one\ntwo\n'), done],
      'one\ntwo\n',
    ],
    'the exit code of its command': [
      [
        delta('no such file'),
        { ...done, _meta: { terminal_exit: { terminal_id: 't1', exit_code: 2, signal: null } } },
      ],
      'no such file\n[exit code 2]\n',
    ],
    'a text of its content instead of the terminal output': [
      [delta('out\n'), { ...done, content: [textContent('it said: out')] }],
      'it said: out',
    ],
    'the formatted output of an older version': [
      [{ ...done, rawOutput: { formatted_output: 'out', exit_code: 0 } }],
      'out',
    ],
    'a placeholder for an unknown block': [
      [{ ...done, content: [{ type: 'hologram' }] }],
      '[hologram: not shown]',
    ],
    'the earlier output if the tool ends without content': [
      [
        news({}, { status: 'in_progress', content: [textContent('out')] }),
        { ...done, content: [] },
      ],
      'out',
    ],
  }),
)('The output of a tool is shown: %s.', (_what, [updates, text]) =>
  expectReported(updates, { text, status: 'completed' }),
);

test('A permission text is not tool output, even if the tool ends without content, as in gemini.', async () => {
  const { client, open } = on(
    onGo(async (agent) => {
      const question = { ...touch, content: [textContent('May I touch it?')] };
      agent.update({ sessionUpdate: 'tool_call', ...question });
      await agent.ask(question);
      agent.update({ ...done, content: [] });
      return endTurn;
    }),
  );
  const session = await open();
  const { approval } = await session.asks('go', asking);
  expect(approval.details).toContainEqual({
    type: 'input',
    name: 'content',
    value: 'May I touch it?',
  });
  const turn = await session.decide(approval, 'accept');
  expect(await itemsOf(client, turn)).toMatchObject([{ text: '', status: 'completed' }]);
});

test('A tool item has its diffs with the old text, and the locations of the call.', () => {
  const diff = '--- /a.txt\n+++ /a.txt\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n';
  return expectReported(
    [
      {
        ...done,
        locations: [{ path: '/a.txt', line: 2 }, { path: '/b.txt' }, { line: 3 }],
        content: [{ type: 'diff', path: '/a.txt', oldText: 'same\nold\n', newText: 'same\nnew\n' }],
      },
    ],
    {
      text: diff,
      tool: {
        diffs: [{ path: '/a.txt', diff }],
        locations: [
          { path: '/a.txt', line: 2 },
          { path: '/b.txt', line: null },
        ],
      },
    },
  );
});

const bytes = Buffer.from('not really a picture');
const image = { type: 'image', mimeType: 'image/png', data: bytes.toString('base64') };
const blob = { uri: 'file:///x.bin', mimeType: 'application/x', blob: image.data };
const shows = (agent: RawAgent) => {
  const chunk = (content: object) => ({ sessionUpdate: 'agent_message_chunk', content });
  agent.update(
    chunk({ type: 'text', text: 'Look:' }),
    chunk(image),
    chunk({ type: 'resource_link', name: 'notes', uri: 'file:///notes.md' }),
    { sessionUpdate: 'tool_call', ...touch },
    {
      ...done,
      content: [
        { type: 'content', content: image },
        { type: 'content', content: { type: 'resource', resource: blob } },
        { type: 'content', content: { type: 'resource', resource: { uri: 'u:1', text: 'hi' } } },
      ],
    },
  );
  return endTurn;
};

test('Messages and tools show images and resources as links in order, and the data is stored.', async () => {
  const { client, firstTurn } = on(onGo(shows));
  const { turn } = await firstTurn('go');
  const [message, tool] = await itemsOf(client, turn);
  const [, file = ''] = /!\[image\/png, 20 bytes\]\((\S+)\)/.exec(message?.text ?? '') ?? [];
  expect(path.basename(path.dirname(file))).toBe('blobs');
  expect(readFileSync(file).equals(bytes)).toBe(true);
  expect(message?.text).toBe(
    `Look:\n\n![image/png, 20 bytes](${file})\n\n\n\n[notes](file:///notes.md)\n\n`,
  );
  expect(tool?.text).toBe(
    [
      `![image/png, 20 bytes](${file})`,
      `[file:///x.bin, application/x, 20 bytes](${file})`,
      '[u:1](u:1)\n\n```\nhi\n```',
    ].join('\n'),
  );
  expect(turn.text).toBe(message?.text);
});
