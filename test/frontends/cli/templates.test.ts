import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { completeHere, startCadre } from '../../support/cli/cadre.ts';
import { withInProcessDemoAgent } from '../../support/demo-agent/in-process.ts';
import { demoConfig, sharedDemo } from '../../support/demo-server.ts';
import { type TestRuntime, withRuntime } from '../../support/runtime.ts';
import { openForTest } from '../../support/shared.ts';
import { testDirectory } from '../../support/temp.ts';
import { hasPty, runInTerminal } from '../../support/tui/pty.ts';
import { commit, git, write } from '../../support/worktrees/work.ts';
import { FIX, idsOf, templateRepository } from './template-repository.ts';

const server = sharedDemo();
const repositoryWith = (templates: Record<string, string>, on = server()) =>
  templateRepository(on, templates);

describe('a trusted template', () => {
  test('A template runs with its variables and defaults, in a session with its settings.', async () => {
    const { cadre, trust, session } = repositoryWith({ fix: FIX });
    await trust('fix');
    const ran = await cadre(['run', '--template', 'fix', 'issue=42 {{base}}']);
    expect([ran.code, ran.stdout]).toEqual([0, 'Issue 42 {{base}} on main, not {{ base.ref }}\n']);
    const json = await cadre(['--json', 'run', '--template', 'fix', 'issue=7', 'base=next']);
    expect(json.code).toBe(0);
    expect(await session(idsOf(json).session_id)).toMatchObject({ title: 'fix 7' });
  });

  test('Options of the command line win over the options of a template.', async () => {
    const { cadre, trust, session } = repositoryWith({
      fix: FIX.replace('title', 'until = "test -f done"\nmax = 2\nmodel = "none"\ntitle'),
    });
    await trust('fix');
    const words = ['run', '--template', 'fix', 'issue=1', '--title', 'mine', '--provider', 'acp'];
    const ran = await cadre(['--json', ...words, '--max', '1']);
    expect(ran.code).toBe(9);
    expect(await session(idsOf(ran).session_id)).toMatchObject({ title: 'mine', model: null });
    expect(ran.lines().at(-1)).toMatchObject({ payload: { goal: { round: 1, max_rounds: 1 } } });
    const other = await cadre([...words, '--until', 'true']);
    expect(other.stderr).toContain('cadre: check passed (1 of 5): true\n');
  });

  test('A template works in the named worktree of its variables, with the strictest sandbox settings.', async () => {
    const { cadre, trust, shown } = repositoryWith({
      fix: FIX.replace(
        'title',
        'worktree = "fix-{{issue}}"\nsandbox = "require"\nnetwork = "none"\ntitle',
      ),
    });
    await trust('fix');
    expect(await shown('fix')).toMatchObject({
      trusted: true,
      template: { sandbox: 'require', network: 'none', worktree: 'fix-{{issue}}' },
    });
    const words = ['--json', 'run', '--template', 'fix', 'issue=3', '--sandbox', 'off'];
    const ran = await cadre(words);
    expect(ran.code).toBe(0);
    expect((await cadre(['worktrees', 'list'])).stdout).toContain('fix-3');
  });

  test.for([
    ['read_only', 'accept_edits', 'read_only', ''],
    ['full_access', 'require_approval', 'require_approval', 'pass --permission-mode full_access'],
    ['require_approval', undefined, 'require_approval', ''],
    ['accept_edits', undefined, null, 'the permission mode is not set'],
  ] as const)(
    'A template with %s, used under %s, gives the mode %s.',
    async ([own, usual, mode, note]) => {
      const { cadre, trust, session } = repositoryWith({
        fix: FIX.replace('title', `permission_mode = "${own}"\ntitle`),
      });
      await trust('fix');
      const env = { CADRE_DEFAULTS_PERMISSION_MODE: usual };
      const ran = await cadre(['--json', 'run', '--template', 'fix', 'issue=1'], { env });
      expect(await session(idsOf(ran).session_id)).toMatchObject({ permission_mode: mode });
      expect(ran.stderr).toContain(note);
    },
  );

  test('The permission mode of the command line wins over a stricter one of a template.', async () => {
    const { cadre, trust, session } = repositoryWith({
      fix: FIX.replace('title', 'permission_mode = "read_only"\ntitle'),
    });
    await trust('fix');
    const words = ['--permission-mode', 'accept_edits', '--template', 'fix', 'issue=1'];
    const ran = await cadre(['--json', 'run', ...words]);
    expect(await session(idsOf(ran).session_id)).toMatchObject({ permission_mode: 'accept_edits' });
  });
});

