import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MessageBudget } from '../../src/agents/budget.ts';
import { detailsOf as acpDetails } from '../../src/agents/acp/details.ts';
import { detailsOf as claudeDetails } from '../../src/agents/claude/details.ts';
import { changeDetails, legacyChangeDetails } from '../../src/agents/codex/request-parts.ts';
import { Reader } from '../../src/agents/codex/items.ts';
import { readRequest } from '../../src/agents/codex/requests.ts';
import { commandDetail } from '../../src/agents/details.ts';
import { diffDetail } from '../support/diff-detail.ts';
import { textContent } from '../support/providers/rows.ts';
import { tempDirectory } from '../support/temp.ts';

const diffOf = (...lines: string[]) => `${lines.join('\n')}\n`;

test('A diff shows the changed lines with the lines around them.', () => {
  const before = Array.from({ length: 20 }, (_, at) => `line ${at + 1}\n`).join('');
  const after = before.replace('line 10\n', 'line ten\n');
  expect(diffDetail('/w/a', before, after)).toEqual({
    type: 'diff',
    path: '/w/a',
    diff: diffOf(
      '--- /w/a',
      '+++ /w/a',
      '@@ -7,7 +7,7 @@',
      ' line 7',
      ' line 8',
      ' line 9',
      '-line 10',
      '+line ten',
      ' line 11',
      ' line 12',
      ' line 13',
    ),
  });
});

test.each([
  ['that is new', null, 'a\n', ['--- /dev/null', '+++ a', '@@ -0,0 +1,1 @@', '+a']],
  ['that is deleted', 'a\n', null, ['--- a', '+++ /dev/null', '@@ -1,1 +0,0 @@', '-a']],
  ['that is new and empty', null, '', ['--- /dev/null', '+++ a']],
  [
    'whose last line gets a line break',
    'a',
    'a\n',
    ['--- a', '+++ a', '@@ -1,1 +1,1 @@', '-a', '\\ No newline at end of file', '+a'],
  ],
])('A diff shows a file %s.', (_name, before, after, lines) => {
  expect(diffDetail('a', before, after)).toMatchObject({ diff: diffOf(...lines) });
});

test('A diff among many files skips the search for unchanged lines, so that it takes little time.', () => {
  const lines = (word: string) => Array.from({ length: 200 }, (_, at) => `${word} ${at}\n`);
  const [before, after] = [`same\n${lines('old').join('')}`, `same\n${lines('new').join('')}`];
  const hunkOf = (among: number) => diffDetail('a', before, after, among);
  // Both diffs are correct. The second is not searched for unchanged lines.
  expect(hunkOf(1)).toMatchObject({ diff: expect.stringContaining('\n same\n') as string });
  expect(hunkOf(100)).toMatchObject({ diff: expect.stringContaining('\n-same\n') as string });
});

test('A diff has every line of both sides, however many differ.', () => {
  const lines = (word: string) => Array.from({ length: 3000 }, (_, at) => `${word} ${at}`);
  const [before, after] = [lines('old'), lines('new')];
  const detail = diffDetail('a', `${before.join('\n')}\n`, `${after.join('\n')}\n`);
  expect(detail).toMatchObject({
    diff: diffOf(
      '--- a',
      '+++ a',
      '@@ -1,3000 +1,3000 @@',
      ...before.map((line) => `-${line}`),
      ...after.map((line) => `+${line}`),
    ),
  });
});

test('A command with arguments in a list is shown in shell syntax.', () => {
  expect(commandDetail(['bash', '-c', "echo 'a b'; rm -rf $X", ''], null)).toEqual({
    type: 'command',
    command: `bash -c 'echo '\\''a b'\\''; rm -rf $X' ''`,
    cwd: null,
  });
});

const shown = (call: object, title = 'Shell') =>
  acpDetails({ ...call }, title, { cwd: '/w', budget: new MessageBudget() });

test('The details show the whole command and the other fields of the input.', () => {
  const command = `cd build && ${'make clean; '.repeat(100)}\nrm -rf /precious`;
  expect(shown({ rawInput: { command, timeout: 5 } })).toEqual([
    { type: 'command', command, cwd: '/w' },
    { type: 'input', name: 'timeout', value: 5 },
  ]);
  expect(shown({ rawInput: { command: ['ls', 'a b'], cwd: '/else' } })).toEqual([
    { type: 'command', command: "ls 'a b'", cwd: '/else' },
  ]);
});

