import { expect, test } from 'vitest';
import { cadreOn, runCadre, runHere } from '../../support/cli/cadre.ts';
import { sharedDemo } from '../../support/demo-server.ts';
import { tempDirectory } from '../../support/temp.ts';
import { runTurn, withSession } from '../../support/turns.ts';

/** The error that a command printed as JSON on stderr. */
function errorsOf(stderr: string): { code: string; message: string }[] {
  const lines = stderr.trim().split('\n');
  return lines.map(
    (line) => (JSON.parse(line) as { error: { code: string; message: string } }).error,
  );
}

const server = sharedDemo();

/** Filters the stored events of a session. */
const filtered = (id: string, expression: string) =>
  cadreOn(server())(['events', 'tail', '--no-follow', '--session', id, '--jq', expression]);

test('The expression filters the JSON of a command, and a text is printed without its quotes.', async () => {
  const { id } = await withSession(server());
  const cadre = cadreOn(server());
  const { code, stdout, stderr } = await cadre(['sessions', 'get', id, '--jq', '.id, .status']);
  expect([code, stdout, stderr]).toEqual([0, `${id}\nready\n`, '']);
  const object = await cadre(['sessions', 'get', id, '--jq', '{id, n: [1, null]}']);
  expect(object.stdout).toBe(`{"id":"${id}","n":[1,null]}\n`);
});

test('The expression stands before the command, too, and behind an equals sign.', async () => {
  using home = tempDirectory();
  for (const args of [
    ['--jq', '.name', 'version'],
    ['version', '--jq=.name'],
  ])
    expect((await runHere(home.path, args)).stdout).toBe('cadre\n');
});

test('The built program filters, too, also a command that the bundle of clients lacks.', async () => {
  using home = tempDirectory();
  const { code, stdout } = await runCadre(home.path, ['version', '--jq', '.name']);
  expect([code, stdout]).toEqual([0, 'cadre\n']);
  const wrong = await runCadre(home.path, ['sessions', 'list', '--jq', '.[']);
  expect(wrong.code).toBe(2);
  expect(errorsOf(wrong.stderr)[0]?.message).toMatch(/^invalid --jq expression at line 1, /);
});

test('A stream of events is filtered one by one, and events without a result print nothing.', async () => {
  const { client, id } = await withSession(server());
  await runTurn(client, id, 'say hello');
  const { code, stdout } = await filtered(id, 'select(.kind | startswith("turn.")) | .kind');
  expect([code, stdout]).toEqual([0, 'turn.accepted\nturn.started\nturn.completed\n']);
});

test('An expression that does not compile ends with 2 and its position, before a server is asked.', async () => {
  using home = tempDirectory();
  for (const [expression, message] of [
    ['.a |', 'invalid --jq expression at line 1, column 4: syntax error, unexpected end of file'],
    ['.a\n| foo', 'invalid --jq expression at line 2, column 3: foo/0 is not defined'],
    ['-foo', 'invalid --jq expression at line 1, column 2: foo/0 is not defined'],
    ['', 'invalid --jq expression: Top-level program not given (try ".")'],
  ] as const) {
    const { code, stdout, stderr } = await runHere(home.path, ['status', '--jq', expression]);
    expect([code, stdout]).toEqual([2, '']);
    expect(errorsOf(stderr)).toMatchObject([{ code: 'usage', message }]);
  }
});

test('An expression that fails for some documents says so, filters the others, and ends with 2.', async () => {
  const { id } = await withSession(server());
  const { code, stdout, stderr } = await filtered(
    id,
    'if .kind == "session.created" then error("no") else .kind end',
  );
  expect(code).toBe(2);
  expect(stdout).not.toContain('session.created');
  expect(errorsOf(stderr)).toMatchObject([
    { code: 'usage', message: 'the --jq expression failed: no' },
  ]);
});

test('A command that fails prints its error as JSON and keeps its exit code.', async () => {
  const { code, stdout, stderr } = await cadreOn(server())([
    'sessions',
    'get',
    'nothing',
    '--jq',
    '.',
  ]);
  expect([code, stdout]).toEqual([3, '']);
  expect(errorsOf(stderr)).toMatchObject([{ code: 'not_found' }]);
});

test('On a terminal, a text that was escaped in the JSON cannot reach the terminal.', async () => {
  const { client, id } = await withSession(server());
  await runTurn(client, id, 'say a\u001b[31mb');
  const { stdout } = await cadreOn(server())(
    ['sessions', 'get', id, '--jq', '"\\u001b[31m" + .id'],
    { columns: 80 },
  );
  expect(stdout).toBe(`\\u001b[31m${id}\n`);
});
