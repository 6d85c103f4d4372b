import { expect, test } from 'vitest';
import { unknownCommand } from '../../../src/frontends/cli/suggest.ts';

test.for<[above: string, words: string, hint: string]>([
  ['', 'session list', 'did you mean cadre sessions list?'],
  ['', 'sesions', 'did you mean cadre sessions?'],
  ['', 'session get x', 'did you mean cadre sessions get?'],
  ['', 'new', 'did you mean cadre run or cadre sessions create?'],
  ['', 'start', 'did you mean cadre serve, cadre service install or cadre run?'],
  ['', 'exec', 'did you mean cadre processes run or cadre sessions send?'],
  ['', 'log', 'did you mean cadre processes logs, cadre service logs or cadre events tail?'],
  [
    '',
    'describe',
    'did you mean cadre sessions show, cadre processes show, cadre worktrees show or ',
  ],
  [
    '',
    'inspect x',
    'did you mean cadre sessions show, cadre processes show, cadre worktrees show or ',
  ],
  ['', 'kill', 'did you mean cadre processes stop or cadre sessions interrupt?'],
  ['', 'rm', 'did you mean cadre worktrees cleanup, cadre teams delete, cadre queue remove or '],
  ['', 'attach', 'did you mean cadre sessions attach?'],
  ['', 'get sessions', 'did you mean cadre sessions get?'],
  ['', 'delete team', 'did you mean cadre teams delete?'],
  ['', 'approve', 'did you mean cadre approvals accept?'],
  ['', 'versoin', 'did you mean cadre version?'],
  ['', 'zzz', 'see cadre --help'],
  ['sessions', 'lits', 'did you mean cadre sessions list?'],
  ['sessions', 'kill', 'did you mean cadre sessions interrupt or cadre sessions close?'],
  ['sessions', 'logs', 'did you mean cadre service logs or cadre processes logs?'],
  ['teams', 'ls', 'did you mean cadre teams list?'],
  ['teams', 'zzz', 'see cadre teams --help'],
])(
  'The error for an unknown name after "%s" suggests similar commands: "%s".',
  ([above, words, hint]) => {
    const error = unknownCommand(above.split(' ').filter(Boolean), words.split(' '));
    expect(error.code).toBe('usage');
    expect(error.message).toContain(hint);
  },
);