test('The details show the diffs of the content, and their texts only once.', () => {
  const content = [
    { type: 'diff', path: '/w/a', oldText: 'x\n', newText: 'y\n' },
    { type: 'diff', path: '/w/b', newText: 'z\n' },
    textContent('edits two files'),
    { type: 'terminal', terminalId: 't1' },
  ];
  const rawInput = { old_string: 'x\n', new_string: 'y\n', replace_all: true };
  expect(shown({ rawInput, content })).toEqual([
    { type: 'input', name: 'replace_all', value: true },
    { type: 'diff', path: '/w/a', diff: '--- /w/a\n+++ /w/a\n@@ -1,1 +1,1 @@\n-x\n+y\n' },
    { type: 'diff', path: '/w/b', diff: '--- /dev/null\n+++ /w/b\n@@ -0,0 +1,1 @@\n+z\n' },
    { type: 'input', name: 'content', value: 'edits two files' },
    { type: 'input', name: 'content', value: { type: 'terminal', terminalId: 't1' } },
  ]);
});

test('The details show the locations that no diff names.', () => {
  const change = { type: 'diff', path: 'a.md', oldText: 'a', newText: '/etc/x' };
  const asked = {
    rawInput: { new_string: '/etc/x', destination: '/etc/x' },
    content: [change],
    locations: [{ path: 'a.md' }, { path: '/etc/x' }],
  };
  expect(shown(asked, 'move').filter(({ type }) => type === 'input')).toEqual([
    { type: 'input', name: 'destination', value: '/etc/x' },
    { type: 'input', name: 'locations', value: [{ path: '/etc/x' }] },
  ]);
});

test('The details show the whole title if nothing else is known or the title was cut.', () => {
  const title = `rm -rf ${'x'.repeat(500)}`;
  expect(shown({ locations: [{ path: '/a' }] }, title)).toEqual([
    { type: 'input', name: 'title', value: title },
    { type: 'input', name: 'locations', value: [{ path: '/a' }] },
  ]);
  expect(shown({ rawInput: { command: title } }, `run: ${title}`)).toEqual([
    { type: 'command', command: title, cwd: '/w' },
  ]);
  expect(shown({ rawInput: 'an input that is no record' }, title)).toEqual([
    { type: 'input', name: 'title', value: title },
    { type: 'input', name: 'input', value: 'an input that is no record' },
  ]);
});

/** Returns the details of a tool call in a directory with files of several kinds. */
async function shownByClaude(tool: string, input: object) {
  await using place = tempDirectory('details');
  const file = (name: string) => join(place.path, name);
  writeFileSync(file('a'), 'one\ntwo\ntwo\n');
  writeFileSync(file('binary'), Buffer.from([0xff, 0xfe, 0x00]));
  writeFileSync(file('large'), 'x'.repeat(1024 * 1024 + 1));
  writeFileSync(file('long'), `one\n${'x'.repeat(1_000_000)}`);
  mkdirSync(file('directory'));
  symlinkSync('a', file('link'));
  const cells = [{ id: 'c1', source: ['x = 1\n', 'y = 2'] }, { source: 'print(x)' }];
  writeFileSync(file('n.ipynb'), JSON.stringify({ cells }));
  return await claudeDetails(tool, { ...input }, place.path);
}
const changed = (path: string, ...lines: string[]) => ({
  type: 'diff',
  path,
  diff: diffOf(`--- ${path}`, `+++ ${path}`, ...lines),
});

test('The details of a change in a sandbox compare the file that the agent sees, and read no hidden file.', async () => {
  await using place = tempDirectory('edited');
  const inside = join(place.path, 'inside');
  writeFileSync(inside, 'a\n');
  const fileOutside = async (named: string) => (named === '/tmp/a' ? inside : null);
  const detailsOf = (file_path: string) =>
    claudeDetails('Write', { file_path, content: 'b\n' }, place.path, fileOutside);
  expect(await detailsOf('/tmp/a')).toEqual([changed('/tmp/a', '@@ -1,1 +1,1 @@', '-a', '+b')]);
  // Without a sandbox, the content of this file would be in the diff.
  expect(await detailsOf(inside)).toContainEqual({
    type: 'omitted',
    name: `current content of ${inside}: not visible in the sandbox`,
    bytes: 0,
  });
});

test('The details show the command and the other fields of the input.', async () => {
  expect(await claudeDetails('Bash', { command: 'make', run_in_background: true }, '/w')).toEqual([
    { type: 'command', command: 'make', cwd: '/w' },
    { type: 'input', name: 'run_in_background', value: true },
  ]);
});

