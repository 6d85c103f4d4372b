import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Command, Option } from 'commander';
import { beforeAll, describe, expect, it } from 'vitest';
import { describeTree } from '../../src/cli/commands/completion.ts';
import { type CommandTree, completionScript, shells } from '../../src/cli/completions.ts';
import { table } from '../../src/cli/output.ts';
import { createProgram } from '../../src/cli/program.ts';
import type { World } from '../../src/cli/world.ts';
import { tempDirectory } from '../support/temp.ts';

const committed = { bash: 'cadre.bash', zsh: '_cadre', fish: 'cadre.fish' };
const fileOf = (shell: keyof typeof committed) => path.resolve('completions', committed[shell]);

describe('describeTree', () => {
  it('leaves out what is hidden, and says the help option once, for all', () => {
    const program = new Command('cadre').addOption(new Option('--secret').hideHelp());
    program.command('inner', { hidden: true });
    program
      .command('watch')
      .description('look')
      .argument('<session>')
      .argument('[path...]')
      .option('-k, --kind <kind...>', 'of which kind');
    const tree = describeTree(program);
    expect(tree.options.map(({ flags }) => flags)).toEqual([['-h', '--help']]);
    expect(tree.commands.map(({ name }) => name)).toEqual(['watch', 'help']);
    expect(tree.commands[0]).toEqual({
      name: 'watch',
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
});

describe('the committed scripts', () => {
  let tree: CommandTree;
  beforeAll(async () => {
    tree = describeTree(await createProgram({} as World));
  });

  it.each(shells)('%s: is what the command tree gives; else run make completions', (shell) => {
    expect(fs.readFileSync(fileOf(shell), 'utf8')).toBe(completionScript(shell, tree));
  });

  it.each(shells)('%s: names no path of a machine', (shell) => {
    const script = fs.readFileSync(fileOf(shell), 'utf8');
    expect(script).not.toContain(process.cwd());
    expect(script).not.toMatch(/\/(home|root|work|tmp|usr|opt|Users)\b/);
  });

  it.for(shells)('%s: is read by the shell without complaint', (shell, { skip }) => {
    const { error, status, stderr } = spawnSync(shell, ['-n', fileOf(shell)], { encoding: 'utf8' });
    skip(error !== undefined, `${shell} is not installed`);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });
});

/** What bash offers for the last word, with this program as `cadre`. */
function offers(words: readonly string[], { cwd = '.', cadre = 'exit 6' } = {}): string[] {
  using bin = tempDirectory('completions');
  fs.writeFileSync(path.join(bin.path, 'cadre'), `#!/bin/sh\n${cadre}\n`, { mode: 0o755 });
  const drive = `
    source "$1" && complete -p cadre >/dev/null || exit
    shift
    COMP_WORDS=(cadre "$@") COMP_CWORD=$#
    _cadre
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { status, stdout, stderr } = spawnSync(
    'bash',
    ['--norc', '--noprofile', '-c', drive, 'bash', fileOf('bash'), ...words],
    { cwd, encoding: 'utf8', env: { ...process.env, PATH: `${bin.path}:${process.env.PATH}` } },
  );
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return stdout.split('\n').filter((line) => line !== '');
}

describe('in bash', () => {
  it('offers the commands, but none that is hidden', () => {
    const nouns = offers(['']);
    expect(nouns).toEqual(expect.arrayContaining(['serve', 'run', 'sessions', 'completion']));
    expect(nouns).not.toContain('demo-agent');
    expect(offers(['sess'])).toEqual(['sessions']);
    expect(offers(['sessions', ''])).toEqual(expect.arrayContaining(['list', 'get', 'send']));
  });

  it('offers the options of the command and of the program', () => {
    expect(offers(['sessions', 'list', '--st'])).toEqual(['--status']);
    const flags = offers(['sessions', 'list', '-']);
    expect(flags).toEqual(expect.arrayContaining(['--limit', '--url', '--json', '-h', '--help']));
    expect(flags).toHaveLength(new Set(flags).size);
    expect(flags).not.toContain('--metadata');
  });

  it('offers the choices of an option and of an argument', () => {
    const statuses = ['ready', 'running', 'waiting_for_approval', 'closed', 'failed'];
    expect(offers(['sessions', 'list', '--status', ''])).toEqual(statuses);
    // bash cuts at the =.
    expect(offers(['sessions', 'list', '--status', '='])).toEqual(statuses);
    expect(offers(['sessions', 'list', '--status', '=', 'ru'])).toEqual(['running']);
    expect(offers(['completion', ''])).toEqual([...shells]);
  });

  it('offers directories where one is wanted, and files where one is', () => {
    using place = tempDirectory('completions');
    fs.mkdirSync(path.join(place.path, 'a directory'));
    fs.writeFileSync(path.join(place.path, 'a file'), '');
    const { path: cwd } = place;
    expect(offers(['--data-dir', ''], { cwd })).toEqual(['a directory']);
    expect(offers(['--token-file', 'a f'], { cwd })).toEqual(['a file']);
    expect(offers(['run', ''], { cwd })).toEqual([]);
  });

  it('takes the value of an option for a value, not for a command', () => {
    expect(offers(['--url', 'sessions', 'ser'])).toEqual(['serve']);
    expect(offers(['sessions', '--json', 'li'])).toEqual(['list']);
  });

  it('offers the ids of sessions, as the running server lists them', () => {
    const rows = ['12345678', '12ab34cd', '$(exit)'].map((id) => [id, 'acp', 'a title']);
    const text = table(['ID', 'PROVIDER', 'TITLE'], rows);
    const cadre = `[ "$*" = "sessions list --limit 50" ] && cat <<'END'\n${text}END`;
    expect(offers(['sessions', 'get', ''], { cadre })).toEqual(['12345678', '12ab34cd']);
    expect(offers(['sessions', 'send', '12a'], { cadre })).toEqual(['12ab34cd']);
    expect(offers(['events', 'tail', '--session', '123'], { cadre })).toEqual(['12345678']);
    expect(offers(['sessions', 'get', '12345678', ''], { cadre })).toEqual([]);
  });

  it('offers no ids, and says nothing, where no server runs', () => {
    const cadre = 'echo "cadre: no server is running" >&2; exit 6';
    expect(offers(['sessions', 'get', ''], { cadre })).toEqual([]);
  });
});
