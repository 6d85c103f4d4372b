import fs from 'node:fs';
import path from 'node:path';
import type { Step } from './transcript.ts';

/** Whether the pages are changed to what their commands write, instead of a failure where that differs. */
export const isUpdate = process.env.UPDATE_PAGES === '1';

/** The outputs of a page that have changed; the page is written once, at the end. */
export class PageUpdate {
  readonly #page: string;
  readonly #changes: { step: Step; output: string }[] = [];

  constructor(page: string) {
    this.#page = page;
  }

  replace(step: Step, output: string): void {
    if (output !== step.output) this.#changes.push({ step, output });
  }

  write(): void {
    if (this.#changes.length === 0) return;
    const file = path.join(import.meta.dirname, '../..', this.#page);
    const lines = fs.readFileSync(file, 'utf8').split('\n');
    const fromTheEnd = this.#changes.toSorted((a, b) => b.step.outputLine - a.step.outputLine);
    for (const { step, output } of fromTheEnd)
      lines.splice(step.outputLine - 1, lineCount(step.output), ...linesOf(output));
    fs.writeFileSync(file, lines.join('\n'));
  }
}

function linesOf(output: string): string[] {
  return output === '' ? [] : output.split('\n');
}

function lineCount(output: string): number {
  return linesOf(output).length;
}
