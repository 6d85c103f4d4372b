import { spawnSync } from 'node:child_process';
import { Command, Option } from 'commander';
import { beforeAll, describe, expect, it, test } from 'vitest';
import { sharedDemo } from '../../support/demo-server.ts';
import { endpoints } from '../../../src/api/index.ts';
import { describeProgram, describeTree } from '../../../src/frontends/cli/complete/describe.ts';
import { cursorContextOf } from '../../../src/frontends/cli/complete/complete.ts';
import type { CompletionTable } from '../../../src/frontends/cli/complete/table.ts';
import { completionScript, scripts } from '../../../src/frontends/cli/commands/completion.ts';
import { commands } from '../../../src/frontends/cli/commands/index.ts';
import { createProgram } from '../../../src/frontends/cli/program.ts';
import type { CommandIo } from '../../../src/frontends/cli/command-io.ts';
import { readAsset } from '../../../src/core/lib/self.ts';
import { kindOfMode } from '../../../src/api/permission-modes.ts';
import { completeHere, runCadre } from '../../support/cli/cadre.ts';
import { testDirectory } from '../../support/temp.ts';
import { openSession, runTurn, withSession } from '../../support/turns.ts';

const shells = Object.keys(scripts) as (keyof typeof scripts)[];

it('The tree has no hidden commands and options, and has the help option once.', () => {
  const program = new Command('cadre').addOption(new Option('--secret').hideHelp());
  program.command('inner', { hidden: true });
  program
    .command('watch')
    .alias('look')
    .description('look')
    .argument('<session>')
    .argument('[path...]')
    .option('-k, --kind <kind...>', 'of which kind');
  const tree = describeTree(program);
  expect(tree.options.map(({ flags }) => flags)).toEqual([['-h', '--help']]);
  expect(tree.commands.map(({ name }) => name)).toEqual(['watch', 'help']);
  expect(tree.commands[0]).toEqual({
    name: 'watch',
    aliases: ['look'],
    description: 'look',
    commands: [],
    options: [
      {
        flags: ['-k', '--kind'],
        description: 'of which kind',
        value: { name: 'kind', choices: [], variadic: true },
      },
    ],
    operands: [
      { name: 'session', choices: [], variadic: false },
      { name: 'path', choices: [], variadic: true },
    ],
  });
});

test.for(shells)(
  'The %s script has no syntax error, and completes only the named command.',
  (shell, { skip }) => {
    const script = completionScript(shell, 'other-name');
    expect(script).toContain('other-name');
    expect(script).not.toMatch(/\bcadre\b/);
    const { error, status, stderr } = spawnSync(shell, ['-n'], { encoding: 'utf8', input: script });
    skip(error !== undefined, `${shell} is not installed`);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  },
);

test('The bash script completes a word with a colon, which bash splits into several words.', ({
  skip,
}) => {
  const completed = (breaks: string, ...words: string[]) => {
    const script = `${completionScript('bash', 'cadre')}
      cadre() { printf '%s\\n' "$*" >&2; printf '%s\\n' resume handoff:codex handoff:claude; }
      COMP_WORDBREAKS=$1; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _cadre cadre
      printf '%s\\n' "\${COMPREPLY[@]}"`;
    const argv = ['-c', script, 'bash', breaks, 'cadre', ...words];
    const { error, stdout } = spawnSync('bash', argv, { encoding: 'utf8' });
    skip(error !== undefined, 'bash is not installed');
    return stdout.split('\n').filter(Boolean);
  };
  const split = ' \t\n"\'><=;|&(:';
  expect(completed(split, 'sessions', 'after-limit', 'x', 'han')).toEqual([
    'handoff:codex',
    'handoff:claude',
  ]);
  expect(completed(split, 'sessions', 'after-limit', 'x', 'handoff', ':')).toEqual([
    'codex',
    'claude',
  ]);
  expect(completed(split, 'sessions', 'after-limit', 'x', 'handoff', ':', 'co')).toEqual(['codex']);
  expect(completed(split, 'create', '--after-limit', '=', 'handoff', ':', 'cl')).toEqual([
    'claude',
  ]);
  expect(completed(' =', 'sessions', 'after-limit', 'x', 'handoff:co')).toEqual(['handoff:codex']);
});

