import type { Command } from 'commander';
import fs from 'node:fs';
import { expect, test } from 'vitest';
import { nameCheck, readGlossary } from '../../scripts/glossary.ts';
import { countsOf, lowered, risesOf } from '../../scripts/prose/counts.ts';
import { type Finding, proseCheck, type Text } from '../../scripts/prose/habits.ts';
import { textsOfMarkdown } from '../../scripts/prose/markdown.ts';
import { textsOfSource } from '../../scripts/prose/source.ts';
import { commands } from '../../src/frontends/cli/commands/index.ts';
import { createProgram } from '../../src/frontends/cli/program.ts';
import type { CommandIo } from '../../src/frontends/cli/command-io.ts';

const glossary = readGlossary(`
| Term | Meaning | Not |
|---|---|---|
| heartbeat | A periodic message. | sign of life, \`SignOfLife\` |
| approval broker | Opens approvals. | desk, \`Desk\` |
| checkout status | The state of a checkout. | \`=Checkout\` |
| hold | A reason to wait. | |
`);
const check = proseCheck(glossary);

const habitsIn = (text: string, more: Partial<Text> = {}) =>
  check({ kind: 'docs', file: 'docs/a.md', line: 1, text, ...more }).map(({ habit }) => habit);

test.each([
  ['clause for a noun', 'What waits for a closed session resumes.'],
  ['clause for a noun', 'what agents ask you for'],
  ['clause for a noun', 'The hook fails. Whose event it was is unknown.'],
  ['clause for a noun', 'Those that fail are retried.'],
  ['clause for a noun', '**That** is an error.'],
  ['clause for a noun', 'Of a text, only the first 64 KiB are searched.'],
  ['clause for a noun', 'of the commit of the merge'],
  ['clause for a noun', 'Each of them has a name.'],
  ['negated noun', 'stdin is no terminal'],
  ['negated noun', 'The names are none of these.'],
  ['negated noun', 'The comments are no\ndraft.'],
  ['things that tell', 'The agent is told the limit.'],
  ['things that tell', 'The event tells how it ended.'],
  ['things that tell', 'A hook hears about it.'],
  ['goes on', 'The turn goes on.'],
  ['goes on', 'Sessions go on after a restart.'],
  ['at the begin', 'A name at the begin of a line.'],
  ['at the begin', 'The begin of a turn.'],
  ['stands above', 'The screen that stands above.'],
  ['be had', 'No agent could be had.'],
  ['good for', 'The link is good for one answer.'],
  ['that of', 'The default is that of the server.'],
  ['that of', 'The records are those of the API.'],
  ['"sign of life", where the glossary has "heartbeat"', 'The node gives no sign\nof life.'],
  ['"desk", where the glossary has "approval broker"', 'The desk opens approvals.'],
])('The habit %s is found in: %s', (habit, text) => {
  expect(habitsIn(text)).toEqual([habit]);
});

test.each([
  'What can I do if the agent does not start?',
  'Whose session is it?',
  'Whatever the agent prints is stored.',
  'It shows what changed and whose turn it was.',
  'Of course, a server without agents starts, too.',
  'There is no server.',
  'If there are none, the list is empty.',
  'There may be no server.',
  'The session is no longer open.',
  'The limit is no more than 5.',
  'stdin is not a terminal',
  'Tell the agent to stop.',
  'The telling part is the title.',
  'An operation that is ongoing.',
  'The turn goes online.',
  'The turn continues at the beginning of the day.',
  'The output is shown above.',
  'The limit that often matters.',
  'The server that offers tools.',
  'The desktop has no heartbeat.',
])('A good neighbour of a habit is not found: %s', (text) => {
  expect(habitsIn(text)).toEqual([]);
});

test('The text of an option needs a capital letter and a noun, and has no full stop.', () => {
  const isPoor = (text: string) => habitsIn(text, { kind: 'help', isLabel: true }).length > 0;
  expect(
    ['maximum number of rows', 'Maximum number of rows.', 'Its id'].filter(isPoor),
  ).toHaveLength(3);
  expect(
    ['Maximum number of rows (default 100)', '… lines at most', 'Print ids, names, …'].filter(
      isPoor,
    ),
  ).toEqual([]);
  expect(habitsIn('maximum number of rows', { kind: 'help' })).toEqual([]);
});

test('A title of a test starts with a capital letter, a quote, a command, a value or an identifier.', () => {
  const hasSubject = (text: string) => habitsIn(text, { kind: 'titles' }).length === 0;
  const poor = [
    'is there for each bundle.',
    'if the program does not start.',
    'a list is empty',
    'sessions list prints a table.',
    'says of %s what the sources say.',
  ];
  expect(poor.filter(hasSubject)).toEqual([]);
  const good = [
    'A list is empty.',
    '`say` streams its text.',
    '"%s" is refused.',
    '%s is refused.',
    '… sessions share one process.',
    '1,000 events are read once.',
    '--port takes precedence.',
    'cadre sessions list prints a table.',
    'make dist builds an archive.',
    'max_age_days may be a fraction.',
    'openapi.yaml is current.',
    'session/load sends the conversation.',
  ];
  expect(good.filter(hasSubject)).toEqual(good);
  expect(habitsIn('a list', { kind: 'groups' })).toEqual([]);
});