describe('a template that is refused', () => {
  test('A template is refused without a terminal until its content is trusted, and again after each change.', async () => {
    const { cadre, put, repo } = repositoryWith({ fix: FIX });
    const run = () => cadre(['run', '--template', 'fix', 'issue=1']);
    const consent = async () => {
      const refused = await run();
      expect([refused.code, refused.stdout]).toEqual([2, '']);
      const [, command = ''] = /cadre (worktrees trust .*)\n$/.exec(refused.stderr) ?? [];
      expect(command).toContain(`--repo ${repo} --sha256 `);
      expect((await cadre(command.split(' '))).code).toBe(0);
      expect((await run()).code).toBe(0);
    };
    await consent();
    put({ fix: `${FIX}\n` });
    await consent();
    await cadre(['worktrees', 'untrust', '--repo', repo]);
    expect((await run()).code).toBe(2);
  });

  test('The consent to a template does not allow an init script with the same bytes.', async () => {
    const { cadre, trust, repo } = repositoryWith({ fix: FIX });
    await trust('fix');
    write(repo, { '.cadre/worktree-init.sh': FIX });
    commit(repo, 'with a script');
    const listed = await server().client.call(endpoints.lookAtBrought, {
      body: { repo_root: repo },
    });
    expect(listed.brings).toMatchObject([{ kind: 'init_script', trusted: false }]);
    expect((await cadre(['templates', 'list'])).stdout).toMatch(/^fix\tyes\t/m);
  });

  test.for([
    [[], 'template "fix" needs a value for issue: pass issue=VALUE'],
    [['issue=1', 'port=2'], 'template "fix" has no variable "port" (variables: issue, base)'],
    [['issue=1', 'more'], '"more" is not a variable of template "fix": pass NAME=VALUE'],
    [['issue=1', '-c'], '--template applies only to a new session'],
    [['issue=1', '--session', 'x'], '--template applies only to a new session'],
  ] as const)('The words %j are refused.', async ([words, message]) => {
    const { cadre, trust } = repositoryWith({ fix: FIX });
    await trust('fix');
    const ran = await cadre(['run', '--template', 'fix', ...words]);
    expect([ran.code, ran.stdout]).toEqual([2, '']);
    expect(ran.stderr).toContain(message);
  });

  test.for([
    ['prompt = "say {{name}}"', 'uses the variable "name" in prompt: declare it'],
    ['prompt = "a"\nteam = "{{name}}"', 'uses the variable "name" in team: declare it'],
    ['prompt = "a"\nteam = ""', 'team'],
    ['prompt = "a"\nuntil = "x {{name}}"\n[variables.name]', 'has a variable in until'],
    ['prompt = "a"\nmax = 3', 'has max without until'],
    ['prompt = "a"\nagent_mode = "yolo"', 'agent_mode'],
    ['prompt = "a"\nsandbox = "off"', 'sandbox'],
    ['prompt = "a"\nnetwork = "all"', 'network'],
    ['prompt = "a"\npermission_mode = "bypassPermissions"', 'permission_mode'],
    ['prompt = "a"\nuntil = "b"\nwithin = "soon"', 'expected a duration such as 90s'],
    ['prompt = ', 'template "bad":1'],
    ['title = "no prompt"', 'prompt'],
    ['prompt = "a"\n"x\\u001b[2Jy" = 1', 'Unrecognized key: "xy"'],
  ] as const)('The template %j is refused and listed with the reason.', async ([text, reason]) => {
    const { cadre } = repositoryWith({ bad: text });
    const ran = await cadre(['run', '--template', 'bad']);
    expect(ran.code).not.toBe(0);
    expect(ran.stderr).toContain(reason);
    expect((await cadre(['templates', 'list'])).stdout).toContain(reason);
  });

  test('Only small regular files with plain names in the commit at HEAD are templates.', async () => {
    const { cadre, repo } = repositoryWith({ fix: FIX, 'bad name': FIX, '.hidden': FIX });
    const outside = path.join(testDirectory('outside'), 'secret.toml');
    fs.writeFileSync(outside, FIX);
    fs.symlinkSync(outside, path.join(repo, '.cadre/templates/link.toml'));
    write(repo, { '.cadre/templates/large.toml': `${FIX}# ${'x'.repeat(64 * 1024)}` });
    write(repo, { '.cadre/templates/below/deep.toml': FIX });
    commit(repo, 'with other files');
    write(repo, { '.cadre/templates/new.toml': FIX });
    const listed = await cadre(['templates', 'list', '--json']);
    expect((listed.json() as { name: string }[]).map(({ name }) => name)).toEqual(['fix']);
    for (const name of ['link', 'large', 'new', 'deep'])
      expect(await cadre(['templates', 'show', name])).toMatchObject({
        code: 3,
        stderr: expect.stringContaining(`template "${name}" not found: commit .cadre/templates/`),
      });
    expect(await cadre(['run', '--template', '../fix'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('invalid template name "../fix"'),
    });
  });

  test('A directory without a repository, and a repository without templates or commits, have no templates.', async () => {
    const cwd = testDirectory('none');
    const { cadre } = repositoryWith({});
    expect((await cadre(['templates', 'list'])).stdout).toBe('');
    expect((await cadre(['templates', 'list'], { isTerminal: true })).stderr).toBe(
      'cadre: no templates: commit a file .cadre/templates/NAME.toml\n',
    );
    expect((await cadre(['templates', 'list'], { cwd })).stderr).toContain('git repository');
    git(cwd, 'init', '--quiet');
    expect((await cadre(['templates', 'list'], { cwd })).code).toBe(0);
  });
});

test('cadre templates show prints the whole template and the filled prompt.', async () => {
  const { cadre, shown } = repositoryWith({ fix: FIX.replace('Fix an', 'Fix \u202Ean') });
  const { stdout, code } = await cadre(['templates', 'show', 'fix', 'issue=5']);
  expect(code).toBe(0);
  expect(stdout).toContain('  | description = "Fix <U+202E>an issue"\n');
  expect(stdout).toContain('Prompt:\n  | say Issue 5 on main, not {{ base.ref }}\n');
  expect(stdout).toContain('issue (Number of the issue), base=main');
  expect(await shown('fix')).toMatchObject({ name: 'fix', trusted: false, problem: null });
});

test('The names of templates are completed, also below the directory of the repository.', async () => {
  const { repo } = repositoryWith({ fix: FIX });
  const complete = async (words: string[], cwd: string) =>
    (await completeHere(server().directory, [...words, ''], cwd)).stdout;
  expect(await complete(['run', '--template'], path.join(repo, 'sub'))).toBe('fix\n');
  expect(await complete(['templates', 'show'], repo)).toBe('fix\n');
  expect(await complete(['templates', 'show', '--repo', repo], '/')).toBe('fix\n');
  expect(await complete(['templates', 'show'], testDirectory('none'))).toBe('');
});

describe('a key', () => {
  test('The same key gives the same session, goal and turn, and a failed goal is reported again.', async () => {
    const { cadre, trust } = repositoryWith({
      fix: FIX.replace('title', 'until = "false"\nmax = 1\ntitle'),
    });
    await trust('fix');
    const run = () => cadre(['--json', 'run', '--template', 'fix', 'issue=1', '--key', 'issue-1']);
    const first = await run();
    expect(first.code).toBe(9);
    const again = await run();
    expect(again.code).toBe(9);
    const turns = ({ lines }: typeof first) =>
      lines().flatMap(({ kind, turn_id, payload }) =>
        /^turn\.|^goal\.ended/.test(String(kind)) ? [[kind, turn_id, payload]] : [],
      );
    expect(turns(again)).toEqual(turns(first));
    const other = await cadre(['run', '--template', 'fix', 'issue=2', '--key', 'issue-1']);
    expect([other.code, other.stderr]).toEqual([7, expect.stringContaining('already used')]);
  });

  test('A key that no header can hold is refused.', async () => {
    const { cadre } = repositoryWith({});
    for (const key of ['', 'a b', 'ü', 'x'.repeat(201)])
      expect(await cadre(['run', '--key', key, 'say one'])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('expected 1 to 200 visible ASCII characters'),
      });
  });

  test('A key also repeats a turn of an earlier session.', async () => {
    const { cadre } = repositoryWith({});
    const { session_id } = idsOf(await cadre(['--json', 'run', 'say one']));
    const run = () =>
      cadre(['--json', 'run', '--session', String(session_id), '--key', 'two', 'say two']);
    const first = await run();
    expect(idsOf(await run())).toEqual(idsOf(first));
  });

  test('A repeated command with a goal shows only its own turns of an earlier session.', async () => {
    const { cadre } = repositoryWith({});
    const { session_id } = idsOf(await cadre(['--json', 'run', 'say one']));
    const words = ['run', '--session', String(session_id), '--key', 'goal', '--until', 'true'];
    const run = () => cadre([...words, 'say two']);
    const first = await run();
    expect([first.code, first.stdout]).toEqual([0, 'two\n']);
    expect(await run()).toMatchObject({ code: 0, stdout: 'two\n' });
  });

  test('A command that is killed between its session and its turn continues with the same session.', async () => {
    const directory = testDirectory('killed');
    let kill = (): void => undefined;
    const on = await openForTest<TestRuntime>((use) =>
      withInProcessDemoAgent(directory, (acp) =>
        withRuntime(use, {
          directory,
          config: demoConfig(0, acp),
          failpoint: (name) => void (name === 'commit.after' && kill()),
        }),
      ),
    );
    const { cadre, repo, trust } = repositoryWith({ fix: FIX }, on);
    await trust('fix');
    const words = ['run', '--template', 'fix', 'issue=1', '--key', 'issue-1'];
    const running = startCadre(directory, ['--data-dir', directory, ...words], { cwd: repo });
    kill = () => void running.child.kill('SIGKILL');
    expect((await running.ended).code).toBeNull();
    kill = () => undefined;
    const [session, ...more] = await on.client.call(endpoints.listSessions, {});
    expect([session?.title, session?.last_turn_id, more]).toEqual(['fix 1', null, []]);
    const again = await cadre(['--json', ...words]);
    expect([again.code, idsOf(again).session_id]).toEqual([0, session?.id]);
    expect(await on.client.call(endpoints.listSessions, {})).toHaveLength(1);
  });
});

