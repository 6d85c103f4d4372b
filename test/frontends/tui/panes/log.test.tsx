import { expect, test } from 'vitest';
import { sharedDemo } from '../../../support/demo-server.ts';
import { endpoints } from '../../../../src/api/index.ts';
import { systemClock } from '../../../../src/core/lib/clock.ts';
import { emptyLog, withPieces } from '../../../../src/frontends/tui/panes/log-text.ts';
import { LogModel } from '../../../../src/frontends/tui/panes/log-model.ts';
import { testPane } from './test-pane.tsx';
import { keys } from '../test-screen.tsx';
import { LogPane } from '../../../../src/frontends/tui/panes/pane.tsx';

const server = sharedDemo();

async function running(command: string) {
  const { client, directory } = server();
  const { process } = await client.call(endpoints.createProcess, {
    body: { command, cwd: directory },
  });
  const id = process.process_id;
  return { client, id, model: new LogModel({ client, clock: systemClock, processId: id }) };
}

async function ended(command: string) {
  const started = await running(command);
  await started.client.call(endpoints.waitForProcess, { params: { process_id: started.id } });
  return started;
}

test('The pane shows new output at once, and extends an incomplete line in its place.', async () => {
  const { model } = await running(
    'printf "first\\n10%%"; until [ -e go ]; do sleep 0.05; done; printf "\\r100%%\\nlast\\n"',
  );
  const { expectShows, lines } = testPane(model, LogPane);
  await expectShows(/^10%/m);
  const { client, directory } = server();
  await client.call(endpoints.createProcess, { body: { command: 'touch go', cwd: directory } });
  await expectShows('stdout and stderr, exited');
  expect(
    lines()
      .slice(0, 3)
      .map((line) => line.trimEnd()),
  ).toEqual(['first', '100%', 'last']);
});

test('The pane separates the lines of both outputs, and shows one output alone.', async () => {
  const { model } = await ended('echo out; echo err >&2');
  const { expectShows, lines, press } = testPane(model, LogPane);
  await expectShows('exited');
  const shown = () => lines().flatMap((line) => line.trimEnd() || []);
  expect(shown().slice(0, 4)).toEqual(['── stdout ──', 'out', '── stderr ──', 'err']);
  await press('o').shows(/^stdout, exited/m);
  expect(shown()).toEqual(['out', 'stdout, exited  o switch']);
  await press('o').shows(/^stderr, exited/m);
  expect(shown()[0]).toBe('err');
});

test('The pane reads older output page by page, and the search names the part that it has searched.', async () => {
  const { model } = await ended('seq -f "line %.0f of a long output that fills pages" 1 6000');
  const { expectShows, press, lines } = testPane(model, LogPane);
  await expectShows('line 6000 of');
  await press('/', 'line 42 of', keys.enter).shows(
    /"line 42 of": not found in loaded output, \d+ KiB not/,
  );
  await press(keys.escape).shows('o switch');
  for (let page = 0; page < 8; page++) {
    await press('g');
    await model.older();
  }
  await press('g').shows(/^line 1 of/m);
  await press('/', 'line 42 of', keys.enter).shows('"line 42 of": 1 of 1 in all output');
  await press(keys.escape).shows('o switch');
  await press('g').shows(/^line 1 of/m);
  const text = model.copyable().find(({ name }) => name === 'loaded lines')?.text;
  expect(text?.split('\n')).toEqual(
    Array.from({ length: 6000 }, (_, at) => `line ${at + 1} of a long output that fills pages`),
  );
  await press('G').shows('line 6000 of');
  expect(lines()).toHaveLength(12);
});

test.for(['', '1~700'])(
  'The pane reads all of an output of which some bytes are not UTF-8 (lines: "%s").',
  async (lines) => {
    const { model } = await ended(
      `seq -f "line %.0f of a long output that fills pages" 1 6000 | LC_ALL=C sed "${lines}s/long/l\\xffng/"`,
    );
    const { expectShows } = testPane(model, LogPane);
    await expectShows('line 6000 of');
    while (model.coverage() !== 'in all output') await model.older();
    const text = model.copyable().find(({ name }) => name === 'loaded lines')?.text ?? '';
    const numbers = text
      .replaceAll('\n', '')
      .matchAll(/line (\d+) of a l.ng output that fills pages/g);
    expect(Array.from(numbers, ([, number]) => Number(number))).toEqual(
      Array.from({ length: 6000 }, (_, at) => at + 1),
    );
  },
);

test('The pane reads older output whose lines are longer than a page.', async () => {
  const { model } = await ended(
    'for c in a b c; do head -c 100000 /dev/zero | tr "\\0" $c; echo; done; echo last',
  );
  const { expectShows } = testPane(model, LogPane);
  await expectShows(/^last/m);
  while (model.coverage() !== 'in all output') await model.older();
  const text = model.copyable().find(({ name }) => name === 'loaded lines')?.text ?? '';
  const whole = ['a', 'b', 'c'].map((letter) => letter.repeat(100_000)).join('');
  expect(text.replaceAll('\n', '') === `${whole}last`).toBe(true);
});

test('A line that its process prints again and again keeps only its newest text.', () => {
  const bar = (text: string) => ({ output: 'stdout', text }) as const;
  const half = withPieces(emptyLog, [bar('10%\r20%\r'), bar('\r30%\r40'), bar('%\r')]);
  expect(half.live).toEqual([bar('40%')]);
  expect(half.open.stdout?.text).toBe('40%\r');
  expect(withPieces(half, [bar('50%\r\n')]).live).toEqual([bar('50%')]);
});

test('The pane follows a flood of output in steps, and shows its end.', async () => {
  const { model } = await running('seq 1 3000000; echo the end');
  const { expectShows, frames } = testPane(model, LogPane);
  await expectShows(/^the end/m);
  await expectShows('exited');
  // The output has 3,000,000 lines, but at most 20 frames a second while the process prints.
  expect(frames()).toBeLessThan(30_000);
});
