import { expect, test } from 'vitest';
import { table } from '../../../src/frontends/cli/output.ts';
import { whole } from '../../../src/frontends/cli/layout.ts';
import { singulars } from '../../../src/bundles/choose.ts';
import { metricsDocument } from '../../../src/frontends/cli/commands/diagnostics.ts';
import { createProgram } from '../../../src/frontends/cli/program.ts';
import { commands } from '../../../src/frontends/cli/commands/index.ts';
import { withoutColors } from '../../../src/frontends/terminal/palette.ts';
import type { CommandIo } from '../../../src/frontends/cli/command-io.ts';
import { cadreOn, completeHere, runCadre, runHere } from '../../support/cli/cadre.ts';
import { sharedDemo } from '../../support/demo-server.ts';
import { tempDirectory, testDirectory } from '../../support/temp.ts';
import { openSession } from '../../support/turns.ts';

const server = sharedDemo();
const cadre = (...args: string[]) => cadreOn(server())(args);

const opened = async (title: string) =>
  (await openSession(server().client, server().directory, { title })).id;

test('In a pipe, a list has a row a line with tabs between whole cells, and no heading.', async () => {
  const id = await opened('a long title that a terminal of 40 columns would cut');
  const { stdout } = await cadre('sessions', 'list');
  const row = stdout.split('\n').find((line) => line.startsWith(id.slice(-8)));
  expect(row?.split('\t')).toEqual([
    id.slice(-8),
    'acp',
    'ready',
    expect.stringMatching(/^\d+s$/),
    'a long title that a terminal of 40 columns would cut',
    '-',
    server().directory,
  ]);
  expect(stdout).not.toContain('PROVIDER');
});

test('A tab, a line feed and a backslash in a cell are escaped, so that a row stays one line.', () => {
  const layout = { ...whole, hasTabs: true };
  expect(table(['A', 'B'], [['a\tb\nc', String.raw`d\e`]], layout)).toBe(
    `${String.raw`a\tb\nc`}\t${String.raw`d\\e`}\n`,
  );
  expect(table(['A'], [['\u001b[31mred']], layout)).toBe('red\n');
  expect(table(['A'], [], layout)).toBe('');
});

test('With --padded, and on a terminal, a list has a heading and aligned columns.', async () => {
  await opened('seen');
  const padded = await cadre('sessions', 'list', '--padded');
  const shown = await cadreOn(server())(['sessions', 'list'], { columns: 200 });
  for (const { stdout } of [padded, shown])
    expect(withoutColors(stdout)).toMatch(/^ID +PROVIDER +STATUS/);
});

test('--quiet and --output name print only whole ids, one per line.', async () => {
  const id = await opened('named');
  for (const form of [['-q'], ['--quiet'], ['-o', 'name'], ['--output=name']]) {
    const { code, stdout } = await cadre('sessions', 'list', ...form);
    expect([code, stdout.split('\n')[0]]).toEqual([0, id]);
    expect(stdout).toMatch(/^(sess_[0-9a-f]{32}\n)+$/);
  }
  const tools = (await cadre('mcp', 'tools', '-q')).stdout.split('\n');
  expect(tools).toContain('cadre_process_run');
  expect((await cadre('providers', 'list', '-q')).stdout).toBe('acp\nclaude\ncodex\n');
  expect((await cadre('processes', 'list', '-q')).stdout).toBe('');
});

test('--output wide prints whole ids, also on a narrow terminal.', async () => {
  const id = await opened('wide');
  const shown = await cadreOn(server())(['sessions', 'list', '-o', 'wide'], { columns: 40 });
  expect(shown.stdout).toContain(`${id}  acp`);
  expect(shown.stdout).toContain(server().directory);
  expect((await cadre('sessions', 'list', '-o', 'wide')).stdout).toContain(`${id}\tacp\t`);
});

test('--output json prints what --json prints, and an error is JSON, too.', async () => {
  await opened('json');
  const [one, other] = [
    await cadre('sessions', 'list', '-o', 'json'),
    await cadre('--json', 'sessions', 'list'),
  ];
  expect(one.json()).toEqual(other.json());
  const failed = await runHere(testDirectory(), ['sessions', 'list', '-o', 'json']);
  expect(JSON.parse(failed.stderr)).toMatchObject({ error: { code: 'unreachable' } });
});

test('An unknown form is refused with the forms that there are.', async () => {
  const { code, stderr } = await cadre('sessions', 'list', '-o', 'yaml');
  expect(code).toBe(2);
  expect(stderr).toContain('invalid --output "yaml": expected name, wide, json');
});

test('--quiet prints the id of the record, and --output json the record.', async () => {
  const id = await opened('one');
  for (const command of ['get', 'show']) {
    expect((await cadre('sessions', command, id, '-q')).stdout).toBe(`${id}\n`);
    expect((await cadre('sessions', command, id, '-o', 'name')).stdout).toBe(`${id}\n`);
  }
  expect((await cadre('sessions', 'get', id, '-o', 'json')).json()).toMatchObject({ id });
});

