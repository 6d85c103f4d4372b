import { mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { HistoryFiles, beginTurn, newHistory } from '../../../src/agents/demo/history.ts';
import { testDirectory } from '../../support/temp.ts';

test('A history file returns the last saved history.', () => {
  const files = new HistoryFiles(testDirectory());
  const history = newHistory('a', '/work');
  files.save(history);
  files.save(beginTurn(history, 'hello'));
  expect(files.read('a')).toEqual(beginTurn(history, 'hello'));
});

test('A history is one file that only its user can read, and no temporary file remains.', () => {
  const directory = join(testDirectory(), 'new', 'state');
  new HistoryFiles(directory).save(newHistory('a', '/work'));
  expect(readdirSync(directory)).toEqual(['a.json']);
  expect(statSync(join(directory, 'a.json')).mode & 0o777).toBe(0o600);
  expect(statSync(directory).mode & 0o777).toBe(0o700);
});

test('A missing directory has no histories, and a session id cannot name a file outside the directory.', () => {
  const directory = testDirectory();
  writeFileSync(join(directory, 'outside.json'), JSON.stringify(newHistory('outside', '/')));
  const files = new HistoryFiles(join(directory, 'state'));
  expect(files.list()).toEqual([]);
  expect(files.read('a')).toBeUndefined();
  expect(files.read('../outside')).toBeUndefined();
});

test('Histories are listed from newest to oldest, without temporary and damaged files.', () => {
  const directory = testDirectory();
  const files = new HistoryFiles(directory);
  for (const [id, seconds] of Object.entries({ old: 1, newest: 3, middle: 2 })) {
    files.save(newHistory(id, '/work'));
    utimesSync(join(directory, `${id}.json`), seconds, seconds);
  }
  writeFileSync(join(directory, 'damaged.json'), '{"sessionId":');
  writeFileSync(join(directory, 'other.json'), '{}');
  writeFileSync(join(directory, 'c.json.7.tmp'), '{}');
  expect(files.list().map(({ history }) => history.sessionId)).toEqual(['newest', 'middle', 'old']);
  expect(() => files.read('damaged')).toThrow(SyntaxError);
});

test('A directory that cannot be read fails with the system error.', () => {
  const directory = join(testDirectory(), 'state');
  mkdirSync(join(directory, '..'), { recursive: true });
  writeFileSync(directory, 'a file');
  expect(() => new HistoryFiles(directory).list()).toThrow('ENOTDIR');
});
