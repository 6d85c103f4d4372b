import { stripVTControlCharacters } from 'node:util';

/** A terminal emulator for the control sequences that the screen uses. Each character is one column wide. */
export class TerminalEmulator {
  /** All output so far. */
  written = '';
  /** Control sequences that the screen should not use, such as the one that clears the scrollback. */
  readonly unknown: string[] = [];
  /** The number of synchronized updates that have begun. */
  frames = 0;
  /** Whether the alternate screen is shown. */
  isAlternate = false;
  hasCursor = true;
  /** Whether the terminal reports clicks. */
  hasMouse = false;
  wraps = true;
  /** The last content of the alternate screen before the program left it. */
  before = '';
  #size: { rows: number; columns: number };
  #lines: string[] = [];
  #row = 0;
  #column = 0;
  #rest = '';

  constructor(size: { rows: number; columns: number }) {
    this.#size = size;
  }

  write(text: string): void {
    this.written += text;
    const all = this.#rest + text;
    // A sequence may be cut in the middle.
    const whole = all.replace(/\u001b(\[[?\d;]*)?$/, '');
    this.#rest = all.slice(whole.length);
    for (const part of whole.split(/(\u001b\[[?\d;]*[A-Za-z]|[\r\n])/).filter(Boolean))
      this.#take(part);
  }

  text(): string {
    return this.lines().join('\n');
  }

  lines(): string[] {
    return Array.from(this.#lines, (line?: string) => line?.trimEnd() ?? '');
  }

  /** Removes rows at the top, as xterm does, so that the row with the cursor remains. */
  resize(size: { rows: number; columns: number }): void {
    this.#size = size;
    const gone = Math.max(0, this.#row + 1 - size.rows);
    this.#row -= gone;
    const kept = this.#lines.slice(gone, gone + size.rows);
    this.#lines = Array.from(kept, (line?: string) => line?.slice(0, size.columns) ?? '');
  }

  #take(part: string): void {
    const [, parameters = '', final = ''] = /^\u001b\[([?\d;]*)([A-Za-z])$/.exec(part) ?? [];
    if (parameters.startsWith('?')) this.#setMode(parameters, final === 'h');
    else if (final === '') this.#print(part);
    else this.#control(final, parameters.split(';').map(Number));
  }

  #setMode(parameters: string, isOn: boolean): void {
    if (parameters === '?7') this.wraps = isOn;
    else if (parameters === '?1000') this.hasMouse = isOn;
    else if (parameters === '?25') this.hasCursor = isOn;
    else if (parameters === '?2026') this.frames += Number(isOn);
    else if (parameters === '?1049') {
      if (!isOn) this.before = this.text();
      this.isAlternate = isOn;
      this.#lines = [];
      this.#moveTo(0, 0);
    }
  }

  #control(final: string, [first = 0, second = 0]: number[]): void {
    const line = this.#lines[this.#row] ?? '';
    if (final === 'A') this.#moveTo(this.#row - (first || 1), this.#column);
    else if (final === 'B') this.#moveTo(this.#row + (first || 1), this.#column);
    else if (final === 'E') this.#moveTo(this.#row + (first || 1), 0);
    else if (final === 'G') this.#moveTo(this.#row, first - 1);
    else if (final === 'H') this.#moveTo(first - 1, second - 1);
    else if (final === 'K' && first === 2) this.#lines[this.#row] = '';
    else if (final === 'K') this.#lines[this.#row] = line.slice(0, this.#column);
    else if (final === 'J' && first === 0) {
      this.#lines.length = Math.min(this.#lines.length, this.#row + 1);
      this.#lines[this.#row] = line.slice(0, this.#column);
    } else if (final !== 'm') this.unknown.push(`${first}${final}`);
  }

  #moveTo(row: number, column: number): void {
    this.#row = Math.max(0, Math.min(this.#size.rows - 1, row));
    this.#column = Math.max(0, Math.min(this.#size.columns - 1, column));
  }

  #print(text: string): void {
    if (text === '\r') this.#column = 0;
    else if (text === '\n') this.#nextLine();
    else
      for (const character of stripVTControlCharacters(text)) {
        if (this.#column === this.#size.columns && this.wraps) this.#nextLine();
        const at = Math.min(this.#column, this.#size.columns - 1);
        const line = (this.#lines[this.#row] ?? '').padEnd(at);
        this.#lines[this.#row] = line.slice(0, at) + character + line.slice(at + 1);
        this.#column = at + 1;
      }
  }

  #nextLine(): void {
    this.#column = 0;
    if (this.#row + 1 < this.#size.rows) this.#row++;
    else this.#lines = [...this.#lines.slice(1), ''];
  }
}
