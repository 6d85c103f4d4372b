import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest';
import { hasPty } from '../support/tui/pty.ts';
import { type Ids, isShown, withIds, withoutIds } from './masks.ts';
import { type Block, blocksOf, type Notes } from './page.ts';
import { stepsOf } from './transcript.ts';
import { type Key, newUser, type User, type Written } from './user.ts';

/**
 * Tests that each block of these pages does what the page shows. A page is read from its top: each block finds what those
 * before it have made. The comments that say how a block is run are those of `Notes` in page.ts. Without Python there is
 * no terminal; on Debian: apt-get install python3.
 */
export function describePages(pages: readonly string[]): void {
  describe.skipIf(!hasPty).each(pages.filter((page) => runsIn(page).length > 0))('%s', (page) => {
    let user: User;
    let failed = false;
    const ids: Ids = new Map();
    beforeAll(() => void (user = newUser()));
    afterAll(() => user[Symbol.asyncDispose]());

    test.each(runsIn(page).map((block) => [block.line, block] as const))('%i', async (_, block) => {
      // What follows a failure would only repeat it.
      if (failed) return;
      onTestFailed(() => void (failed = true));
      await expectAsShown(block, user, ids);
    });
  });
}

function runsIn(page: string): Block[] {
  return blocksOf(page).filter(
    ({ language, notes }) => ['console', 'sh'].includes(language) && notes['not run'] === undefined,
  );
}

async function expectAsShown(block: Block, user: User, ids: Ids): Promise<void> {
  const { page, line, notes, text, language } = block;
  const place = `${page}:${line}`;
  for (const first of notes.first ?? []) expectWell(place, await type(user, withIds(first, ids)));
  if (language === 'sh') return expectWell(place, await user.runs(withIds(text, ids)));
  const steps = stepsOf(block);
  for (const step of steps) {
    const { place, command, output } = step;
    const written = await type(user, withIds(command, ids), step === steps.at(-1) ? notes : {});
    const where = `${place} $ ${command}`;
    if (!isShown(output, written.text, ids)) {
      expect(`${where}\n${withoutIds(written.text)}`).toBe(`${where}\n${withoutIds(output)}`);
      expect.fail(`${where}: the page has other ids than before for the same things`);
    }
    // A failure whose words the page shows is meant.
    if (output === '') expectWell(where, written);
  }
}

function type(user: User, command: string, { keys, size }: Notes = {}): Promise<Written> {
  if (/^cadre serve\b(?!.*--detach)/.test(command)) return user.serves(command);
  const [columns, rows] = size?.split('x').map(Number) ?? [];
  return user.runs(command, keysOf(keys), rows && columns ? { rows, columns } : undefined);
}

function expectWell(where: string, written: Written): void {
  expect({ where, ...written }).toMatchObject({ where, code: 0 });
}

/** Reads `"accept?" y, "bye" ^D`. */
function keysOf(note = ''): Key[] {
  return [...note.matchAll(/"([^"]+)" ([^,]+)/g)].map(([, after = '', typed = '']) => ({
    after,
    typed: typed
      .trim()
      .replace(/\^([A-Z])/g, (_, letter: string) => String.fromCharCode(letter.charCodeAt(0) - 64))
      .replace(/ ?Enter/, '\r')
      .replace('Escape', '\u001b'),
  }));
}