test.each([
  [
    'Edit',
    { file_path: 'a', old_string: 'one', new_string: '$& 1' },
    ['@@ -1,3 +1,3 @@', '-one', '+$& 1', ' two', ' two'],
  ],
  [
    'Edit',
    { file_path: 'a', old_string: 'two', new_string: '2', replace_all: true },
    ['@@ -1,3 +1,3 @@', ' one', '-two', '-two', '+2', '+2'],
  ],
  [
    'MultiEdit',
    {
      file_path: 'a',
      edits: [
        { old_string: 'one', new_string: 'three' },
        { old_string: 'three', new_string: 'four' },
      ],
    },
    ['@@ -1,3 +1,3 @@', '-one', '+four', ' two', ' two'],
  ],
  ['Write', { file_path: 'a', content: 'one\n' }, ['@@ -1,3 +1,1 @@', ' one', '-two', '-two']],
  [
    'Write',
    { file_path: 'link', content: 'one\ntwo\ntwo\nmore\n' },
    ['@@ -1,3 +1,4 @@', ' one', ' two', ' two', '+more'],
  ],
])('The details show the change that %s makes to the current file.', async (tool, input, lines) => {
  expect(await shownByClaude(tool, input)).toEqual([changed(input.file_path, ...lines)]);
});

test('The details show the content of a new file.', async () => {
  const diff = diffOf('--- /dev/null', '+++ new', '@@ -0,0 +1,1 @@', '+hello');
  const detail = { type: 'diff', path: 'new', diff };
  expect(await shownByClaude('Write', { file_path: 'new', content: 'hello\n' })).toEqual([detail]);
  const edit = { file_path: 'new', old_string: '', new_string: 'hello\n' };
  expect(await shownByClaude('Edit', edit)).toEqual([detail]);
});

test.each(['binary', 'large', 'directory'])(
  'The details show the input if the file is not read (%s), and a mark for its missing content.',
  async (file_path) => {
    expect(await shownByClaude('Write', { file_path, content: 'x' })).toEqual([
      { type: 'input', name: 'file_path', value: file_path },
      { type: 'input', name: 'content', value: 'x' },
      {
        type: 'omitted',
        name: expect.stringContaining(`current content of ${file_path}: `) as string,
        bytes: expect.any(Number) as number,
      },
    ]);
  },
);

test.each([
  ['is not in the file', { old_string: 'nowhere', new_string: 'x' }],
  ['is in the file twice', { old_string: 'two', new_string: 'x' }],
])('The details show the input if the replaced text %s.', async (_name, change) => {
  const input = { file_path: 'a', ...change };
  const inputs = Object.entries(input).map(([name, value]) => ({ type: 'input', name, value }));
  expect(await shownByClaude('Edit', input)).toEqual(inputs);
});

test('The details show the input if its edits would take too long to apply.', async () => {
  const grow = { file_path: 'a', old_string: 'two', new_string: 'x'.repeat(3_000_000) };
  expect(await shownByClaude('Edit', { ...grow, replace_all: true })).toHaveLength(4);
  const change = { old_string: 'one', new_string: 'one' };
  const many = { file_path: 'long', edits: Array.from({ length: 100 }, () => change) };
  expect(await shownByClaude('MultiEdit', many)).toHaveLength(2);
});

test('The details show the changed cell of a notebook.', async () => {
  const cell = { notebook_path: 'n.ipynb', cell_id: 'c1', new_source: 'x = 1\ny = 3' };
  expect(await shownByClaude('NotebookEdit', cell)).toEqual([
    changed(
      'n.ipynb',
      '@@ -1,2 +1,2 @@',
      ' x = 1',
      '-y = 2',
      '\\ No newline at end of file',
      '+y = 3',
      '\\ No newline at end of file',
    ),
    { type: 'input', name: 'cell_id', value: 'c1' },
  ]);
  const gone = { notebook_path: 'n.ipynb', cell_id: 'cell-1', edit_mode: 'delete' };
  expect(await shownByClaude('NotebookEdit', gone)).toMatchObject([
    { diff: expect.stringContaining('-print(x)') as string },
    { name: 'cell_id' },
    { name: 'edit_mode' },
  ]);
  const unknown = { notebook_path: 'n.ipynb', cell_id: 'c9', new_source: 'x' };
  expect(await shownByClaude('NotebookEdit', unknown)).toHaveLength(3);
});

test('The details show each argument of any other tool, and nothing beside questions.', async () => {
  expect(await shownByClaude('ExitPlanMode', { plan: '# Plan\n1. all' })).toEqual([
    { type: 'input', name: 'plan', value: '# Plan\n1. all' },
  ]);
  expect(await shownByClaude('AskUserQuestion', { questions: [] })).toEqual([]);
});

const asked = (method: string, params: object, item?: object) => {
  const reader = new Reader();
  if (item) reader.read('item/started', { item: { ...item, id: 'i' } });
  return readRequest(method, { itemId: 'i', threadId: 't', ...params }, reader)?.request;
};

