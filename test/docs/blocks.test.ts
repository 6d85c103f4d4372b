import fs from 'node:fs';
import path from 'node:path';
import { parse } from 'smol-toml';
import { describe, expect, test } from 'vitest';
import { issueInWords } from '../../src/core/lib/explain.ts';
import { configSchema } from '../../src/core/config/schema.ts';
import { commandLinesIn, unknownIn } from './command-line.ts';
import { allPages, blocksOf, codeIn, pages, tokensOf } from './page.ts';
import { reasons } from './reasons.ts';

const blocks = pages().flatMap(blocksOf);
const root = path.join(import.meta.dirname, '../..');

test('The number of blocks that are not run is as listed for each reason.', () => {
  const unrun = Object.groupBy(blocks, ({ notes }) => notes['not run'] ?? 'run');
  delete unrun.run;
  const counts = Object.entries(unrun).map(([reason, blocks = []]) => [reason, blocks.length]);
  expect(Object.fromEntries(counts)).toEqual({
    agent: 23,
    bench: 4,
    editor: 3,
    install: 4,
    machines: 8,
  });
  expect(Object.keys(reasons)).toEqual(expect.arrayContaining(Object.keys(unrun)));
});

test('Every block of a page is run or parsed, or has a reason for neither.', () => {
  const tried = new Set(['console', 'sh', 'toml', 'json']);
  const untried = blocks.filter(
    ({ language, notes }) => !tried.has(language) && notes['not run'] === undefined,
  );
  expect(untried.map(({ page, line }) => `${page}:${line}`)).toEqual([]);
});

test.each(blocks.filter(({ language }) => language === 'toml').map((one) => [place(one), one]))(
  'The block %s is a valid configuration.',
  (_, { text }) => {
    const { error } = configSchema.safeParse(parse(text), { error: issueInWords });
    expect(error?.issues.map(({ message }) => message)).toBeUndefined();
  },
);

test.each(blocks.filter(({ language }) => language === 'json').map((one) => [place(one), one]))(
  'The block %s is valid JSON.',
  (_, { text }) => expect(() => JSON.parse(text) as unknown).not.toThrow(),
);

describe.each(allPages())('the page %s', (page) => {
  test(`The page ${page} names only existing commands and flags.`, () => {
    const shell = blocksOf(page).filter(({ language }) => ['console', 'sh'].includes(language));
    const lines = shell.flatMap(({ language, text, line }) =>
      text.split('\n').flatMap((words, at) => {
        if (language === 'console' && !words.startsWith('$ ')) return [];
        return commandLinesIn(words).map((words) => ({ at: `${page}:${line + at}`, words }));
      }),
    );
    const inText = codeIn(page).flatMap((code) =>
      commandLinesIn(code).map((words) => ({ at: page, words })),
    );
    const wrong = [...lines, ...inText].flatMap(({ at, words }) => {
      const unknown = unknownIn(words);
      return unknown === null ? [] : [`${at}: ${unknown}: cadre ${words.join(' ')}`];
    });
    expect(wrong).toEqual([]);
  });

  test(`The links of the page ${page} have existing targets.`, () => {
    const missing = linksOf(page).filter((link) => {
      const [file = '', anchor] = link.split('#');
      const target = file === '' ? page : path.join(path.dirname(page), file);
      if (!fs.existsSync(path.join(root, target))) return true;
      return anchor !== undefined && !anchorsOf(target).includes(anchor);
    });
    expect(missing).toEqual([]);
  });
});

test.each(['docs', 'docs/decisions'])('The index of %s lists each of its pages once.', (folder) => {
  const listed = linksOf(`${folder}/README.md`).filter((link) => /^[\w-]+\.md$/.test(link));
  const pages = fs.readdirSync(path.join(root, folder)).filter((name) => name.endsWith('.md'));
  expect(listed.toSorted()).toEqual(pages.filter((name) => name !== 'README.md').toSorted());
});

function place({ page, line }: { page: string; line: number }): string {
  return `${page}:${line}`;
}

/** The links of a page to other files of the project, and to its own headings. */
function linksOf(page: string): string[] {
  return tokensOf(page).flatMap((token) =>
    token.type === 'link' && !/^[a-z]+:/.test(token.href) ? [String(token.href)] : [],
  );
}

/** The headings of a page, as links name them. */
function anchorsOf(page: string): string[] {
  return tokensOf(page).flatMap((token) => {
    if (token.type !== 'heading') return [];
    const words = String(token.text).toLowerCase();
    return [words.replaceAll(/[^\w\s-]/g, '').replaceAll(' ', '-')];
  });
}
