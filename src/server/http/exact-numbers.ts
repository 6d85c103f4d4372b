import { closingQuote } from '../../core/lib/json-string.ts';

/** The most significant digits that a double can keep: with more, two different literals become the same double. */
const DOUBLE_DIGITS = 17;
const NUMBER = /-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?/y;

/**
 * Finds the number literals of a valid JSON text that a round trip through a double would change, at most `limit` of
 * them. An integer has to survive to the last digit. A number with a fraction or an exponent may be rounded to the
 * nearest double, as every JSON parser does, as long as all its digits are kept (up to 17). Takes time linear in the
 * length of the text.
 */
export function inexactNumbers(json: string, limit: number): string[] {
  const found: string[] = [];
  for (let at = 0; at < json.length && found.length < limit;) {
    const character = json.charCodeAt(at);
    if (character === QUOTE) {
      at = closingQuote(json, at) + 1;
    } else if (character === MINUS || (character >= ZERO && character <= NINE)) {
      NUMBER.lastIndex = at;
      const literal = NUMBER.exec(json)?.[0] ?? json.charAt(at);
      if (!survives(literal)) found.push(literal);
      at += literal.length;
    } else at++;
  }
  return found;
}

const [QUOTE, MINUS, ZERO, NINE] = [34, 45, 48, 57];

function survives(literal: string): boolean {
  // Fast path: integers of up to 15 digits are below 2^53, and nearly all numbers are such integers.
  if (literal.length <= 15 && /^-?\d+$/.test(literal)) return true;
  const value = Number(literal);
  if (!Number.isFinite(value)) return false;
  const written = decimal(literal);
  if (isSame(written, decimal(String(value)))) return true;
  const { digits } = written;
  const mayBeRounded = /[.eE]/.test(literal) && digits.length <= DOUBLE_DIGITS && digits !== '';
  return mayBeRounded && isSame(written, decimal(value.toPrecision(digits.length)));
}

/** Normalises a literal: its significant digits without zeros at either end, and the power of ten of the last digit. */
function decimal(literal: string): { digits: string; exponent: number } {
  NUMBER.lastIndex = 0;
  const [, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(literal) ?? [];
  const all = `${whole}${fraction}`;
  let start = 0;
  while (all.charCodeAt(start) === ZERO) start++;
  let end = all.length;
  while (end > start && all.charCodeAt(end - 1) === ZERO) end--;
  const digits = all.slice(start, end);
  const power = Number(exponent) - fraction.length + (all.length - end);
  return { digits, exponent: digits === '' ? 0 : power };
}

function isSame(one: ReturnType<typeof decimal>, other: ReturnType<typeof decimal>): boolean {
  return one.digits === other.digits && one.exponent === other.exponent;
}
