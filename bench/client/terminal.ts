import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';

/** A program in a terminal of 100 columns and 30 rows, which `script` of util-linux makes. */
export class Terminal {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #ended: Promise<unknown>;
  #written = '';
  #look: () => void = () => undefined;

  constructor(words: readonly string[], env: NodeJS.ProcessEnv, cwd: string) {
    const { PATH = '' } = process.env;
    const command = `stty rows 30 columns 100 -echo; exec ${words.map(quoted).join(' ')}`;
    this.#child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
      cwd,
      env: { PATH, TERM: 'xterm-256color', LANG: 'C.UTF-8', SHELL: '/bin/sh', ...env },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    this.#ended = once(this.#child, 'close');
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.#written += text;
      this.#look();
    });
  }

  /** Types a text, if there is one, and resolves with the moment at which `wanted` is in what was written since. */
  async until(wanted: string, typed = ''): Promise<number> {
    this.#written = '';
    if (typed !== '') this.#child.stdin.write(typed);
    const { promise, resolve } = Promise.withResolvers<number>();
    this.#look = () => {
      if (this.#written.includes(wanted)) resolve(performance.now());
    };
    const ended = this.#ended.then(() => {
      throw new Error(`the program ended without "${wanted}": ${this.#written.slice(-1000)}`);
    });
    return Promise.race([promise, ended]);
  }

  async end(): Promise<void> {
    this.#child.kill();
    await this.#ended;
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
