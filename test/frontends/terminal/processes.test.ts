import { expect, test } from 'vitest';
import { sharedDemo } from '../../support/demo-server.ts';
import { endpoints } from '../../../src/api/index.ts';
import type { Process } from '../../../src/api/processes.ts';
import { cadreOn, startCadre } from '../../support/cli/cadre.ts';
import { ended, printed, run } from '../../support/processes/work.ts';
import { hasPty, runInTerminal } from '../../support/tui/pty.ts';

const server = sharedDemo();

const start = (...args: string[]) =>
  startCadre(server().directory, ['--data-dir', server().directory, 'processes', ...args]);

test('The command processes run sets no time limit by default, and prints a given limit.', async () => {
  const cadre = cadreOn(server());
  const free = await cadre(['processes', 'run', 'true', '--json']);
  expect(free.json()).toMatchObject({ timeout_ms: 0 });
  expect(free.stderr).toBe('');
  const limited = await cadre(['processes', 'run', '--timeout', '1h30m', 'true']);
  const id = limited.stdout.trim();
  expect(limited.stderr).toBe(`cadre: ${id} is stopped after 1h 30m if it is still running\n`);
  const shown = await cadre(['processes', 'show', id]);
  expect(shown.stdout).toMatch(/^time_limit +1h 30m$/m);
  const { process_id } = free.json() as Process;
  expect((await cadre(['processes', 'show', process_id])).stdout).toMatch(/^time_limit +none$/m);
});

test('cadre processes run --follow passes its input to the process, and the end of the input.', async () => {
  const cadre = cadreOn(server());
  const command = ['processes', 'run', '--follow', 'tr a-z A-Z; exit 3'];
  const long = `${'word '.repeat(50_000)}\n`;
  const { stdout, code } = await cadre(command, { stdin: `é hello\n${long}` });
  expect([stdout, code]).toEqual([`é HELLO\n${long.toUpperCase()}`, 3]);
});

test('cadre processes run --follow ends with its process, even if its input stays open.', async () => {
  const { child, until, ended: end } = start('run', '--follow', 'echo up; sleep 0.1');
  child.stdin?.destroy();
  await until('up');
  expect((await end).code).toBe(0);
});

test('cadre processes run --follow says that the process continues if the reader of its output leaves.', async () => {
  const {
    child,
    until,
    ended: end,
  } = start('run', '--follow', 'while echo more; do sleep 0.05; done');
  await until('more');
  child.stdout?.destroy();
  const { code, stderr } = await end;
  expect(code).toBe(141);
  const [, id] =
    /^cadre: (proc_\w+) continues: stop it with cadre processes stop \1$/m.exec(stderr) ?? [];
  expect((await cadreOn(server())(['processes', 'stop', id ?? ''])).code).toBe(0);
});

test.skipIf(!hasPty)(
  'cadre processes run --follow on a terminal passes typed text and ^D to the process.',
  async () => {
    const { directory } = server();
    const command = 'while read line; do echo "got $line"; done; echo over';
    await using terminal = runInTerminal(directory, ['processes', 'run', '--follow', command]);
    await terminal.type('first\r').shows('got first');
    await terminal.type('second\r').shows('got second');
    await terminal.type('\u0004').shows('over');
    expect(await terminal.ended).toEqual({ code: 0, terminal: 'as it was' });
  },
);

const counting = 'seq 100; echo ready; seq 1000 1005 >&2; sleep 1000';
const begun = async () => {
  const process = await run(server(), counting);
  await printed(server(), process, '1005');
  await printed(server(), process, 'ready');
  return process;
};
const kill = ({ process_id }: Process) =>
  server().client.call(endpoints.killProcess, { params: { process_id }, body: {} });

test('cadre processes logs -f --tail shows the last lines and then new output.', async () => {
  const process = await run(server(), 'seq 100; read go; echo done', { stdin: 'pipe' });
  await printed(server(), process, '100');
  const { process_id } = process;
  const following = start('logs', process_id, '-f', '--tail', '2');
  await following.until('100\n');
  await server().client.call(endpoints.writeToProcess, {
    params: { process_id },
    body: { data: '\n' },
  });
  await ended(server(), process);
  expect((await following.ended).stdout).toBe('99\n100\ndone\n');
});

test('The command processes logs -f without --tail shows all of both outputs.', async () => {
  const process = await begun();
  const following = start('logs', process.process_id, '-f');
  await following.until('ready');
  await kill(process);
  const { stdout, stderr, code } = await following.ended;
  expect([stdout.split('\n')[0], stderr.split('\n')[0], code]).toEqual(['1', '1000', 0]);
});

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('The command processes logs -f exits after %s with %i.', async (signal, code) => {
  const process = await begun();
  const following = start('logs', process.process_id, '-f');
  await following.until('ready');
  following.child.kill(signal);
  expect((await following.ended).code).toBe(code);
  await kill(process);
});

test('The command processes restart ends the old process, and prints the id of the new one.', async () => {
  const old = await run(server(), 'echo up; sleep 1000');
  await printed(server(), old, 'up');
  const { stdout } = await cadreOn(server())(['processes', 'restart', old.process_id.slice(-8)]);
  const process_id = stdout.trim();
  const again = await server().client.call(endpoints.getProcess, { params: { process_id } });
  expect(again).toMatchObject({ command: old.command, cwd: old.cwd });
  expect(await ended(server(), old)).toMatchObject({ kill_reason: 'restarted' });
  await printed(server(), again, 'up');
});

test('The output of a process gets to a terminal without control sequences, and to a pipe unchanged.', async () => {
  const cadre = cadreOn(server());
  const printing = "printf '\\033]0;title\\007out\\n'; printf '\\033[2Jerror\\n' >&2";
  const { stdout: id } = await cadre(['processes', 'run', '--wait', '--json', printing]);
  const { process_id } = JSON.parse(id) as Process;
  const logs = ['processes', 'logs', process_id];
  const shown = await cadre(logs, { columns: 80, isTerminal: true });
  expect([shown.stdout, shown.stderr]).toEqual(['out\n', 'error\n']);
  const piped = await cadre(logs);
  expect([piped.stdout, piped.stderr]).toEqual(['\u001b]0;title\u0007out\n', '\u001b[2Jerror\n']);
});
