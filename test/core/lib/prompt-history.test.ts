import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { HISTORY_FILE, PromptHistory, Recall } from '../../../src/core/lib/prompt-history.ts';
import { tempDirectory, testDirectory } from '../../support/temp.ts';

test('Prompts are kept with their line breaks, in a file that only its owner can read.', () => {
  const below = path.join(testDirectory('history'), 'new');
  const history = new PromptHistory(below);
  expect(history.read()).toEqual([]);
  for (const text of ['one', 'two\nlines', 'two\nlines\n', '  ', 'one']) history.add(text);
  expect(new PromptHistory(below).read()).toEqual(['one', 'two\nlines', 'one']);
  expect(fs.statSync(path.join(below, HISTORY_FILE)).mode & 0o777).toBe(0o600);
});

test('The newest 1,000 prompts are kept, and invalid or very long entries are left out.', () => {
  using directory = tempDirectory('history');
  const file = path.join(directory.path, HISTORY_FILE);
  const lines = Array.from({ length: 1000 }, (_, at) => `"prompt ${at}"`);
  fs.writeFileSync(file, [...lines, '{"no":1}', '"half'].join('\n'));
  const history = new PromptHistory(directory.path);
  expect(history.read()).toHaveLength(1000);
  history.add('x'.repeat(20_000));
  history.add('the newest');
  const kept = new PromptHistory(directory.path).read();
  expect(kept).toHaveLength(1000);
  expect([kept[0], kept.at(-1)]).toEqual(['prompt 1', 'the newest']);
  expect(fs.statSync(file).mode & 0o777).toBe(0o600);
});

test('Two programs add to the same prompts.', () => {
  using directory = tempDirectory('history');
  const [one, other] = [new PromptHistory(directory.path), new PromptHistory(directory.path)];
  one.add('first');
  other.add('second');
  one.add('third');
  expect(other.read()).toEqual(['first', 'second', 'third']);
});

test('If the file cannot be written, a prompt is kept until the program ends.', () => {
  using directory = tempDirectory('history');
  fs.mkdirSync(path.join(directory.path, HISTORY_FILE));
  const history = new PromptHistory(directory.path);
  history.add('not stored');
  expect(history.read()).toEqual(['not stored']);
  fs.rmdirSync(path.join(directory.path, HISTORY_FILE));
  history.add('stored');
  expect(new PromptHistory(directory.path).read()).toEqual(['not stored', 'stored']);
});

test('Older and newer step through the prompts, and back to the text that was started.', () => {
  const recall = new Recall(['one', 'two']);
  expect(recall.newer('beg')).toBeNull();
  expect(recall.older('beg')).toBe('two');
  expect(recall.older('two')).toBe('one');
  expect(recall.older('one')).toBeNull();
  expect(recall.newer('one')).toBe('two');
  expect(recall.newer('two')).toBe('beg');
  // A changed prompt counts as a new one.
  expect(recall.older('beg')).toBe('two');
  expect(recall.older('two!')).toBe('two');
  expect(recall.newer('two')).toBe('two!');
});

test('A search steps from the newest prompt with the text to older ones.', () => {
  const recall = new Recall(['run the tests', 'read', 'Run again', 'stop']);
  expect(recall.search('run')).toBe('Run again');
  expect(recall.search('Run again')).toBe('run the tests');
  expect(recall.search('run the tests')).toBeNull();
  expect(recall.search('nothing')).toBeNull();
  expect(recall.search('st')).toBe('stop');
  expect(recall.search('stop')).toBe('run the tests');
  expect(recall.newer('run the tests')).toBe('read');
});
