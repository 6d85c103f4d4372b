import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { forLocale, inAscii, isAsciiLocale } from '../../../src/frontends/terminal/ascii.ts';
import { cadreOn, runHere } from '../../support/cli/cadre.ts';
import { sharedDemo } from '../../support/demo-server.ts';
import { testDirectory } from '../../support/temp.ts';
import { withSession } from '../../support/turns.ts';

test.for([
  [{}, false],
  [{ LANG: 'C' }, true],
  [{ LANG: 'POSIX' }, true],
  [{ LANG: 'C.UTF-8' }, false],
  [{ LANG: 'de_DE.utf8' }, false],
  [{ LANG: 'en_US' }, false],
  [{ LANG: 'de_DE.ISO-8859-1@euro' }, true],
  [{ LANG: 'C', LC_CTYPE: 'en_US.UTF-8' }, false],
  [{ LANG: 'en_US.UTF-8', LC_ALL: 'C' }, true],
  [{ LANG: 'en_US.UTF-8', LC_ALL: '' }, false],
] as const)('The locale of %o has no UTF-8: %s.', ([env, expected]) => {
  expect(isAsciiLocale(env)).toBe(expected);
});

test('Each symbol becomes one ASCII character, and what somebody wrote stays as it is.', () => {
  expect(inAscii('▌● ◆ ○ ▾ ✓ ✗ …')).toBe('=@ ! o - + x _');
  expect(inAscii('Zoë 漢字 💥')).toBe('Zoë 漢字 💥');
});

test('Each symbol in the sources of the screen and of the command line has an ASCII character.', () => {
  const files = globSync(['src/{frontends,client}/**/*.{ts,tsx}', 'src/core/lib/*.ts']).filter(
    // A page for a browser.
    (file) => !file.endsWith('export/html.ts'),
  );
  const code = files.map((file) =>
    readFileSync(file, 'utf8').replaceAll(/^\s*\/\/.*$|\/\*[\s\S]*?\*\//gm, ''),
  );
  const symbols = new Set(code.join('').match(/[^\u0000-\u007f]/gu));
  expect(symbols).toContain('⏎');
  expect([...symbols].filter((one) => inAscii(one) === one)).toEqual([]);
});

test('No symbol of an agent becomes a character that means something to a shell.', () => {
  const every = Array.from({ length: 0x3000 - 0x80 }, (_, at) => String.fromCodePoint(0x80 + at));
  expect(
    every.map(inAscii).filter((one) => /[\s'"`$&|;<>(){}[\]*?~#\\]/.test(one) && one < '\u0080'),
  ).toEqual([]);
});

test('The stand-in for a terminal keeps its size and its listeners.', () => {
  const lines: string[] = [];
  const terminal = {
    isTTY: true,
    columns: 40,
    write: (text: string) => lines.push(text) > 0,
    size() {
      return this.columns;
    },
  };
  const output = forLocale(terminal as unknown as NodeJS.WriteStream, { LANG: 'C' });
  output.write('●');
  expect([lines, output.columns, (output as unknown as typeof terminal).size()]).toEqual([
    ['@'],
    40,
    40,
  ]);
  const pipe = { isTTY: false } as unknown as NodeJS.WriteStream;
  expect(forLocale(pipe, { LANG: 'C' })).toBe(pipe);
});

const server = sharedDemo();

test('In a locale without UTF-8, a table on a terminal has only ASCII, and JSON is as it is.', async () => {
  await withSession(server(), { title: 'a title that is cut in the table …' });
  const at = cadreOn(server());
  const options = { columns: 60, env: { LC_ALL: 'C' } };
  const { stdout } = await at(['sessions', 'list'], options);
  expect(stdout).toContain('_');
  expect(stdout).toMatch(/^[\n\u001b -~]+$/);
  expect((await at(['sessions', 'list', '--json'], options)).stdout).toContain('table …"');
  const utf8 = await at(['sessions', 'list'], { columns: 60, env: { LC_ALL: 'C.UTF-8' } });
  expect(utf8.stdout).toContain('…');
});

test('Without a usable terminal, cadre alone says why there is no screen, in one line.', async () => {
  const bare = async (options: object) => {
    const { code, stdout, stderr } = await runHere(testDirectory(), [], options);
    expect([code, stdout]).toEqual([2, '']);
    return stderr;
  };
  const rest = 'run cadre top or cadre status: see cadre --help\n';
  expect(await bare({})).toBe(
    `cadre: the screen needs a terminal (stdin is not a terminal): ${rest}`,
  );
  expect(await bare({ isTerminal: true })).toContain('(stdout is not a terminal)');
  expect(await bare({ isTerminal: true, columns: 80, env: { TERM: 'dumb' } })).toContain(
    '(TERM is dumb)',
  );
});
