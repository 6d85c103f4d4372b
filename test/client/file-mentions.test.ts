import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { commonStart, fileMatches } from '../../src/client/file-mentions.ts';
import { tempDirectory } from '../support/temp.ts';

test('A word that begins with @ is completed with the names in the directory of the session.', () => {
  using place = tempDirectory();
  fs.mkdirSync(path.join(place.path, 'source', 'deep'), { recursive: true });
  for (const name of ['.hidden', 'save.ts', 'two words', 'source/main.ts'])
    fs.writeFileSync(path.join(place.path, name), '');
  const matches = (text: string) => fileMatches(text, place.path);
  expect(matches('look at @')).toEqual(['look at @save.ts', 'look at @source/']);
  expect(matches('@so')).toEqual(['@source/']);
  expect(matches('line\n@source/')).toEqual(['line\n@source/deep/', 'line\n@source/main.ts']);
  expect(matches('@.h')).toEqual(['@.hidden']);
  for (const text of ['', 'a', 'mail@save', '@save.ts and', '@none/x', '@zzz'])
    expect(matches(text)).toEqual([]);
});

test('Texts have in common what all of them begin with.', () => {
  expect(commonStart(['@save.ts', '@source/'])).toBe('@s');
  expect(commonStart(['@one'])).toBe('@one');
  expect(commonStart([])).toBe('');
});
