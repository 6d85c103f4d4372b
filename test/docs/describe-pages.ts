import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest';
import { hasPty } from '../support/tui/pty.ts';
import { type Ids, isShown, withIds, withoutIds } from './masks.ts';
import { mergedOutput } from './merge.ts';
import { isUpdate, PageUpdate } from './page-update.ts';
import { type Block, blocksOf, type Notes } from './page.ts';
import { type Step, stepsOf } from './transcript.ts';
import { type Key, newUser, type User, type Written } from './user.ts';

/**
 * Tests that each block of these pages does what the page shows. A page is read from its top: each block finds what those
 * before it have made. `Notes` in page.ts describes the comments that say how a block is run. Without Python there is
 * no terminal; on Debian: apt-get install python3.
 *
 * With UPDATE_PAGES=1, an output that differs does not fail: the page gets the new output instead. A command that fails
 * without a word in the page still fails.
 */
export function describePages(pages: readonly string[]): void {
  describe.skipIf(!hasPty).each(pages.filter((page) => runsIn(page).length > 0))(
    'the page %s',
    (page) => {
      let user: User;
      let failed = false;
      const ids: Ids = new Map();
      const update = isUpdate ? new PageUpdate(page) : null;
      beforeAll(() => void (user = newUser()));
      afterAll(async () => {
        update?.write();
        await user[Symbol.asyncDispose]();
      });

      test.each(runsIn(page).map((block) => [block.line, block] as const))(
        'The block in line %i does what the page shows.',
        async (_, block) => {
          // The blocks after a failure would only repeat it.
          if (failed) return;
          onTestFailed(() => void (failed = true));
          await expectAsShown(block, user, ids, update);
        },
      );
    },
  );
}

function runsIn(page: string): Block[] {
  return blocksOf(page).filter(
    ({ language, notes }) => ['console', 'sh'].includes(language) && notes['not run'] === undefined,
  );
}

async function expectAsShown(
  block: Block,
  user: User,
  ids: Ids,
  update: PageUpdate | null,
): Promise<void> {
  const { page, line, notes, text, language } = block;
  const place = `${page}:${line}`;
  for (const first of notes.first ?? []) expectWell(place, await type(user, withIds(first, ids)));
  if (language === 'sh') return expectWell(place, await user.runs(withIds(text, ids)));
  const steps = stepsOf(block);
  for (const step of steps) {
    const { place, command, output } = step;
    const written = await type(user, withIds(command, ids), step === steps.at(-1) ? notes : {});
    const where = `${place} $ ${command}`;
    // A failure whose words the page shows is meant.
    if (output === '') expectWell(where, written);
    if (update) updateTo(written, step, ids, update);
    else expectShown(where, output, written, ids);
  }
}

function expectShown(where: string, output: string, { text }: Written, ids: Ids): void {
  if (isShown(output, text, ids)) return;
  expect(`${where}\n${withoutIds(text)}`).toBe(`${where}\n${withoutIds(output)}`);
  expect.fail(`${where}: the page has other ids than before for the same things`);
}

function updateTo({ text }: Written, step: Step, ids: Ids, update: PageUpdate): void {
  // The ids of an output that differs are learned line by line.
  const learned: Ids = new Map(ids);
  if (isShown(step.output, text, learned)) for (const [name, real] of learned) ids.set(name, real);
  else update.replace(step, mergedOutput(step.output, text, ids));
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