test('The details show the command, the requested permissions and the reason.', () => {
  const params = {
    command: 'make',
    cwd: '/w',
    reason: 'to build',
    additionalPermissions: { n: 1 },
  };
  expect(asked('item/commandExecution/requestApproval', params)?.details).toEqual([
    { type: 'command', command: 'make', cwd: '/w' },
    { type: 'input', name: 'additionalPermissions', value: { n: 1 } },
    { type: 'input', name: 'reason', value: 'to build' },
  ]);
  const local = { kind: 'command', environmentId: 'local', commandActions: [] };
  expect(asked('item/commandExecution/requestApproval', { ...params, ...local })?.details).toEqual(
    asked('item/commandExecution/requestApproval', params)?.details,
  );
  const words = { command: ['ls', 'a b'], cwd: '/w', callId: 'c' };
  expect(asked('execCommandApproval', words)?.details).toEqual([
    { type: 'command', command: "ls 'a b'", cwd: '/w' },
  ]);
});

test('The details show the changes of the item and the requested directory.', () => {
  const changes = [
    { path: '/w/new', kind: { type: 'add' }, diff: 'x\n' },
    { path: '/w/old', kind: { type: 'delete' }, diff: 'y\n' },
    { path: '/w/a', kind: { type: 'update', move_path: '/w/b' }, diff: '@@ -1 +1 @@\n-a\n+b\n' },
  ];
  const item = { type: 'fileChange', changes };
  const params = { grantRoot: '/w' };
  expect(asked('item/fileChange/requestApproval', params, item)?.details).toEqual([
    { type: 'diff', path: '/w/new', diff: '--- /dev/null\n+++ /w/new\n@@ -0,0 +1,1 @@\n+x\n' },
    { type: 'diff', path: '/w/old', diff: '--- /w/old\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-y\n' },
    { type: 'diff', path: '/w/a', diff: '--- /w/a\n+++ /w/b\n@@ -1 +1 @@\n-a\n+b\n' },
    { type: 'input', name: 'grantRoot', value: '/w' },
  ]);
});

test('The details show a change without a diff, and changes in the form of older versions.', () => {
  const unprompted = { path: 'a', kind: { type: 'update' }, diff: null };
  expect(changeDetails(unprompted)).toMatchObject([{ type: 'input', name: 'change of a' }]);
  expect(legacyChangeDetails(['a', { type: 'add', content: 'x' }])).toMatchObject([
    {
      diff: '--- /dev/null\n+++ a\n@@ -0,0 +1,1 @@\n+x\n\\ No newline at end of file\n',
    },
  ]);
  expect(legacyChangeDetails(['a', { delete: { content: 'x\n' } }])).toMatchObject([
    {
      diff: '--- a\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n',
    },
  ]);
  const update = { type: 'update', unified_diff: '@@ -1 +1 @@\n-a\n+b\n', move_path: null };
  expect(legacyChangeDetails(['a', update])).toMatchObject([
    {
      diff: '--- a\n+++ a\n@@ -1 +1 @@\n-a\n+b\n',
    },
  ]);
  expect(legacyChangeDetails(['a', 'odd'])).toEqual([
    { type: 'input', name: 'change of a', value: 'odd' },
  ]);
  const hidden = { path: 'a', kind: { type: 'update', movePath: 'b' }, diff: '@@ -1 +1 @@\n' };
  expect(changeDetails(hidden)).toContainEqual({
    type: 'input',
    name: 'change of a',
    value: { movePath: 'b' },
  });
  const headed = { path: 'a', kind: { type: 'update', move_path: 'b' }, diff: '--- a\n+++ a\n' };
  expect(changeDetails(headed)[0]).toMatchObject({
    diff: expect.stringContaining('+++ b\n') as unknown,
  });
});

test('The details show the arguments of an MCP tool.', () => {
  const _meta = {
    codex_approval_kind: 'mcp_tool_call',
    tool_name: 't',
    tool_params: { to: 'x' },
  };
  const params = { serverName: 's', message: 'Allow it?', _meta };
  expect(asked('mcpServer/elicitation/request', params)).toMatchObject({
    details: [
      { name: 'server', value: 's' },
      { name: 'tool', value: 't' },
      { name: 'message', value: 'Allow it?' },
      { name: 'to', value: 'x' },
    ],
  });
});

test('A request for an MCP tool without arguments names the tool.', () => {
  const _meta = { codex_approval_kind: 'mcp_tool_call', tool_name: 't', persist: 'session' };
  const params = { serverName: 's', message: 'Allow it?', _meta };
  expect(asked('mcpServer/elicitation/request', params)).toMatchObject({
    kind: 'tool',
    title: 's.t',
    details: [
      { name: 'server', value: 's' },
      { name: 'tool', value: 't' },
      { name: 'message', value: 'Allow it?' },
    ],
    sessionAllows: 'every call of s.t',
    subject: null,
  });
});
