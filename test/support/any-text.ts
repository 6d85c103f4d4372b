import * as fc from 'fast-check';

const LAST_CODE_POINT = 0x10_ff_ff;
/** Half of the characters are ASCII, because random code points hardly ever are. */
const character = fc
  .oneof(fc.nat({ max: 0x7f }), fc.nat({ max: LAST_CODE_POINT }))
  .filter((code) => code < 0xd8_00 || code > 0xdf_ff)
  .map((code) => String.fromCodePoint(code));

/**
 * Any well-formed text with a length within `limits`. Like `fc.string({ unit: 'binary' })`, but without fast-check's
 * table of all code points, which takes half a second in each worker.
 */
export function anyText(limits: fc.ArrayConstraints = {}): fc.Arbitrary<string> {
  return fc.array(character, limits).map((characters) => characters.join(''));
}
