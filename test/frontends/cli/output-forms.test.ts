import { describe, expect, test } from 'vitest';
import { table } from '../../../src/frontends/cli/output.ts';
import { whole } from '../../../src/frontends/cli/layout.ts';
import { createProgram } from '../../../src/frontends/cli/program.ts';
import { commands } from '../../../src/frontends/cli/commands/index.ts';
import { withoutColors } from '../../../src/frontends/terminal/palette.ts';
import type { World } from '../../../src/frontends/cli/world.ts';
import { cadreOn, runHere } from '../../support/cli/cadre.ts';
import { sharedDemo } from '../../support/demo-server.ts';
import { tempDirectory } from '../../support/temp.ts';
import { openSession } from '../../support/turns.ts';

const server = sharedDemo();
const cadre = (...args: string[]) => cadreOn(server())(args);

/** A session whose title has what a row has to escape. */
const opened = async (title: string) =>
  (await openSession(server().client, server().directory, { title })).id;

describe('a list', () => {
  test('In a pipe, a list has a row a line with tabs between whole cells, and no heading.', async () => {
    const id = await opened('a long title that a terminal of 40 columns would cut');
    const { stdout } = await cadre('sessions', 'list');
    const row = stdout.split('\n').find((line) => line.startsWith(id.slice(-8)));
    expect(row?.split('\t')).toEqual([
      ...[id.slice(-8), 'acp', 'ready', expect.stringMatching(/^\d+s$/)],
      ...['a long title that a terminal of 40 columns would cut', '-', server().directory],
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
    using home = tempDirectory();
    const failed = await runHere(home.path, ['sessions', 'list', '-o', 'json']);
    expect(JSON.parse(failed.stderr)).toMatchObject({ error: { code: 'unreachable' } });
  });

  test('An unknown form is refused with the forms that there are.', async () => {
    const { code, stderr } = await cadre('sessions', 'list', '-o', 'yaml');
    expect(code).toBe(2);
    expect(stderr).toContain('invalid --output "yaml": expected name, wide, json');
  });
});

describe('a record', () => {
  test('--quiet prints the id of the record, and --output json the record.', async () => {
    const id = await opened('one');
    for (const command of ['get', 'show']) {
      expect((await cadre('sessions', command, id, '-q')).stdout).toBe(`${id}\n`);
      expect((await cadre('sessions', command, id, '-o', 'name')).stdout).toBe(`${id}\n`);
    }
    expect((await cadre('sessions', 'get', id, '-o', 'json')).json()).toMatchObject({ id });
  });
});

test('Every command named list and show has the options of the output form.', async () => {
  const program = await createProgram({} as World, commands);
  const all = program.commands.flatMap((group) =>
    group.commands.map((one) => ({ path: `${group.name()} ${one.name()}`, one })),
  );
  const without = all
    .filter(({ one }) => ['list', 'show', 'get'].includes(one.name()))
    .filter(({ one }) => !one.options.some(({ long }) => long === '--quiet'));
  expect(without.map(({ path }) => path)).toEqual([]);
});