const source = `
/** Told to nobody. */
export class Sessions {
  // Of two lines,
  // the second one.
  open(name: string) {
    if (name === '') throw new AppError('conflict', \`session "\${name}" not found\` + ': see the list');
    throw new Error(isOpen ? 'it is open' : \`it is \${state}\${why ? ' for a reason' : ''}\`);
  }
  refuse = () => ({ message: 'no room', code: 'too_many' });
  why(): string {
    return 'a sentence of three words';
  }
  rows = db.prepare('SELECT id, name FROM sessions WHERE status = ?');
}
`;

test('Messages of errors, other sentences and comments are found in a source file, with their lines.', () => {
  const texts = textsOfSource('src/server/sessions.ts', source);
  const found = texts.map(({ kind, line, text }) => `${kind} ${line}: ${text}`);
  expect(found).toEqual([
    'errors 7: session "…" not found: see the list',
    'errors 8: it is open',
    'errors 8: it is ……',
    'errors 8: …… for a reason',
    'errors 10: no room',
    'messages 12: a sentence of three words',
    'comments 2: Told to nobody.',
    'comments 4: Of two lines,\nthe second one.',
  ]);
});

test('Descriptions are found in the schemas of the API, and titles and groups in tests.', () => {
  const schema =
    "z.string().describe('Name of it'); endpoint({ summary: 'List them', path: '/v1/a' });";
  const found = (file: string, text: string) =>
    textsOfSource(file, text).map(({ kind, text }) => `${kind}: ${text}`);
  expect(found('src/api/a.ts', schema)).toEqual(['schema: Name of it', 'schema: List them']);
  const tests = `
    describe.each([1])('the list', () => { it.skip('A list is empty.', run); run('not me'); });
    test.skipIf('no terminal').for(['a'])('A list has %s.', run);
  `;
  expect(found('test/a.test.ts', tests)).toEqual([
    'groups: the list',
    'titles: A list is empty.',
    'titles: A list has %s.',
  ]);
});

test('All texts in the help of all commands are found in the source.', async () => {
  const files = fs.globSync('src/frontends/cli/**/*.ts');
  const texts = files.flatMap((file) => textsOfSource(file, fs.readFileSync(file, 'utf8')));
  const found = texts.filter(({ isLabel }) => isLabel === true).map(({ text }) => patternOf(text));
  const missing = labelsOf(await createProgram({} as CommandIo, commands)).filter(
    (label) => !found.some((pattern) => pattern.test(label)),
  );
  expect(missing).toEqual([]);
});

test('Prose of a page is found without code, comments and the column of refused words.', () => {
  const page = `# Use a \`queue\`

<!-- what is not shown -->
First line
and **second** [line](page.md).

- An item
- Another \`item\`

| Term | Not |
|---|---|
| heartbeat | sign of life |

\`\`\`sh
cadre run
\`\`\`
`;
  const found = textsOfMarkdown('docs/a.md', page).map(({ line, text }) => `${line}: ${text}`);
  expect(found).toEqual([
    '1: Use a …',
    '4: First line\nand second line.',
    '7: An item',
    '8: Another …',
    '10: Term',
    '12: heartbeat',
  ]);
});

test('The glossary refuses a word of a name in each spelling, two words in their order, and a whole name alone.', () => {
  const refusal = nameCheck(glossary);
  const isRefused = (name: string) => refusal(name) !== undefined;
  const refused = ['ApprovalDesk', 'desks', 'desk-of-all', 'DESK_MS', 'newSignOfLife', 'Checkout'];
  expect(refused.filter(isRefused)).toEqual(refused);
  expect(['Desktop', 'lifeSign', 'CheckoutStatus', 'checkout', 'hold'].filter(isRefused)).toEqual(
    [],
  );
  expect(refusal('ApprovalDesk')?.term).toBe('approval broker');
});

test('Every term of the glossary has a meaning of one sentence and at most 30 words.', () => {
  const rows = fs.readFileSync('docs/glossary.md', 'utf8').matchAll(/^\| ([^|]+) \| ([^|]+) \|/gm);
  const poor = [...rows]
    .filter(([, term]) => term !== 'Term')
    .filter(
      ([, , text = '']) =>
        !/^[^.]+\.$/.test(text.replaceAll(/`[^`]*`/g, 'x')) || text.split(' ').length > 30,
    );
  expect(poor.map(([line]) => line)).toEqual([]);
});

test('Stored counts of findings may fall in each folder, and never rise.', () => {
  const finding = (file: string, kind: Text['kind'] = 'docs') => ({ kind, file }) as Finding;
  const now = countsOf([
    finding('README.md'),
    finding('docs/a.md'),
    finding('docs/b.md'),
    finding('src/server/teams/team.ts', 'errors'),
  ]);
  expect(now).toEqual({ docs: { '.': 1, docs: 2 }, errors: { 'src/server/teams': 1 } });
  const stored = { docs: { '.': 3, docs: 1 }, help: { 'src/frontends/cli': 1 } };
  expect(risesOf(now, stored)).toEqual([
    { kind: 'docs', folder: 'docs', now: 2, stored: 1 },
    { kind: 'errors', folder: 'src/server/teams', now: 1, stored: 0 },
  ]);
  expect(lowered(now, stored)).toEqual({ docs: { '.': 1, docs: 1 } });
});

/** Descriptions of a command, its arguments, its options, and its subcommands. */
function labelsOf(command: Command): string[] {
  return [
    command.description(),
    ...command.registeredArguments.map(({ description }) => description),
    ...command.options.map(({ description }) => description),
    ...command.commands.flatMap(labelsOf),
  ].filter(Boolean);
}

/** Matches the texts that a text with `…` for its values may become. */
function patternOf(text: string): RegExp {
  const parts = text
    .split('…')
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join('[^]*')}$`);
}