test('Every command named list and show has the options of the output form.', async () => {
  const program = await createProgram({} as CommandIo, commands);
  const all = program.commands.flatMap((group) =>
    group.commands.map((one) => ({ path: `${group.name()} ${one.name()}`, one })),
  );
  const without = all
    .filter(({ one }) => ['list', 'show', 'get'].includes(one.name()))
    .filter(({ one }) => !one.options.some(({ long }) => long === '--quiet'));
  expect(without.map(({ path }) => path)).toEqual([]);
});

test('A group without a command is refused in JSON, with its help as the hint.', async () => {
  using home = tempDirectory();
  const groups = (await createProgram({} as CommandIo, commands)).commands.filter(
    (one) => one.commands.length > 0 && one.registeredArguments.length === 0,
  );
  expect(groups.length).toBeGreaterThan(15);
  for (const name of groups.map((one) => one.name())) {
    const { code, stdout, stderr } = await runHere(home.path, ['--json', name]);
    expect([code, stdout]).toEqual([2, '']);
    expect(JSON.parse(stderr)).toEqual({
      error: {
        code: 'usage',
        message: `no command given: see cadre ${name} --help`,
        hint: `see cadre ${name} --help`,
      },
    });
  }
});

test('The help of a command is a document with its arguments, options and examples.', async () => {
  using home = tempDirectory();
  const { code, stdout } = await runHere(home.path, ['--json', 'help', 'sessions', 'rename']);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    command: 'cadre sessions rename',
    arguments: [{ name: 'session', required: true }, { name: 'title' }],
    examples: [{ command: expect.stringMatching(/^cadre sessions rename /) as string }],
  });
  const top = (await runHere(home.path, ['help', '--json'])).json() as { commands: object[] };
  expect(top.commands).toContainEqual({
    name: 'sessions',
    description: 'Manage conversations with agents',
  });
  const filtered = await runHere(home.path, ['help', '--jq', '.commands[0].name']);
  expect(filtered.stdout).toBe('run\n');
});

test('The metrics are a list with the samples of each metric.', async () => {
  const found = (await cadre('metrics', '--json')).json() as { name: string }[];
  expect(found.find(({ name }) => name === 'cadre_sessions')).toMatchObject({
    type: 'gauge',
    help: 'Sessions by status.',
    samples: expect.arrayContaining([
      { name: 'cadre_sessions', labels: { status: 'running' }, value: 0 },
    ]) as object[],
  });
  const { length } = (await cadre('metrics')).stdout.match(/^# TYPE /gm) ?? [];
  expect(found).toHaveLength(length ?? 0);
});

test('Samples of a histogram, escaped labels and numbers that JSON lacks are read.', () => {
  const text = String.raw`# HELP h About it.
# TYPE h histogram
h_bucket{le="0.1",path="a\"b\\c"} 2
h_bucket{le="+Inf"} 3
h_sum 1.5
h_count 3
h_other NaN
`;
  expect(metricsDocument(text)).toEqual([
    {
      name: 'h',
      type: 'histogram',
      help: 'About it.',
      samples: [
        { name: 'h_bucket', labels: { le: '0.1', path: String.raw`a"b\c` }, value: 2 },
        { name: 'h_bucket', labels: { le: '+Inf' }, value: 3 },
        { name: 'h_sum', labels: {}, value: 1.5 },
        { name: 'h_count', labels: {}, value: 3 },
      ],
    },
    {
      name: 'h_other',
      type: null,
      help: null,
      samples: [{ name: 'h_other', labels: {}, value: 'NaN' }],
    },
  ]);
});

test('The singular names the group, in the built program as well, and help does not show it.', async () => {
  const { directory } = server();
  const id = await opened('by the singular');
  expect((await cadre('session', 'list', '-q')).stdout).toContain(id);
  expect((await cadre('approval', 'rule', 'list')).code).toBe(0);
  const line = ['--data-dir', directory, 'session', 'list', '-q'];
  expect((await runCadre(directory, line)).stdout).toContain(id);
  const { stdout } = await cadre('help', 'session');
  expect(stdout).toMatch(/^Usage: cadre sessions \[options\] \[command\]\n/);
});

test('The singular of every group that has one is known, and its commands complete.', async () => {
  using home = tempDirectory();
  for (const [singular, group] of Object.entries(singulars).filter(([one]) => one !== 'rule')) {
    const words = async (name: string) => (await completeHere(home.path, [name, ''])).stdout;
    expect(await words(singular)).toBe(await words(group));
    const help = await runHere(home.path, [singular, '--help']);
    expect([help.code, help.stdout]).toEqual([
      0,
      (await runHere(home.path, [group, '--help'])).stdout,
    ]);
  }
});
