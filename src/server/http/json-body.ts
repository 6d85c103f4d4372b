import { invalidError } from '../../api/errors.ts';
import { inexactNumbers } from '../../core/lib/exact-numbers.ts';
import { closingQuote, type Scanned } from '../../core/lib/json-string.ts';
import { shorten } from '../../core/lib/shorten.ts';

/** The maximum nesting depth of a body, because a deeper one could not be serialised again. */
const MAX_DEPTH = 1000;
/** The maximum number of values in a body, because each wrong value adds some hundred bytes to the error. */
const MAX_VALUES = 20_000;

/**
 * Parses a JSON body. Throws `invalid` for malformed JSON, for too much nesting or too many values, and for numbers
 * that cannot be stored exactly.
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
    throw invalidError(`the request body is not valid JSON: ${(error as Error).message}`);
  }
}

/** Throws `invalid`, naming some of the numbers that cannot be stored exactly. */
function assertExact(json: string): void {
  const inexact = inexactNumbers(json, 3);
  if (inexact.length === 0) return;
  const named = inexact.map((one) => shorten(one, 40)).join(', ');
  throw invalidError(
    `the request body contains numbers that cannot be stored exactly (${named}): send these numbers as strings`,
  );
}

/**
 * Throws `invalid` for JSON text that is nested deeper than 1000 levels, or holds more than 20,000 values. It scans
 * each character once, even in malformed text, and runs before the parser.
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
      throw invalidError(`the request body is nested deeper than ${MAX_DEPTH} levels`);
    if (values > MAX_VALUES)
      throw invalidError(`the request body contains more than ${MAX_VALUES} values`);
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
