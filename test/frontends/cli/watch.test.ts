import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { cadreOn } from '../../support/cli/cadre.ts';
import { sharedDemo } from '../../support/demo-server.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { testDirectory } from '../../support/temp.ts';

const server = sharedDemo();

async function inSession() {
  const cadre = cadreOn(server());
  const opened = await cadre(['sessions', 'create'], { cwd: testDirectory('watch') });
  const session = opened.stdout.trim();
  const run = async (...words: string[]) => {
    const { code, stdout, stderr } = await cadre(['sessions', 'watch', ...words]);
    return { code, text: stdout + stderr };
  };
  return { cadre, session, run };
}

test('The watch of a session is started, shown, listed and stopped.', async () => {
  const { session, run } = await inSession();
  expect(await run(session)).toEqual({
    code: 3,
    text: expect.stringMatching(
      `^cadre: session "${session}" has no watch: start one with cadre sessions watch --data-dir \\S+\n$`,
    ),
  });
  expect(await run()).toEqual({ code: 0, text: 'no watches\n' });
  const words = ['--every', '2h', '--max-turns', '3', '--', 'printf', 'a b'];
  const started = await run(session, ...words);
  expect(started).toEqual({ code: 0, text: "every 2h (0 changes): printf 'a b'\n" });
  expect((await run()).text).toContain(session.slice(-8));
  const again = await run(session, 'true');
  expect([again.code, again.text]).toEqual([7, expect.stringContaining('--stop')]);
  expect((await run(session)).text).toMatch(/^every 2h \(0 changes(, check is running)?\): printf/);
  const stopped = { code: 0, text: expect.stringMatching(/^ended, because the watch was stopped/) };
  expect(await run(session, '--stop')).toEqual(stopped);
  expect(await run(session)).toEqual(stopped);
  expect(await run()).toEqual({ code: 0, text: 'no watches\n' });
});

test('With --now, the first output becomes a turn of the session.', async () => {
  const { cadre, session, run } = await inSession();
  expect((await run(session, '--now', 'echo "say build 1 passed"')).code).toBe(0);
  const params = { session_id: session };
  const turns = () => server().client.call(endpoints.listTurns, { params, query: {} });
  await expectEventually(async () => (await turns())[0]?.status).toBe('completed');
  const shown = await cadre(['sessions', 'show', session]);
  expect(shown.stdout).toContain('Changed output');
  expect(shown.stdout).toContain('build 1 passed');
  await run(session, '--stop');
});

test.for([
  [['--stop'], '--stop requires a session'],
  [['x', 'true', '--stop'], 'pass either a command or --stop'],
  [['x', '--every', '60s'], '--every, --max-turns and --now require a command to watch'],
  [['x', '--every', 'soon', 'true'], 'invalid --every "soon"'],
] as const)('The words %j are refused.', async ([words, message]) => {
  const { run } = await inSession();
  expect(await run(...words)).toEqual({ code: 2, text: expect.stringContaining(message) });
});

test('A watch that checks too often is refused with the name of the option.', async () => {
  const { session, run } = await inSession();
  const refused = await run(session, 'true', '--every', '10s');
  expect([refused.code, refused.text]).toEqual([2, expect.stringContaining('--every')]);
});