describe.skipIf(!hasPty)('a template at a terminal', () => {
  test('A terminal shows a new template page by page with hidden characters, and asks once.', async () => {
    const long = `${FIX}# ${'a line of a comment\n# '.repeat(30)}the \u202Eend\n`;
    const { repo, shown } = repositoryWith({ fix: long });
    const { directory } = server();
    const args = ['run', '--cwd', repo, '--template', 'fix', 'issue=1'];
    {
      await using declined = runInTerminal(directory, args);
      await declined.expectShows('more lines:');
      declined.type('n');
      expect((await declined.ended).code).toBe(2);
    }
    expect(await shown('fix')).toMatchObject({ trusted: false });
    {
      await using terminal = runInTerminal(directory, args);
      await terminal.expectShows('is new or has changed:');
      await terminal.expectShows('more lines:');
      terminal.type(' ');
      await terminal.expectShows(/more lines:/);
      terminal.type(' ');
      await terminal.expectShows('  | # the <U+202E>end');
      await terminal.expectShows('use this content from now on?');
      terminal.type('y');
      await terminal.expectShows('Issue 1 on main');
      expect((await terminal.ended).code).toBe(0);
    }
    await using trusted = runInTerminal(directory, args);
    await trusted.expectShows('Issue 1 on main');
    expect((await trusted.ended).code).toBe(0);
  });
});
