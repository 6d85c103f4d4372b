import { runInTerminal } from '../../support/tui/pty.ts';
import { cpuMs, type Meter } from './meter.ts';

const SIZE = { rows: 40, columns: 120 };
/** The mark of the selected row. */
const SELECTED = '▌';

/** Measures the screen: its first rows, its complete list, a key, and the end of the list of ended sessions. */
export async function measureScreen(directory: string, meter: Meter): Promise<void> {
  const began = performance.now();
  await using terminal = runInTerminal(directory, ['top'], {}, SIZE);
  const { emulator, type, until } = terminal;
  const sinceStart = (pid: number) => ({ value: cpuMs(pid), passedMs: performance.now() - began });
  await until(() => /(piece|job) \d/.test(emulator.text()));
  const pid = terminal.pid();
  meter.figures['screen: first rows'] = sinceStart(pid);
  await until(() => /live *$/.test(emulator.lines()[0] ?? ''));
  meter.figures['screen: complete list'] = sinceStart(pid);
  const selected = () => emulator.lines().findIndex((line) => line.startsWith(SELECTED));
  let isDown = false;
  const press = async () => {
    const before = selected();
    isDown = !isDown;
    // Down, and up again: the list does not scroll.
    type(isDown ? 'j' : 'k');
    await until(() => selected() !== before);
  };
  await meter.often('screen: key to frame', press, pid);
  await meter.once(
    'screen: last of the ended sessions',
    async () => {
      type('4');
      await until(() => emulator.text().includes('ENDED'));
      type('G');
      // The heading has the numbers of the shown rows, the last of which is the last of the list.
      await until(() => /ENDED \d+-(\d+) of \1$/m.test(emulator.text().replaceAll(/ *│.*$/gm, '')));
    },
    pid,
  );
}
