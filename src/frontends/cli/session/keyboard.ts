import { StringDecoder } from 'node:string_decoder';
import type { Clock } from '../../../core/lib/clock.ts';
import type { Terminal } from './terminal.ts';

/** No key may have been pressed for so long before a question takes an answer. */
const QUIET_MS = 300;

/** An escape sequence of a key such as an arrow, or one character. */
const KEY = /\u001b(?:\[[0-?]*[ -/]*[@-~]|O.|.)|[\s\S]/gu;

/** The keys that have the terminal send a signal, while it is not in raw mode. */
const SIGNAL_OF: Readonly<Record<string, NodeJS.Signals>> = {
  '\u0003': 'SIGINT',
  '\u001a': 'SIGTSTP',
  '\u001c': 'SIGQUIT',
};

/** The other answers of `next`: the terminal is gone, or the program continues after Ctrl-Z. */
export const noKeys = { gone: 'gone', continued: 'continued' } as const;

/** The signals that end the program before it could restore the terminal. */
const ENDING = ['SIGHUP', 'SIGQUIT'] as const;

/**
 * Single keys of a terminal, which is in raw mode until this is disposed, and in its earlier mode again whenever the
 * program stops or ends. Ctrl-C, Ctrl-Z and Ctrl-\ send their signals as ever.
 */
export class Keyboard implements Disposable {
  readonly #terminal: Terminal;
  readonly #input: NodeJS.ReadStream;
  readonly #wasRaw: boolean;
  readonly #decoder = new StringDecoder('utf8');
  #pressed: string[] = [];
  /** Whether any key was pressed since this was last set to false. */
  #isDisturbed = false;
  #woken: (() => void) | null = null;

  constructor(terminal: Terminal) {
    const input = terminal.open();
    this.#terminal = terminal;
    this.#input = input;
    this.#wasRaw = input.isRaw;
    input.on('data', this.#take).on('end', this.#hangUp);
    process.on('SIGCONT', this.#continue);
    for (const name of ENDING) process.on(name, this.#end);
    input.setRawMode(true);
    input.resume();
  }

  /**
   * Resolves once no key was pressed for a moment, and forgets all that was pressed before: what somebody typed ahead
   * answers no question that is not on the terminal yet. Rejects with the signal's reason if it aborts.
   */
  async quiet(clock: Clock, signal: AbortSignal): Promise<void> {
    do {
      this.#isDisturbed = false;
      await clock.sleep(QUIET_MS, signal);
      // Whatever the terminal holds already is read before this resolves, also where the machine was slow.
      await new Promise((resolve) => setImmediate(resolve));
    } while (this.#isDisturbed);
    this.#pressed = [];
  }

  /** The next key, or one of `noKeys`. Rejects with the signal's reason if it aborts. */
  async next(signal: AbortSignal): Promise<string> {
    for (;;) {
      signal.throwIfAborted();
      const key = this.#pressed.shift();
      if (key !== undefined) return key;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#woken = resolve;
      signal.addEventListener('abort', this.#wake, { once: true });
      await promise;
      signal.removeEventListener('abort', this.#wake);
    }
  }

  [Symbol.dispose](): void {
    this.#input.setRawMode(this.#wasRaw);
    this.#input.pause();
    this.#input.off('data', this.#take).off('end', this.#hangUp);
    process.off('SIGCONT', this.#continue);
    for (const name of ENDING) process.off(name, this.#end);
    this.#terminal.close(this.#input);
  }

  readonly #wake = () => this.#woken?.();

  readonly #take = (chunk: Buffer | string) => {
    const text = typeof chunk === 'string' ? chunk : this.#decoder.write(chunk);
    for (const [key] of text.matchAll(KEY)) this.#press(key);
  };

  readonly #hangUp = () => this.#hand(noKeys.gone);

  #press(key: string): void {
    const signal = SIGNAL_OF[key];
    this.#isDisturbed = true;
    if (signal === 'SIGTSTP') this.#stop();
    else if (signal) process.kill(process.pid, signal);
    else this.#hand(key);
  }

  #hand(key: string): void {
    this.#pressed.push(key);
    this.#wake();
  }

  /** Stops the program with all others of its job, as the terminal would. */
  #stop(): void {
    this.#input.setRawMode(this.#wasRaw);
    process.kill(0, 'SIGTSTP');
  }

  readonly #continue = () => {
    this.#input.setRawMode(true);
    this.#hand(noKeys.continued);
  };

  readonly #end = (name: NodeJS.Signals) => {
    this[Symbol.dispose]();
    process.kill(process.pid, name);
  };
}
