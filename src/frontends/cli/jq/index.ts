import { Writable } from 'node:stream';
import { type Jq, loadJq } from 'jq-wasm';
import { usageError } from '../../../api/errors.ts';
import { readAsset } from '../../../core/lib/self.ts';
import { reportFailure } from '../exit.ts';
import { safeOn, type CommandIo } from '../command-io.ts';

/**
 * Stands for stdout: each JSON document that a command writes goes through an expression of jq. A text is printed as it
 * is, any other value as JSON on one line. Documents that are written together are filtered together, because each run of
 * jq compiles the expression again.
 */
export class JqOutput extends Writable {
  readonly #jq: Jq;
  readonly #expression: string;
  readonly #outside: Pick<CommandIo, 'stdout' | 'stderr'>;
  #failed = false;

  private constructor(jq: Jq, expression: string, outside: Pick<CommandIo, 'stdout' | 'stderr'>) {
    super({ decodeStrings: false });
    this.#jq = jq;
    // jq would take an expression that starts with a hyphen for an option.
    this.#expression = expression.startsWith('-') ? ` ${expression}` : expression;
    this.#outside = outside;
  }

  /** Loads jq. Throws `usage`, with the position, for an expression that jq does not compile. */
  static async open(
    expression: string,
    outside: Pick<CommandIo, 'stdout' | 'stderr'>,
  ): Promise<JqOutput> {
    // A copy, because in the executable the bytes of an asset are read-only.
    const jq = await loadJq({ wasmBinary: new Uint8Array(readAsset('jq.wasm')) });
    const output = new JqOutput(jq, expression, outside);
    output.#compile();
    return output;
  }

  get failed(): boolean {
    return this.#failed;
  }

  /** Resolves once all that was written has been filtered and passed on. */
  drained(): Promise<void> {
    return new Promise((resolve) => this.end(resolve));
  }

  override _write(text: string, _encoding: string, done: () => void): void {
    this._writev([{ chunk: text }], done);
  }

  override _writev(parts: readonly { chunk: string }[], done: () => void): void {
    this.#filter(parts.map(({ chunk }) => chunk).join(''));
    // All writes until then are one batch.
    setImmediate(done);
  }

  /** Without input, jq compiles the expression and does not run it. */
  #compile(): void {
    const { exitCode, stderr } = this.#jq.raw('', this.#expression);
    if (exitCode === 0) return;
    const [, problem = stderr.trim(), line, column] =
      /^jq: error: ([^\n]*?)(?: at <top-level>, line (\d+)(?:, column (\d+))?)?:?(?:\n|$)/.exec(
        stderr,
      ) ?? [];
    const shift = line === '1' ? this.#added : 0;
    const location =
      line === undefined
        ? ''
        : ` at line ${line}${column === undefined ? '' : `, column ${Number(column) - shift}`}`;
    throw usageError(`invalid --jq expression${location}: ${problem}`);
  }

  #filter(documents: string): void {
    const { stdout, stderr } = this.#outside;
    const found = this.#jq.raw(documents, this.#expression, ['-c']);
    const lines = found.stdout.split('\n').filter(Boolean).map(printed);
    if (lines.length > 0) stdout.write(safeOn(stdout, lines.join('')));
    if (found.exitCode !== 0) this.#failed = true;
    for (const line of found.stderr.split('\n').filter(Boolean)) {
      const [, problem] = /^jq: error (?:\(at .*?\))?:? ?(.*)$/.exec(line) ?? [];
      if (problem === undefined) stderr.write(`${safeOn(stderr, line)}\n`);
      else reportFailure(usageError(`the --jq expression failed: ${problem}`), true, stderr);
    }
  }

  /** How many characters were put before the expression. */
  get #added(): number {
    return this.#expression.startsWith(' -') ? 1 : 0;
  }
}

/** A value on one line, which jq printed as compact JSON; a text without its quotes. */
function printed(line: string): string {
  return `${line.startsWith('"') ? (JSON.parse(line) as string) : line}\n`;
}