describe('the table of the build', () => {
  let table: CompletionTable;
  beforeAll(async () => {
    table = describeProgram(await createProgram({} as CommandIo, commands));
  });

  it('The table has the commands of the program, and only known permission modes.', () => {
    const built = JSON.parse(Buffer.from(readAsset('commands.json')).toString()) as unknown;
    expect(built).toEqual(JSON.parse(JSON.stringify(table)));
    const asked = table.values.mode?.filter((mode) => kindOfMode(mode) === 'asks');
    expect(asked).toEqual(['default', 'require_approval']);
  });

  const at = (...words: string[]) => {
    const { path: commands, value, flag, takesCommand } = cursorContextOf(table.tree, words);
    return {
      at: commands.map(({ name }) => name).join(' '),
      value: value?.name,
      flag,
      takesCommand,
    };
  };

  it('The value of an option is not completed as a command.', () => {
    expect(at('--url', 'sessions', 'ser')).toMatchObject({ at: 'cadre', takesCommand: true });
    expect(at('sessions', '--json', 'li')).toMatchObject({ at: 'cadre sessions' });
    expect(at('--url', '')).toMatchObject({ at: 'cadre', flag: '--url', value: 'url' });
  });

  it('A word after --fleet is its address only if it looks like one.', () => {
    const list = { at: 'cadre sessions', takesCommand: true };
    expect(at('--fleet', 'sessions', '')).toMatchObject(list);
    expect(at('--fleet', 'nats://127.0.0.1:4222', 'sessions', '')).toMatchObject(list);
    expect(at('--fleet', 'ses')).toMatchObject({ at: 'cadre', takesCommand: true, flag: null });
  });

  it('The value at the cursor is found in every form of an option.', () => {
    const status = { at: 'cadre sessions list', flag: '--status', value: 'status' };
    expect(at('sessions', 'list', '--status', '')).toMatchObject(status);
    // bash splits words at the =.
    expect(at('sessions', 'list', '--status', '=', 'ru')).toMatchObject(status);
    expect(at('sessions', 'list', '--status=ready', '')).toMatchObject({ flag: null });
    expect(at('worktrees', 'get', '')).toMatchObject({ value: 'worktree', takesCommand: false });
    expect(at('teams', 'message', 'a', 'b', '--reply-to', '')).toMatchObject({ value: 'message' });
    expect(at('sessions', 'get', 'a', '')).toMatchObject({ value: undefined });
    expect(at('processes', 'run', 'a', 'b', '')).toMatchObject({ value: 'command' });
  });
});

