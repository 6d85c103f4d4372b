// Checks the texts that people read for the habits of scripts/prose/habits.ts and the words that docs/glossary.md refuses.
// Fails if a folder has more findings of a kind than scripts/prose-counts.json allows.
//
//   node scripts/prose.mjs                           check
//   node scripts/prose.mjs --list [KIND] [FOLDER]    print the findings; KIND: help, errors, messages, schema, docs, comments, titles, groups
//   node scripts/prose.mjs --write                   lower the stored counts to the current counts
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { readGlossary } from './glossary.ts';
import { countsOf, lowered, risesOf } from './prose/counts.ts';
import { proseCheck } from './prose/habits.ts';
import { textsOfMarkdown } from './prose/markdown.ts';
import { textsOfSource } from './prose/source.ts';

const stored = 'scripts/prose-counts.json';
/** Files of others, and decisions, which record the past. */
const excluded = [
  /node_modules/,
  /^test\/real-agents\/install\//,
  /^test\/campaigns\/api\/clients\//,
];

const pages = files(
  '{*,docs/*,docs/{decisions,proof}/*,{src,test,bench,scripts,examples}/**/*}.md',
);
const sources = files('{src,test,bench,scripts}/**/*.{ts,tsx,mjs,js}');
const texts = [
  ...pages.flatMap((file) => textsOfMarkdown(file, readFileSync(file, 'utf8'))),
  ...sources.flatMap((file) => textsOfSource(file, readFileSync(file, 'utf8'))),
];
const findings = texts.flatMap(proseCheck(readGlossary()));

const [command, ...args] = process.argv.slice(2);
if (command === '--list') list(args);
else if (command === '--write') write();
else if (command === undefined) check();
else throw new Error(`unknown option ${command}: see scripts/prose.mjs`);

function check() {
  const counts = countsOf(findings);
  for (const [kind, folders] of Object.entries(counts)) {
    const total = Object.values(folders).reduce((sum, count) => sum + count, 0);
    const all = texts.filter((text) => text.kind === kind).length;
    console.log(`${kind.padEnd(9)}${String(total).padStart(6)} findings in ${all} texts`);
  }
  const rises = risesOf(counts, readStored());
  for (const { kind, folder, now, stored } of rises)
    console.error(
      `${kind} of ${folder}: ${now} findings, at most ${stored}: node scripts/prose.mjs --list ${kind} ${folder}`,
    );
  process.exitCode = rises.length > 0 ? 1 : 0;
}

/** @param {string[]} filters A kind and a folder or file, in any order. */
function list(filters) {
  const isFor = (/** @type {string} */ filter, { kind, file }) =>
    filter === kind ||
    file === filter ||
    (filter === '.' ? !file.includes('/') : file.startsWith(`${filter}/`));
  const found = findings.filter((one) => filters.every((filter) => isFor(filter, one)));
  for (const { kind, file, line, habit, found: text } of found)
    console.log(`${file}:${line}  ${kind}, ${habit}: ${text.replaceAll(/\s+/g, ' ')}`);
  console.log(`${found.length} findings`);
}

function write() {
  const counts = countsOf(findings);
  const next = existsSync(stored) ? lowered(counts, readStored()) : counts;
  writeFileSync(stored, `${JSON.stringify(next, null, 2)}\n`);
  check();
}

function readStored() {
  return JSON.parse(readFileSync(stored, 'utf8'));
}

/** @param {string} pattern */
function files(pattern) {
  return globSync(pattern, { exclude: (name) => /node_modules/.test(name) })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => !excluded.some((one) => one.test(name)))
    .toSorted();
}
