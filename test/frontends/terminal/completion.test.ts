import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { sharedDemo } from '../../support/demo-server.ts';
import { endpoints } from '../../../src/api/index.ts';
import { selfCommand } from '../../../src/core/lib/self.ts';
import { runHere } from '../../support/cli/cadre.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { tempDirectory } from '../../support/temp.ts';
import { openSession, withSession } from '../../support/turns.ts';
import { hasPty, runProgramInTerminal } from '../../support/tui/pty.ts';

const { file, args } = selfCommand();

/** The set-up of each shell from `cadre completion --help`, an alias, and the number of tabs that list the words. */
const shells = {
  bash: {
    rc: '.bashrc',
    start: ['--noprofile', '-i'],
    setUp: (alias: string) =>
      `PS1='ready> '\n${alias}\nalias c=cadre\nsource <(cadre completion bash)\n`,
    tabs: '\t\t',
  },
  zsh: {
    rc: '.zshrc',
    start: ['-i'],
    setUp: (alias: string) =>
      `PS1='ready> '\nautoload -U compinit; compinit -u\n${alias}\nalias c=cadre\nsource <(cadre completion zsh)\n`,
    tabs: '\t',
  },
  fish: {
    rc: '.config/fish/config.fish',
    start: ['-i'],
    setUp: (alias: string) =>
      `function fish_prompt; echo -n 'ready> '; end\nset -U fish_greeting\n${alias}\nalias c=cadre\n` +
      'mkdir -p ~/.config/fish/completions; cadre completion fish > ~/.config/fish/completions/cadre.fish\n',
    tabs: '\t',
  },
} as const;

describe.skipIf(!hasPty)('the completion of ids under an alias', () => {
  const server = sharedDemo();
  let processId = '';

  beforeAll(async () => {
    const { client, directory, id } = await withSession(server(), { title: 'a long job' });
    // A shell first completes a common start of all ids, so the ids need different starts.
    for (let other = id; other.at(-8) === id.at(-8);)
      ({ id: other } = await openSession(client, directory, { title: 'a short one' }));
    const body = { command: 'sleep 1000', cwd: directory };
    const { process } = await client.call(endpoints.createProcess, { body });
    processId = process.process_id;
  });

  test.for(Object.entries(shells))(
    'Ids of every kind complete in %s.',
    async ([shell, { rc, start, setUp, tabs }], { skip }) => {
      const found = spawnSync('sh', ['-c', `command -v ${shell}`], { encoding: 'utf8' });
      skip(found.status !== 0, `${shell} is not installed`);
      using home = tempDirectory('completion');
      const command = [file, ...args, '--data-dir', server().directory].join(' ');
      fs.mkdirSync(path.dirname(path.join(home.path, rc)), { recursive: true });
      fs.writeFileSync(path.join(home.path, rc), setUp(`alias cadre="${command}"`));
      await using terminal = runProgramInTerminal(
        home.path,
        [found.stdout.trim(), ...start],
        { TMPDIR: home.path },
        {
          rows: 40,
          columns: 120,
        },
      );
      /** Types a text and expects new output. */
      let seen = 0;
      const type = async (text: string, ...wanted: readonly RegExp[]) => {
        terminal.type(text);
        const since = () => stripVTControlCharacters(terminal.emulator.written.slice(seen));
        for (const one of wanted) await expectEventually(since).toMatch(one);
        seen = terminal.emulator.written.length;
      };
      await type('', /ready> /);

      // The noun, the verb, the option and its value are completed one after the other.
      await type('cadre sess\tlis\t--stat\trea\t\r', /ID +PROVIDER/, /a long job[^]*ready> /);
      // The only process id is completed; several session ids are listed with title and state.
      await type('cadre processes sho\t\t\r', new RegExp(`process_id +${processId}`), /ready> /);
      await type(`cadre sessions get ${tabs}`, /ready +a long job/, /ready +a short one/);
      await type('\u0015');
      // Another alias for the alias.
      await type('c stat\t\r', /uptime +/, /ready> /);
    },
  );

  test('The ids complete under another name, for which the script was made.', async () => {
    using home = tempDirectory('completion');
    const named = await runHere(home.path, ['completion', 'bash', '--name', 'mate']);
    expect(named.stdout).toMatch(/^complete -F _cadre mate$/m);
    const wrong = await runHere(home.path, ['completion', 'bash', '--name', '$(rm x)']);
    expect(wrong).toMatchObject({ code: 2, stdout: '' });
  });
});
