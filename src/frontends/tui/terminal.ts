import type { Clock } from '../../core/lib/clock.ts';
import { Observable } from './observable.ts';
import { type MouseAction, mouseActionsIn } from './mouse-actions.ts';

/** The terminal that the screen is on, beyond what ink draws. */
export interface Terminal {
  /** Whether it has the focus. Until it reports that, a key in the last minute counts as the focus. */
  hasFocus: Observable<boolean>;
  /** Get what a mouse does, in order. */
  pointers: Set<(mouseAction: MouseAction) => void>;
  /** The directory in which the program was started. */
  directory: string;
  /** Writes a sequence that is not part of a frame and moves no cursor. */
  write: (sequence: string) => void;
  /** Puts a text on its clipboard. False for a text that is too long for that. */
  copy: (text: string) => boolean;
  /** Gives the terminal back, stops this process group as a shell does, and takes the terminal again after that. */
  suspend: () => Promise<void>;
  /** Lends the terminal, with its keys, to a program that `work` runs, and takes it again when that has ended. */
  lend: (work: () => Promise<void>) => Promise<void>;
  /** Continues to watch the typed keys, once ink reads them again. */
  listen: () => void;
}

/**
 * Line wrap is off, because ink moves the cursor relative to the line it wrote last: a line that the terminal shows
 * wider than ink measured it would wrap and shift every line below it. And the terminal says whether it has the focus.
 */
const TAKE = '\u001B[?7l\u001B[?1004h';
const GIVE_BACK = '\u001B[?1004l\u001B[?7h';
/** Clicks and the wheel of a mouse, in the form that has no largest column. */
const TAKE_MOUSE = '\u001B[?1000h\u001B[?1006h';
const LEAVE_MOUSE = '\u001B[?1006l\u001B[?1000l';
/** The signals that end the program before it has given the terminal back. */
const ENDING = ['SIGHUP', 'SIGQUIT'] as const;
const FOCUS = /\u001B\[([IO])/g;
/** A terminal that does not report its focus counts as looked at for this time after a key. */
const KEY_MS = 60_000;
/** The limit for the stop signal: a process without a shell is never stopped. */
const STOP_MS = 200;

interface TerminalOptions {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  env: NodeJS.ProcessEnv;
  clock: Clock;
  /** Whether the terminal reports what a mouse does. */
  mouse?: boolean;
}

/** Takes a terminal until it is disposed or the process exits. */
export function takeTerminal(options: TerminalOptions): Terminal & Disposable {
  const { stdin, stdout, env, clock, mouse = false } = options;
  const hasFocus = new Observable(true);
  const away = () => clock.after(KEY_MS, () => hasFocus.set(false));
  // The command that opened the screen was typed. Null: the terminal reports its focus.
  let idle: Disposable | null = away();
  const pointers: Terminal['pointers'] = new Set();
  const look = (data: unknown) => {
    for (const mouseAction of mouse ? mouseActionsIn(String(data)) : [])
      for (const pointer of pointers) pointer(mouseAction);
    const reports = [...String(data).matchAll(FOCUS)];
    idle?.[Symbol.dispose]();
    if (reports.length > 0) idle = null;
    for (const [, report] of reports) hasFocus.set(report === 'I');
    if (!idle) return;
    hasFocus.set(true);
    idle = away();
  };
  const take = () => void stdout.write(mouse ? TAKE + TAKE_MOUSE : TAKE);
  const giveBack = () => void stdout.write(mouse ? LEAVE_MOUSE + GIVE_BACK : GIVE_BACK);
  const end = (name: NodeJS.Signals) => {
    giveBack();
    // Then only ink listens, which ends the process.
    process.off(name, end);
    process.kill(process.pid, name);
  };
  take();
  process.once('exit', giveBack);
  for (const name of ENDING) process.on(name, end);
  return {
    hasFocus,
    pointers,
    directory: process.cwd(),
    write: (sequence) => void stdout.write(sequence),
    copy: (text) => toClipboard(stdout, text, env),
    // After ink has begun to read: then this listener only looks on.
    listen: () => void stdin.on('data', look),
    async suspend() {
      giveBack();
      const resumed = Promise.withResolvers<void>();
      process.once('SIGCONT', resumed.resolve);
      process.kill(0, 'SIGTSTP');
      await Promise.race([resumed.promise, clock.sleep(STOP_MS)]);
      process.off('SIGCONT', resumed.resolve);
      take();
    },
    async lend(work) {
      giveBack();
      // A paused stream with listeners still reads, and would take keys of the program. The stream notices in the next
      // turn that ink has removed its listener.
      stdin.off('data', look);
      await clock.sleep(0);
      stdin.pause();
      try {
        await work();
      } finally {
        take();
      }
    },
    [Symbol.dispose]() {
      idle?.[Symbol.dispose]();
      stdin.off('data', look);
      process.off('exit', giveBack);
      for (const name of ENDING) process.off(name, end);
      giveBack();
    },
  };
}

/** Terminals ignore a longer sequence. In characters of base64. */
const LONGEST = 74_994;

/**
 * Asks the terminal to put a text on the clipboard, by the sequence OSC 52; no terminal says whether it has done so.
 * Within tmux the sequence is also passed on to the terminal around it, since tmux obeys it only if it is set to.
 * Returns false, and writes nothing, for a text that is too long for a terminal (about 56 KB).
 */
export function toClipboard(
  terminal: { write: (text: string) => unknown },
  text: string,
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  const data = Buffer.from(text).toString('base64');
  if (data.length > LONGEST) return false;
  const sequence = `\u001b]52;c;${data}\u0007`;
  terminal.write(env.TMUX ? `${sequence}\u001bPtmux;\u001b${sequence}\u001b\\` : sequence);
  return true;
}
