import * as fc from 'fast-check';

const LAST_CODE_POINT = 0x10_ff_ff;
/** Half of the characters are of ASCII, since the rest of all code points hardly ever are. */
const character = fc
  .oneof(fc.nat({ max: 0x7f }), fc.nat({ max: LAST_CODE_POINT }))
  .filter((code) => code < 0xd8_00 || code > 0xdf_ff)
  .map((code) => String.fromCodePoint(code));

/**
 * Any text that is well formed, with as many characters as `limits` says. It is what `fc.string({ unit: 'binary' })` is,
 * without the table of all code points that fast-check makes for that, which takes it half a second in each worker.
 */
export function anyText(limits: fc.ArrayConstraints = {}): fc.Arbitrary<string> {
  return fc.array(character, limits).map((characters) => characters.join(''));
}
