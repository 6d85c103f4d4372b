// Reports the sizes of the files and functions of src, and fails if a limit is exceeded: 400 lines for a file, 80 for a
// function, the stored number of files with one importer, no import cycle (imports of types included).
// A file with one importer is a hop for its reader. The limit keeps files from being split only to make them short.
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

const limits = { file: 400, function: 80, hops: 216 };

const texts = new Map(
  globSync('src/**/*.{ts,tsx}').map((name) => [name, readFileSync(name, 'utf8')]),
);
const files = [...texts]
  .map(([name, text]) => ({ name, lines: text.split('\n').length - 1 }))
  .toSorted((one, other) => other.lines - one.lines);
const median = files[Math.floor(files.length / 2)]?.lines ?? 0;
const findings = lint();
const functions = findings
  .filter(({ code }) => code.includes('max-lines-per-function'))
  .map(({ message, filename, labels }) => ({
    name: `${filename}:${labels[0]?.span.line ?? '?'} ${/`(.*?)`/.exec(message)?.[1] ?? ''}`,
    lines: Number(/\((\d+)\)/.exec(message)?.[1] ?? 0),
  }))
  .toSorted((one, other) => other.lines - one.lines);
const hops = filesWithOneImporter();
const cycles = findings.filter(({ code }) => code.includes('no-cycle'));

const total = files.reduce((sum, { lines }) => sum + lines, 0);
console.log(`${files.length} files, ${total} lines; median ${median}, longest:`);
show(files.slice(0, 10));
console.log('longest functions:');
show(functions.slice(0, 10));
console.log(`files with one importer: ${hops}`);
console.log(`files in import cycles (including type imports): ${cycles.length}`);
for (const { filename } of cycles) console.log(`  ${filename}`);

const faults = [
  ...files.filter(({ lines }) => lines > limits.file),
  ...functions.filter(({ lines }) => lines > limits.function),
].map(({ name, lines }) => `${name} has ${lines} lines`);
if (hops > limits.hops) faults.push(`${hops} files have one importer`);
if (cycles.length > 0) faults.push(`${cycles.length} files are in an import cycle`);
for (const fault of faults) console.error(`over the limit: ${fault}`);
process.exitCode = faults.length > 0 ? 1 : 0;

/** The number of files that exactly one other file imports. */
function filesWithOneImporter() {
  const importers = new Map();
  for (const [name, text] of texts)
    for (const [, target = ''] of text.matchAll(/(?:from|import\s*\(|import)\s*'(\.[^']+)'/g)) {
      const imported = path.join(path.dirname(name), target);
      importers.set(imported, (importers.get(imported) ?? new Set()).add(name));
    }
  return [...importers.values()].filter(({ size }) => size === 1).length;
}

/** The findings of the linter: functions of more than 40 lines, and import cycles. */
function lint() {
  const { stdout } = spawnSync(
    'oxlint',
    ['--format=json', '-c', 'scripts/lint/sizes.json', 'src'],
    {
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  return JSON.parse(stdout).diagnostics;
}

/** @param {{ name: string, lines: number }[]} entries */
function show(entries) {
  for (const { name, lines } of entries) console.log(`  ${String(lines).padStart(4)} ${name}`);
}
