import { median } from '../../../bench/report/statistics.ts';
import { inTerminal } from '../../support/tui/pty.ts';

const SIZE = { rows: 40, columns: 120 };
/** The mark of the selected row. */
const SELECTED = '▌';
const KEYS = 20;

/** The times of the screen in milliseconds: its first rows, its complete list, keys, and the end of the list of ended sessions. */
export async function screenTimes(directory: string) {
  const began = performance.now();
  await using terminal = inTerminal(directory, ['top'], {}, SIZE);
  const { glass, type, until } = terminal;
  const since = (from: number) => performance.now() - from;
  await until(() => /(piece|job) \d/.test(glass.text()));
  const firstRows = since(began);
  await until(() => /live *$/.test(glass.lines()[0] ?? ''));
  const complete = since(began);
  const selected = () => glass.lines().findIndex((line) => line.startsWith(SELECTED));
  const keys: number[] = [];
  for (let n = 0; n < KEYS; n++) {
    const [before, typed] = [selected(), performance.now()];
    // Down, and up again: the list does not scroll.
    type(n % 2 === 0 ? 'j' : 'k');
    await until(() => selected() !== before);
    keys.push(since(typed));
  }
  const ended = performance.now();
  type('4');
  await until(() => /ENDED/.test(glass.text()));
  type('G');
  // The heading has the numbers of the shown rows, the last of which is the last of the list.
  await until(() => /ENDED \d+-(\d+) of \1$/m.test(glass.text().replaceAll(/ *│.*$/gm, '')));
  return {
    'screen: first rows': firstRows,
    'screen: complete list': complete,
    'screen: key to frame': median(keys),
    'screen: last of the ended sessions': since(ended),
  };
}
