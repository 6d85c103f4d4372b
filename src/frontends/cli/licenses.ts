export interface License {
  name: string;
  version: string;
  /** As its package.json has it: an SPDX expression. */
  license: string;
  /** The licence with its notices, whole. */
  text: string;
}

/**
 * The text that is shipped as THIRD-PARTY-LICENSES: a list, then each licence.
 *
 * @throws Error where a licence has a line that this text is divided by.
 */
export function licensesText(all: readonly License[]): string {
  const titles = all.map((one) => titleOf(one));
  const parts = all.map((one, at) => {
    if (one.text.includes(RULE))
      throw new Error(
        `cannot list the licences: the text of the licence of ${one.name} contains a line of "=", which marks the end of a licence`,
      );
    return `${RULE}\n${titles[at]}\n${RULE}\n\n${one.text.trim()}\n`;
  });
  return [`${HEAD}\n${titles.map((title) => `  ${title}\n`).join('')}`, ...parts].join('\n');
}

export function licensesIn(text: string): License[] {
  return text.split(`${RULE}\n`).flatMap((title, at, parts) => {
    const [, name, version, license] = /^(\S+) (\S+), (.+)\n$/.exec(title) ?? [];
    if (at % 2 === 0 || !name || !version || !license) return [];
    return [{ name, version, license, text: `${parts[at + 1]?.trim()}\n` }];
  });
}

function titleOf({ name, version, license }: License): string {
  return `${name} ${version}, ${license}`;
}

const RULE = '='.repeat(80);

const HEAD = `cadre is under the Apache License 2.0; its text is the file LICENSE of the project.
This program contains the following packages of others, under the licences below.
`;
