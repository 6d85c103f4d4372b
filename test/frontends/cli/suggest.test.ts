import { expect, test } from 'vitest';
import { unknownCommand } from '../../../src/frontends/cli/suggest.ts';

test.for<[above: string, words: string, hint: string]>([
  ['', 'session list', 'did you mean cadre sessions list?'],
  ['', 'sesions', 'did you mean cadre sessions?'],
  ['', 'session get x', 'did you mean cadre sessions get?'],
  ['', 'kill', 'did you mean cadre processes kill?'],
  ['', 'describe', 'did you mean cadre sessions show, cadre sessions get, cadre review show, '],
  ['', 'versoin', 'did you mean cadre version?'],
  ['', 'zzz', 'see cadre --help'],
  ['sessions', 'lits', 'did you mean cadre sessions list?'],
  ['sessions', 'kill', 'did you mean cadre sessions close?'],
  ['sessions', 'logs', 'did you mean cadre service logs or cadre processes logs?'],
  ['teams', 'ls', 'did you mean cadre teams list?'],
  ['teams', 'zzz', 'see cadre teams --help'],
])('An unknown name suggests across nouns and verbs: after "%s", "%s".', ([above, words, hint]) => {
  const error = unknownCommand(above.split(' ').filter(Boolean), words.split(' '));
  expect(error.code).toBe('usage');
  expect(error.message).toContain(hint);
});
