import { array, assert, constantFrom, property } from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { fitsPath } from '../../../../../src/server/conversations/approvals/rules/path-pattern.ts';

/** Whether a name fits, by trying every length of every `*`. */
function nameFits(wanted: string, name: string): boolean {
  if (wanted === '') return name === '';
  if (wanted.startsWith('*'))
    return nameFits(wanted.slice(1), name) || (name !== '' && nameFits(wanted, name.slice(1)));
  return name[0] === wanted[0] && nameFits(wanted.slice(1), name.slice(1));
}

/** Whether names fit, by trying every length of every `**`. */
function namesFit(pattern: string[], names: string[], isStrict: boolean): boolean {
  const [wanted, ...others] = pattern;
  const [name, ...further] = names;
  if (wanted === undefined) return name === undefined;
  const isHidden = name?.startsWith('.') === true;
  if (wanted === '**')
    return (
      namesFit(others, names, isStrict) ||
      (name !== undefined && !(isStrict && isHidden) && namesFit(pattern, further, isStrict))
    );
  if (name === undefined || !nameFits(wanted, name)) return false;
  if (isStrict && isHidden && !wanted.startsWith('.')) return false;
  return namesFit(others, further, isStrict);
}

it('A path pattern fits the paths that a search through all lengths of its stars finds, strict or not.', () => {
  const letter = constantFrom('a', 'b', '.', 'ab');
  const name = array(letter, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(''));
  const wanted = array(constantFrom('a', 'b', '.', '*'), { minLength: 1, maxLength: 5 }).map(
    (parts) => parts.join('').replaceAll(/\*+/g, '*'),
  );
  const names = array(name, { minLength: 1, maxLength: 6 }).filter((all) =>
    all.every((one) => !/^\.\.?$/.test(one)),
  );
  const patterns = array(
    constantFrom('**', 'a', '*', '.*').chain((one) => constantFrom(one)),
    {
      minLength: 1,
      maxLength: 5,
    },
  );
  const mixed = array(wanted, { minLength: 1, maxLength: 5 });
  for (const pattern of [patterns, mixed])
    assert(
      property(pattern, names, (parts, found) => {
        if (parts.some((one) => /^\.\.?$/.test(one))) return;
        for (const isStrict of [true, false])
          expect([
            isStrict,
            fitsPath(
              `/${parts.join('/')}`,
              '/',
              `/${found.join('/')}`,
              isStrict ? 'strict' : 'any',
            ),
          ]).toEqual([isStrict, namesFit(parts, found, isStrict)]);
      }),
      { numRuns: 3000, seed: 7 },
    );
});

describe('the cost of a path pattern', () => {
  afterEach(() => vi.restoreAllMocks());

  /** Returns the number of characters that the comparison of a path with a pattern searched. */
  function searched(pattern: string, file: string): number {
    let characters = 0;
    const { indexOf } = String.prototype;
    const spy = vi.spyOn(String.prototype, 'indexOf').mockImplementation(function counted(
      this: string,
      piece: string,
      from = 0,
    ) {
      const found = indexOf.call(this, piece, from);
      characters += (found < 0 ? this.length : found + piece.length) - from;
      return found;
    });
    fitsPath(pattern, '/', file, 'any');
    spy.mockRestore();
    return characters;
  }

  it('A comparison reads each name of 4,096 characters at most once, for up to 6 stars.', () => {
    const pieces = ['', 'a', '.', 'ab', 'aaa'];
    const names = ['a'.repeat(4095), '.'.repeat(4095), 'ab'.repeat(2047), `${'a'.repeat(4094)}b`];
    let most = 0;
    for (let stars = 1; stars <= 6; stars++)
      for (let choice = 0; choice < pieces.length ** Math.min(stars, 3); choice++) {
        const between = Array.from(
          { length: stars },
          (_, at) => `${pieces[Math.floor(choice / pieces.length ** (at % 3)) % pieces.length]}*`,
        );
        for (const end of ['', 'b', 'key'])
          for (const name of names)
            most = Math.max(most, searched(`**/${between.join('')}${end}`, `/${name}`));
      }
    expect(most).toBeLessThanOrEqual(4096);
  });

  it('A comparison compares each name of the path with each name of the pattern at most once.', () => {
    const file = `/${'a/'.repeat(2047)}a`;
    for (const stars of [1, 2, 3, 4, 5, 6])
      expect(searched(`/${'**/*a*/'.repeat(stars)}b*b`, file)).toBeLessThanOrEqual(3 * 4096);
  });
});

it.each([
  ['docs/**', 'docs/a/b.md', true],
  ['docs/**', 'docs', true],
  ['docs/**', 'docs/.env', false],
  ['docs/**', 'docs/.github/a', false],
  ['**', '.bashrc', false],
  ['*', '.env', false],
  ['*/*.yml', '.github/a.yml', false],
  ['.github/**', '.github/workflows/a.yml', true],
  ['.github/**', '.github/.x/a.yml', false],
  ['.github/**', 'a/.github/a.yml', false],
  ['**/.env', 'a/b/.env', true],
  ['**/.e*', 'a/.env', true],
  ['**/.env', '.a/.env', false],
  ['e*', '\u200d.env', false],
  ['*', '\u200d.env', false],
  ['.env', '.env', true],
])('The match of the pattern "%s" with the file %s is %s.', (pattern, file, fits) => {
  expect(
    fitsPath(pattern, '/home/you/.local/work', `/home/you/.local/work/${file}`, 'strict'),
  ).toBe(fits);
  // A rule that denies matches at least the files that the same rule would allow.
  if (fits) expect(fitsPath(pattern, '/w', `/w/${file}`, 'any')).toBe(true);
});

it('A * in the name of a directory matches only itself.', () => {
  expect(fitsPath('a', '/x*', '/x*/a', 'strict')).toBe(true);
  expect(fitsPath('a', '/x*', '/xy/a', 'strict')).toBe(false);
});
