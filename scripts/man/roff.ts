// Text as the macros of man(7) have it.

/** Text that is shown as it is. */
export function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/^(?=[.'])/gm, '\\&')
    .replaceAll(
      /[^\x00-\x7f]/gu,
      (one) => `\\[u${one.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`,
    );
}

export function bold(text: string): string {
  return `\\fB${escaped(text)}\\fR`;
}

/** A paragraph in which `this` is bold, in short lines. */
export function prose(text: string): string {
  const whole = text
    .trim()
    .replaceAll(/\s*\n\s*/g, ' ')
    .split('`')
    .map((part, at) => (at % 2 === 1 ? bold(part) : escaped(part)))
    .join('');
  return whole.replaceAll(/(.{40,70}) (?![.'])/g, '$1\n');
}

/** A term, and what is said of it. */
export function tagged(term: string, text: string): string {
  return `.TP\n${term}\n${prose(text) || '\\ '}`;
}

/** Lines that keep their breaks and their indent. */
export function verbatim(text: string): string {
  return `.PP\n.nf\n${escaped(text.replaceAll(/^\n+|\s+$/g, ''))}\n.fi`;
}

/** Subject of a page. */
export interface Page {
  name: string;
  section: 1 | 5 | 7;
  /** One line, for `whatis`. */
  about: string;
  /** The version of the program, and the date of the page as YYYY-MM-DD. */
  version: string;
  date: string;
}

/** A page: its head, and its sections with their titles. Sections without text are left out. */
export function page(
  { name, section, about, version, date }: Page,
  sections: readonly (readonly [title: string, text: string])[],
): string {
  const parts = sections
    .filter(([, text]) => text !== '')
    .map(([title, text]) => `.SH ${title.toUpperCase()}\n${text.replace(/^\.PP\n/, '')}\n`);
  return [
    `.\\" Written by scripts/man/write.ts.\n`,
    `.TH "${name.toUpperCase()}" "${section}" "${date}" "cadre ${version}" "cadre"\n`,
    `.SH NAME\n${escaped(name)} \\- ${escaped(about)}\n`,
    ...parts,
  ].join('');
}
