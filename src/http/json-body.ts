import { AppError } from '../errors.ts';
import { inexactNumbers } from '../lib/exact-numbers.ts';
import { closingQuote, type Scanned } from '../lib/json-string.ts';
import { shorten } from '../lib/shorten.ts';

/** Bodies may be nested so deep: what is deeper could not be written again. */
const MAX_DEPTH = 1000;
/** So many values a body may hold: each is checked, and each that is wrong costs some hundred bytes to say so. */
const MAX_VALUES = 20_000;

/**
 * A JSON body. Throws `invalid` for what is no JSON, for what is nested too deep or holds too many values, and for
 * numbers that would be changed by being stored.
 */
export function readJson(text: string): unknown {
  assertBounded(text);
  const value = parse(text);
  assertExact(text);
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new AppError('invalid', `the body is not valid JSON: ${(error as Error).message}`);
  }
}

/** Throws `invalid`, naming some of the numbers that would be changed by being stored. */
function assertExact(json: string): void {
  const inexact = inexactNumbers(json, 3);
  if (inexact.length === 0) return;
  const named = inexact.map((one) => shorten(one, 40)).join(', ');
  throw new AppError(
    'invalid',
    `the body contains numbers that cannot be stored exactly (${named}): send them as strings`,
  );
}

/**
 * Throws `invalid` for a text that as JSON is nested deeper than 1000 levels, or holds more than 20,000 values. It
 * looks at each character once, whatever the text is, and is asked before a parser is.
 */
export function assertBounded(text: Scanned): void {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = closingQuote(text, at);
        break;
      case OPEN_BRACKET:
      case OPEN_BRACE:
        depth++;
        values++;
        break;
      case CLOSE_BRACKET:
      case CLOSE_BRACE:
        depth--;
        break;
      case COMMA:
        values++;
        break;
      default:
    }
    if (depth > MAX_DEPTH)
      throw new AppError('invalid', `the body is nested deeper than ${MAX_DEPTH} levels`);
    if (values > MAX_VALUES)
      throw new AppError('invalid', `the body contains more than ${MAX_VALUES} values`);
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
