import { expect, test } from 'vitest';
import { overviewOf } from '../../../src/frontends/tui/read-overview.ts';
import { sessionName, withTitles } from '../../../src/frontends/tui/titles.ts';
import { session } from './list-records.ts';

const id = 'sess_01a20437f78b711c895c111dac4e8655';

test('A session is named by its title and the end of its id.', () => {
  expect(sessionName(id, 'tidy up')).toBe('session "tidy up" (ac4e8655)');
  expect(sessionName(id, null)).toBe('session ac4e8655');
});

test('Control characters of a title are removed.', () => {
  expect(sessionName(id, 'tidy\u001b[31m\nup')).not.toMatch(/[\u001b\n]/);
});

const overview = overviewOf({
  sessions: [session(id, 1, { title: 'tidy $& up' }), session('sess_2', 2, { title: null })],
  approvals: [],
  processes: [],
});

test('A message names a listed session by its title.', () => {
  const named = 'session "tidy $& up" (ac4e8655)';
  expect(withTitles(`session ${id} is closed`, overview)).toBe(`${named} is closed`);
  expect(withTitles(`session "${id}" has no turn`, overview)).toBe(`${named} has no turn`);
});

test('A message keeps the id of a session that is not listed or has no title.', () => {
  for (const text of ['session sess_2 is closed', 'session sess_3 is closed'])
    expect(withTitles(text, overview)).toBe(text);
});
