import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { keptPort } from '../../support/kept-port.ts';
import { startServer, untilNothingCarries } from '../../support/server.ts';
import { tempDirectory } from '../../support/temp.ts';
import { type TerminalProcess, runInTerminal } from '../../support/tui/pty.ts';

/** Where what is shown is kept. */
const KEPT = import.meta.dirname;
/** Nothing needs a person, and nothing is unseen. */
const allSeen = /1:(Needs you )?0 +2:(Running )?0/;

/** Does a day's work on the screen, in a real terminal of that size; what it shows has to be what is kept in test/campaigns/day. */
export async function expectADayAsKept(size: { rows: number; columns: number }): Promise<void> {
  await using place = tempDirectory('server');
  const directory = place.path;
  const shop = path.join(directory, 'ada', 'shop');
  mkdirSync(shop, { recursive: true });
  writeFileSync(path.join(shop, 'notes.txt'), 'one\nthree\n');
  const args = ['--port', String(await keptPort())];
  let server = await startServer(directory, { args });
  try {
    await using terminal = runInTerminal(directory, [], { NO_COLOR: '1' }, size);
    const day = new Day(terminal);
    const { type, expectShows, emulator } = terminal;

    await expectShows('press n to open one');
    await day.saveResponse('start');

    await type('n').shows('worktree   None');
    await type('say **Hello** from the `agent`').shows('**Hello** from the');
    for (const field of ['provider', 'model', 'permission', 'mode', 'cwd']) {
      await type('\t').shows(`▌${field}`);
    }
    await type('\u0015').shows('Directory of the');
    await type(shop).shows(/ada.shop/);
    await type('\u0013').shows(/[○●] +say \*\*Hello/);
    await type('\r').shows(/(^|│ )Hello from/m);
    await expectShows(allSeen);
    await day.saveResponse('talk');

    await type('i').shows('⏎ send');
    await type('ask rm -rf build\r').shows('a approve');
    await type('a').shows(/⏎ approve|space \d+ more/);
    await day.saveResponse('approve');
    await type('\u001b[F').shows('⏎ approve');
    await type('\r').shows('Approved');

    await type('i').shows('⏎ send');
    await type('edit notes.txt => two\r').shows(/a approve/);
    await type('a').shows(/⏎ approve|space \d+ more/);
    await type('\u001b[F').shows('+two');
    await expectShows('⏎ approve');
    await day.saveResponse('diff');
    await type('\r').shows('Approved "Edit');
    await expectShows(allSeen);

    await server.client.call(endpoints.createProcess, {
      body: { command: 'echo tests run; echo all passed', cwd: shop },
    });
    await type('q').shows('PROCESSES 1');
    await type('G\r').shows(/(^|│ )all passed/m);
    await expectShows(/4:(Ended )?1/);
    await expectShows('exited  o switch');
    await day.saveResponse('log');
    await type('r').shows('Restarted');
    await expectShows(/4:(Ended )?2/);
    await expectShows(/(^|│ )all passed/m);
    await expectShows('exited  o switch');
    // The notice goes after a few seconds.
    await day.saveResponse('restart', { isWithoutFoot: true });

    await type('q/echo').shows('/ echo');
    await day.saveResponse('filter');
    type('\r');
    await type('y').shows('Copy: 1');
    await day.saveResponse('copy');
    await type('1').shows('Copied');
    expect(emulator.written).toContain('\u001b]52;c;');
    await type('\u001b').shows('SESSIONS 1');

    await server.end('SIGKILL');
    await expectShows('reconnecting');
    await day.saveResponse('server killed');
    server = await startServer(directory, { args });
    await expectShows(/live$/m);
    await day.saveResponse('server back');
    type('q');
    expect(await terminal.ended).toEqual({ code: 0, terminal: 'as it was' });
    await expect(day.text()).toMatchFileSnapshot(
      path.join(KEPT, `${size.columns}x${size.rows}.txt`),
    );
  } finally {
    await server.end('SIGKILL');
    await untilNothingCarries(directory);
  }
}

/** Longer than the time between two frames, and shorter than a second, after which counters of seconds change. */
const STILL_MS = 200;

/** The saved states of the screen, with ids, times and paths replaced by constants. */
class Day {
  readonly #terminal: TerminalProcess;
  readonly #kept: string[] = [];

  constructor(terminal: TerminalProcess) {
    this.#terminal = terminal;
  }

  /** Saves the state of the screen once the output stops. */
  async saveResponse(name: string, { isWithoutFoot = false } = {}): Promise<void> {
    const { emulator } = this.#terminal;
    let before = -1;
    let since = 0;
    await expectEventually(() => {
      if (emulator.written.length !== before) since = performance.now();
      before = emulator.written.length;
      return performance.now() - since > STILL_MS;
    }).toBe(true);
    const lines = isWithoutFoot ? emulator.lines().slice(0, -1) : emulator.lines();
    this.#kept.push(`===== ${name} =====\n${stable(lines.join('\n'))}\n`);
  }

  text(): string {
    return this.#kept.join('\n');
  }
}

/** Returns a pattern for the random part of the name of a test directory. */
const random = (name: string) => new RegExp(`(?<=${name}-)\\w{6}`, 'g');

function stable(text: string): string {
  return (
    text
      .replaceAll(random('cadre-test'), 'XXXXXX')
      .replaceAll(random('server'), 'XXXXXX')
      // The whole path of the file has a different length on each machine.
      .replace(/^(.*\n)[\s\S]*?(?=@@)/, '$1file_change: Edit PATH\n')
      .replaceAll(/reconnecting \(\d+s\)/g, 'reconnecting (Ns)')
      .replaceAll(/ \dm(?= *(│|\n|$))/g, 'now')
      .replaceAll(/\n{3,}/g, '\n\n')
      .replaceAll(
        /^( *│\n)\1{2,}/gm,
        (lines, line: string) => `${line}(${lines.length / line.length} such lines)\n`,
      )
  );
}
