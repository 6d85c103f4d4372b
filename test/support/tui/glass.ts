import { stripVTControlCharacters } from 'node:util';

/** What somebody sees on a terminal: as much of one as the screen makes use of. */
export class Glass {
  /** All that was written. */
  written = '';
  /** How many frames were drawn. */
  frames = 0;
  /** Whether the second screen is shown, and the cursor. */
  isAlternate = false;
  hasCursor = true;
  /** What it showed when the second screen went. */
  before = '';
  #lines: string[] = [];
  #row = 0;
  #rest = '';

  write(text: string): void {
    this.written += text;
    const all = this.#rest + text;
    // A sequence may be cut in the middle.
    const whole = all.replace(/\u001b(\[[?\d;]*)?$/, '');
    this.#rest = all.slice(whole.length);
    for (const part of whole.split(/(\u001b\[[?\d;]*[A-Za-z])/).filter(Boolean)) this.#take(part);
  }

  text(): string {
    return this.#lines.map((line) => stripVTControlCharacters(line).trimEnd()).join('\n');
  }

  lines(): string[] {
    return this.text().split('\n');
  }

  #take(part: string): void {
    const place = /^\u001b\[(\d+);1H$/.exec(part);
    if (place) this.#row = Number(place[1]) - 1;
    else if (part === '\u001b[2J') this.#lines = [];
    else if (part === '\u001b[2K') this.#lines[this.#row] = '';
    else if (part === '\u001b[?2026h') this.frames++;
    else if (/^\u001b\[\?1049[hl]$/.test(part)) this.#switch(part.endsWith('h'));
    else if (/^\u001b\[\?25[hl]$/.test(part)) this.hasCursor = part.endsWith('h');
    else if (!part.startsWith('\u001b[?'))
      this.#lines[this.#row] = (this.#lines[this.#row] ?? '') + part;
  }

  #switch(isAlternate: boolean): void {
    if (!isAlternate) this.before = this.text();
    this.isAlternate = isAlternate;
    this.#lines = [];
    this.#row = 0;
  }
}
