import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { sharedDemo, testDemo } from '../../support/demo-server.ts';
import { endpoints } from '../../../src/api/index.ts';
import { atLength } from '../../support/at-length.ts';
import { cadreOn, shell, type Running, startCadre } from '../../support/cli/cadre.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { testDirectory } from '../../support/temp.ts';

const demo = sharedDemo();

test('A run streams messages to stdout and tools to stderr, and ends with 0.', async () => {
  const server = demo();
  const script =
    'think about it; say first words; tool read README.md => 12 lines; say Zoë’s second 💥';
  const ran = await cadreOn(server)(['run', script]);
  expect(ran).toMatchObject({
    code: 0,
    stdout: 'first words\nZoë’s second 💥\n',
    stderr: '[started] read README.md\n[done] read README.md\n',
  });
});

test('A run shows each word when it arrives.', async () => {
  const server = demo();
  const run = await silentRun(server);
  run.child.kill('SIGTERM');
  expect((await run.ended).code).toBe(143);
});

test('A permission mode that neither cadre nor the agent has is refused before a session is stored.', async () => {
  const server = demo();
  const sessions = async () => (await server.client.call(endpoints.listSessions, {})).length;
  const before = await sessions();
  for (const command of [['run'], ['sessions', 'create']]) {
    const text = command[0] === 'run' ? ['say a'] : [];
    const ran = await cadreOn(server)([...command, '--permission-mode', 'nope', ...text]);
    expect(ran).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /^cadre: unknown permission mode "nope": choose from default, .* --agent-mode \(/,
      ),
    });
  }
  expect(await sessions()).toBe(before);
  const ran = await cadreOn(server)(['run', '--permission-mode', 'full-access', 'say a']);
  expect(ran).toMatchObject({ code: 0, stdout: 'a\n' });
});

test('A run whose prompt or goal is refused leaves no open session.', async () => {
  const server = demo();
  const query = { status: 'ready' as const };
  const sessions = async () => (await server.client.call(endpoints.listSessions, { query })).length;
  const before = await sessions();
  for (const options of [
    ['--image', '/nonexistent.png'],
    ['--until', 'true', '--max', '0'],
  ]) {
    const ran = await cadreOn(server)(['run', ...options, 'say a']);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
  }
  expect(await sessions()).toBe(before);
});

test('A run reads its prompt from stdin with -.', async () => {
  const server = demo();
  const ran = await cadreOn(server)(['run', '-'], { stdin: 'say from stdin\nsay and more\n' });
  expect(ran).toMatchObject({ code: 0, stdout: 'from stdin\nand more\n', stderr: '' });
});

test('A run ends with 1 and a line on stderr if the turn fails, and with 5 if a permission is missing.', async () => {
  const server = demo();
  const says = {
    'fail out of luck': /^cadre: the turn failed: .*out of luck/,
    'crash 3': /^cadre: the turn failed: .*exited with code 3/,
    'ask to delete everything':
      /^\[started\] to delete everything\n\[failed\] to delete everything\ncadre: the turn failed: the agent requested permission: to delete everything: pass --permission-mode require_approval, or /,
  };
  for (const [script, why] of Object.entries(says)) {
    const ran = await cadreOn(server)(['run', script]);
    expect(ran.stderr).toMatch(why);
    expect(ran.stderr.endsWith('\n')).toBe(true);
    // 5 means that a permission was missing.
    expect([ran.code, ran.stdout]).toEqual([script.startsWith('ask') ? 5 : 1, '']);
  }
});

test('A run ends with 1 and the remedy if the agent cannot be started.', async () => {
  const server = demo();
  const ran = await cadreOn(server)(['run', 'hello']);
  expect(ran.code).toBe(0);
  const codex = await cadreOn(server)(['run', '--provider', 'codex', 'hello']);
  expect(codex).toMatchObject({ code: 1, stdout: '' });
  expect(codex.stderr).toMatch(
    /^cadre: codex: command "codex" not found on PATH: .*set providers.codex.command/,
  );
});

test('A run with --json prints each event of the turn as a line, and a failed turn ends with 1.', async () => {
  const server = demo();
  const ran = await cadreOn(server)(['--json', 'run', 'say hi']);
  const kinds = ran.lines().map(({ kind }) => kind);
  expect(kinds[0]).toBe('turn.accepted');
  expect(kinds).toContain('message.completed');
  expect(kinds.at(-1)).toBe('turn.completed');
  expect(new Set(ran.lines().map(({ turn_id }) => turn_id)).size).toBe(1);
  expect(ran.stderr).toBe('');
  const failed = await cadreOn(server)(['--json', 'run', 'fail no']);
  expect([failed.code, failed.stderr]).toEqual([1, '']);
  expect(failed.lines().at(-1)).toMatchObject({ kind: 'turn.failed' });
});