describe('cadre __complete', () => {
  const server = sharedDemo();
  let session = '';

  async function offers(...words: string[]): Promise<string[]> {
    const { directory } = server();
    const { stdout } = await completeHere(directory, ['--data-dir', directory, ...words]);
    return stdout.split('\n').filter(Boolean);
  }
  const wordsOf = async (...words: string[]) =>
    (await offers(...words)).map((line) => line.split('\t')[0]);

  beforeAll(async () => {
    const { client, directory } = server();
    ({ id: session } = await openSession(client, directory, { title: 'long job' }));
    await runTurn(client, session, 'say hello');
    const body = { command: 'sleep 1000', session_id: session };
    await client.call(endpoints.createProcess, { body });
    await client.call(endpoints.createTeam, { body: { name: 'shop', lead_agent_id: session } });
  });

  it('Completion offers visible commands, and flags of the command and the program.', async () => {
    const { directory } = server();
    const ended = await runCadre(directory, ['--data-dir', directory, '__complete', '--', '']);
    expect([ended.code, ended.stderr]).toEqual([0, '']);
    const nouns = await wordsOf('');
    expect(nouns).toEqual(ended.stdout.split('\n').flatMap((line) => line.split('\t')[0] || []));
    expect(nouns).toEqual(expect.arrayContaining(['serve', 'run', 'sessions', 'completion']));
    expect(nouns).not.toContain('demo-agent');
    expect(nouns.join(' ')).not.toContain('__');
    const flags = await wordsOf('sessions', 'list', '-');
    expect(flags).toEqual(expect.arrayContaining(['-L', '--limit', '--url', '--json', '--help']));
    expect(flags).toHaveLength(new Set(flags).size);
  });

  it('Completion offers choices, event kinds, permission modes, actions at a usage limit and tools.', async () => {
    expect(await wordsOf('completion', '')).toEqual(shells);
    expect(await wordsOf('events', 'tail', '--kind', '')).toEqual(
      expect.arrayContaining(['turn.*', 'turn.completed']),
    );
    expect(await wordsOf('run', '--permission-mode', '')).toContain('require_approval');
    for (const words of [
      ['sessions', 'create', '--after-limit'],
      ['sessions', 'after-limit', 'x'],
    ])
      expect(await wordsOf(...words, '')).toEqual(
        expect.arrayContaining(['resume', 'wait', 'handoff:codex', 'handoff:gemini']),
      );
    expect(await wordsOf('mcp', 'call', '')).toContain('cadre_process_run');
    expect(await offers('--data-dir', '')).toEqual(['<directory>']);
    expect(await offers('--token-file', '')).toEqual(['<file>']);
    expect(await offers('run', '')).toEqual([]);
  });

  it('Completion offers ids with titles and states, and names once a part of them is typed.', async () => {
    const end = session.slice(-8);
    expect(await offers('sessions', 'get', '')).toEqual([`${end}\tready  long job`]);
    expect(await wordsOf('sessions', 'get', 'sess_')).toEqual([session]);
    expect(await offers('processes', 'logs', '')).toEqual([
      expect.stringMatching(/^[0-9a-f]{8}\trunning {2}sleep 1000$/),
    ]);
    expect(await offers('sessions', 'items', end, '')).toEqual([
      expect.stringMatching(/^turn_[0-9a-f]{32}\tcompleted {2}hello$/),
    ]);
    expect(await offers('sessions', 'item', end, '')).toContainEqual(
      expect.stringMatching(/^item_[0-9a-f]{32}\t\w+ {2}hello$/),
    );
    expect(await offers('teams', 'show', 'sh')).toEqual([
      expect.stringMatching(/^[0-9a-f]{8}\tshop$/),
      expect.stringMatching(/^shop\t[0-9a-f]{8} {2}shop$/),
    ]);
    expect(await offers('teams', 'remove', 'shop', '')).toEqual([`${end}\tidle`]);
  });

  it('Completion offers the modes of an agent and the slash commands of a session.', async () => {
    const { client, id } = await withSession(server());
    await runTurn(client, id, 'commands plan; say hi');
    expect(await wordsOf('run', '--agent-mode', '')).toContain('full_access');
    expect(await wordsOf('run', '--agent-mode', '')).not.toContain('require_approval');
    expect(await wordsOf('run', '--agent', 'nobody', '--agent-mode', '')).toEqual([]);
    expect(await wordsOf('run', '--session', id, '/')).toEqual(['/plan']);
    expect(await wordsOf('sessions', 'send', id, '/')).toEqual(['/plan']);
    expect(await wordsOf('sessions', 'send', id, 'p')).toEqual([]);
  });

  it('Completion offers nothing without a server or for an unknown record.', async () => {
    const none = await runCadre(testDirectory('completions'), [
      '__complete',
      '--',
      'sessions',
      'get',
      '',
    ]);
    expect(none).toMatchObject({ code: 0, stdout: '', stderr: '' });
    expect(await offers('sessions', 'get', session, '')).toEqual([]);
    expect(await offers('sessions', 'items', 'nobody', '')).toEqual([]);
  });
});
