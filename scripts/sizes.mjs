// Reports how long the files and functions of src are, and fails where a limit is passed: no file over 400 lines, no
// function over 80, a median file of at most 80, no cycle of imports (types included).
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';

const limits = { file: 400, function: 80, median: 80 };

const files = globSync('src/**/*.{ts,tsx}')
  .map((name) => ({ name, lines: readFileSync(name, 'utf8').split('\n').length - 1 }))
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
const cycles = findings.filter(({ code }) => code.includes('no-cycle'));

const total = files.reduce((sum, { lines }) => sum + lines, 0);
console.log(`${files.length} files, ${total} lines; median ${median}, longest:`);
show(files.slice(0, 10));
console.log('longest functions:');
show(functions.slice(0, 10));
console.log(`cycles of imports, types included: ${cycles.length}`);
for (const { filename } of cycles) console.log(`  ${filename}`);

const faults = [
  ...files.filter(({ lines }) => lines > limits.file),
  ...functions.filter(({ lines }) => lines > limits.function),
].map(({ name, lines }) => `${name} has ${lines} lines`);
if (median > limits.median) faults.push(`the median file has ${median} lines`);
if (cycles.length > 0) faults.push(`${cycles.length} files are in a cycle of imports`);
for (const fault of faults) console.error(`over the limit: ${fault}`);
process.exitCode = faults.length > 0 ? 1 : 0;

/** What the linter says of functions of more than 40 lines, and of cycles. */
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