test('A failed turn shows its reason in the list of sessions, its details and its conversation.', async () => {
  const server = demo();
  const cadre = cadreOn(server);
  await cadre(['run', '--title', 'job', 'say first; fail boom']);
  expect((await cadre(['sessions', 'list'])).stdout).toMatch(
    /ready, turn failed\t.*\tjob\tfailed: .*boom/,
  );
  expect((await cadre(['top'])).stdout).toMatch(/ready, turn failed .* job /);
  expect((await cadre(['sessions', 'get', 'job'])).stdout).toMatch(
    /last_turn_status +failed\nlast_turn_error\n[^]*boom/,
  );
  expect((await cadre(['sessions', 'show', 'job'])).stdout).toMatch(/Turn failed: .*boom/);
  await cadre(['run', '--session', 'job', 'say better']);
  expect((await cadre(['sessions', 'list'])).stdout).toMatch(/ready\t\S+\tjob\tbetter/);
});

test('A run prints no control characters, whatever the agent sends.', async () => {
  const server = demo();
  // The backslashes are needed because a semicolon separates commands of the script.
  const evil = '\u001b]52\\;c\\;aGk=\u0007\u001b[2Jred\u009b31m';
  const ran = await cadreOn(server)(['run', '-'], {
    stdin: `say a${evil}z\ntool t${evil} => x`,
  });
  expect(ran.stdout).toContain('red');
  expect(ran.stdout + ran.stderr).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
});

test('A run prints a long answer completely and once.', async () => {
  const server = demo();
  const parts = atLength(600, 3000, 3000);
  const ran = await cadreOn(server)(['run', `flood ${parts} 200`]);
  const said = Array.from({ length: parts }, (_, i) => `${i} `.padEnd(200, '.')).join('');
  expect(ran.stdout).toBe(`${said}\n`);
});

test('A run ends with 130 on SIGINT, and the turn is interrupted.', async () => {
  const server = demo();
  const run = await silentRun(server);
  run.child.kill('SIGINT');
  expect((await run.ended).code).toBe(130);
  const [session] = await server.client.call(endpoints.listSessions, {});
  expect(session?.status).toBe('ready');
});

test('A run that was interrupted before its turn was sent interrupts the turn.', async () => {
  const server = await testDemo();
  const interrupted = AbortSignal.abort(130);
  const ran = await cadreOn(server)(['run', 'say soon; silent'], { interrupted });
  expect(ran.code).toBe(130);
  const [session] = await server.client.call(endpoints.listSessions, {});
  expect(session).toMatchObject({ status: 'ready', last_turn_status: 'interrupted' });
});

const piped = async ({ directory }: { directory: string }, line: string) => {
  const ended = await shell(
    directory,
    `set -o pipefail; cadre --data-dir '${directory}' ${line}; echo "codes \${PIPESTATUS[*]}"`,
  );
  return { ...ended, codes: /codes ([\d ]+)\n$/.exec(ended.stdout)?.[1] };
};

test('A closed pipe ends run and events tail quietly with 0.', async () => {
  const server = await testDemo();
  // The output is larger than a pipe buffer.
  const parts = atLength(1000, 4000, 4000);
  const ran = await piped(server, `run 'flood ${parts} 200' | head -c 2`);
  expect([ran.codes, ran.stderr]).toEqual(['0 0', '']);
  const tail = await piped(server, '--json events tail --no-follow | head -1');
  expect([tail.codes, tail.stderr]).toEqual(['0 0', '']);
  expect(JSON.parse(tail.stdout.split('\n')[0] ?? '')).toMatchObject({
    seq: 1,
    kind: 'runtime.started',
  });
  const follow = await piped(server, '--json events tail | head -1');
  expect([follow.codes, follow.stderr]).toEqual(['0 0', '']);
});

/** Starts a run that shows a word, after which its agent is silent. */
async function silentRun({ directory }: { directory: string }): Promise<Running> {
  const run = startCadre(directory, ['--data-dir', directory, 'run', 'say soon; silent']);
  await expectEventually(run.stdout).toContain('soon');
  return run;
}

test('A relative --cwd is a directory below the current directory, not below the one of the server.', async () => {
  const server = demo();
  const here = testDirectory('here');
  fs.mkdirSync(path.join(here, 'sub'));
  const created = await cadreOn(server)(['sessions', 'create', '--cwd', 'sub', '--json'], {
    cwd: here,
  });
  expect(created.json()).toMatchObject({ cwd: path.join(here, 'sub') });
});
