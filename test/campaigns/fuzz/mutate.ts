import type { Random } from '../crash/random.ts';

/** How an input is built: as JSON values, one a line; as one JSON value; as a text; or as bytes. */
export type Form = 'lines' | 'json' | 'text' | 'bytes';

/** A valid input. `kind` says which reader of the target gets it. */
export interface Seed {
  kind: string;
  form: Form;
  bytes: Buffer;
}

/** The longest input: longer ones are cut. Repeated repeats would grow without end. */
const MAX_BYTES = 256 * 1024;

/** Returns a changed copy of a seed, or random bytes in its place. `others` give parts to splice in. */
export function mutated(seed: Seed, others: readonly Seed[], random: Random): Seed {
  const { bytes, ...more } = changed(seed, others, random);
  return { ...more, bytes: bytes.subarray(0, MAX_BYTES) };
}

function changed(seed: Seed, others: readonly Seed[], random: Random): Seed {
  if (random.chance(0.02)) return { ...seed, bytes: randomBytes(random) };
  const rounds = random.between(1, random.chance(0.2) ? 12 : 3);
  let { bytes } = seed;
  if (seed.form === 'lines' || seed.form === 'json') {
    bytes = mutatedJson(seed, others, rounds, random);
    // Most of the inputs stay JSON, because a broken line only reaches the parser.
    if (random.chance(0.9)) return { ...seed, bytes };
  }
  for (let round = 0; round < rounds; round++, bytes = bytes.subarray(0, MAX_BYTES))
    bytes =
      seed.form === 'bytes' || random.chance(0.3)
        ? changedBytes(bytes, others, random)
        : changedText(bytes, others, random);
  return { ...seed, bytes };
}

/** Repeats something of a size so often that it stays within the longest input. */
function copies<T>(one: T, size: number, count: number): T[] {
  return Array<T>(Math.max(1, Math.min(count, Math.floor(MAX_BYTES / (size + 1))))).fill(one);
}

/** Stands for a text that is written into the JSON as it is: no value has duplicate keys or huge numbers. */
class Raw {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

function mutatedJson(
  { form, bytes }: Seed,
  others: readonly Seed[],
  rounds: number,
  random: Random,
): Buffer {
  const values = form === 'json' ? [parsed(bytes.toString())] : valuesIn(bytes);
  const foreign = () => random.pick(valuesIn(random.pick(others).bytes));
  for (let round = 0; round < rounds; round++) {
    const at = random.between(0, values.length - 1);
    if (form === 'lines' && random.chance(0.25)) changeLines(values, at, foreign, random);
    else values[at] = changedValue(values[at], foreign, random);
    if (values.length === 0) values.push(null);
  }
  return Buffer.from(values.map(written).join('\n') + (form === 'lines' ? '\n' : ''));
}

function valuesIn(bytes: Buffer): unknown[] {
  const lines = bytes.toString().split('\n');
  return lines.filter((line) => line.trim() !== '').map(parsed);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return new Raw(text);
  }
}

/** Removes, repeats, exchanges or inserts whole lines. */
function changeLines(values: unknown[], at: number, foreign: () => unknown, random: Random): void {
  const other = random.between(0, values.length - 1);
  switch (random.between(0, 4)) {
    case 0:
      values.splice(at, random.between(1, 3));
      break;
    case 1: {
      const count = random.pick([1, 2, 17, 200]);
      values.splice(at, 0, ...copies(values[other], written(values[other]).length, count));
      break;
    }
    case 2:
      [values[at], values[other]] = [values[other], values[at]];
      break;
    case 3:
      values.splice(at, 0, foreign());
      break;
    default:
      values.splice(at, 0, new Raw(oddText(random)));
  }
}

/** Changes one place of a JSON value, which is not modified. */
function changedValue(whole: unknown, foreign: () => unknown, random: Random): unknown {
  const places = placesIn(whole);
  const place = random.pick(places);
  return replaced(whole, place, (value) => newValue(value, foreign, random));
}

type Place = readonly (string | number)[];

/** The places of all values inside a value, at most 2,000. */
function placesIn(whole: unknown): Place[] {
  const places: Place[] = [[]];
  const open: [Place, unknown][] = [[[], whole]];
  for (let next = open.pop(); next && places.length < 2000; next = open.pop()) {
    const [place, value] = next;
    if (typeof value !== 'object' || value === null || value instanceof Raw) continue;
    for (const [name, inner] of Object.entries(value)) {
      const at = [...place, Array.isArray(value) ? Number(name) : name];
      places.push(at);
      open.push([at, inner]);
    }
  }
  return places;
}

function replaced(whole: unknown, [first, ...rest]: Place, change: (value: unknown) => unknown) {
  if (first === undefined) return change(whole);
  if (Array.isArray(whole)) {
    const copy = whole.slice() as unknown[];
    copy[Number(first)] = replaced(copy[Number(first)], rest, change);
    return copy;
  }
  const record = whole as Record<string, unknown>;
  // Not by assignment, which would set the prototype for the key "__proto__".
  return Object.fromEntries(
    Object.entries(record).map(([name, value]): [string, unknown] => [
      name,
      name === first ? replaced(value, rest, change) : value,
    ]),
  );
}

function newValue(value: unknown, foreign: () => unknown, random: Random): unknown {
  const isNested = typeof value === 'object' && value !== null && !(value instanceof Raw);
  if (isNested && random.chance(0.6)) return changedFields(value, foreign, random);
  if (typeof value === 'string' && random.chance(0.5)) return changedString(value, random);
  switch (random.between(0, 8)) {
    case 0:
      return new Raw(random.pick(NUMBERS));
    case 7:
      return random.chance(0.5) ? random.pick(INHERITED) : { [random.pick(INHERITED)]: 1 };
    case 1:
      return oddText(random);
    case 2:
      return random.pick([null, true, false, [], {}, '', 0]);
    case 3:
      return new Raw(nested(random.pick([10, 199, 201, 3000]), random));
    case 4:
      return partOf(foreign(), random);
    case 5:
      return copies(value, written(value).length, random.pick([1, 2, 50, 3000]));
    case 6:
      return { [random.pick(KEYS)]: value };
    default:
      return [value];
  }
}

/** Removes, duplicates, renames or adds a field, or an entry of a list. */
function changedFields(value: object, foreign: () => unknown, random: Random): unknown {
  if (Array.isArray(value)) {
    const list = value.slice() as unknown[];
    const at = random.between(0, list.length);
    if (random.chance(0.5)) list.splice(at, 1);
    else list.splice(at, 0, random.chance(0.5) ? partOf(foreign(), random) : list[0]);
    return list;
  }
  const fields = Object.entries(value);
  const at = random.between(0, Math.max(0, fields.length - 1));
  const [name = 'x', own] = fields[at] ?? [];
  switch (random.between(0, 3)) {
    case 0:
      fields.splice(at, 1);
      break;
    case 1:
      fields[at] = [random.pick(KEYS), own];
      break;
    case 2:
      fields.push([random.pick(KEYS), partOf(foreign(), random)]);
      break;
    default: {
      const twice = `${JSON.stringify(name)}:${written(partOf(foreign(), random))}`;
      const rest = fields.map(([key, one]) => `${JSON.stringify(key)}:${written(one)}`);
      return new Raw(`{${[...rest, twice].join(',')}}`);
    }
  }
  return Object.fromEntries(fields);
}

function partOf(value: unknown, random: Random): unknown {
  const place = random.pick(placesIn(value));
  return place.reduce<unknown>(
    (inner, name) => (inner as Record<string | number, unknown>)[name],
    value,
  );
}

function changedString(text: string, random: Random): string {
  const at = random.between(0, text.length);
  switch (random.between(0, 4)) {
    case 0:
      return text.slice(0, at);
    case 1:
      return text.slice(0, at) + oddText(random) + text.slice(at);
    case 2:
      return text.repeat(random.pick([2, 40, 1000])).slice(0, 300_000);
    case 3:
      return text.toUpperCase();
    default:
      return text.slice(0, at) + text.slice(at + 1);
  }
}

/** The JSON of a value. A text is written with its lone surrogates escaped, as `JSON.stringify` does. */
function written(value: unknown): string {
  if (value instanceof Raw) return value.text;
  if (Array.isArray(value)) return `[${value.map(written).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value);
  return `{${fields.map(([name, one]) => `${JSON.stringify(name)}:${written(one)}`).join(',')}}`;
}

function nested(depth: number, random: Random): string {
  const [open, close] = random.pick([
    ['[', ']'],
    ['{"a":', '}'],
    ['[{"params":', '}]'],
  ] as const);
  return open.repeat(depth) + '1' + close.repeat(depth);
}

function changedText(bytes: Buffer, others: readonly Seed[], random: Random): Buffer {
  const text = bytes.toString('latin1');
  const lines = text.split(/(?<=[\n\0])/);
  const at = random.between(0, lines.length - 1);
  const word = () =>
    random.chance(0.3)
      ? random.pick(NUMBERS)
      : random.chance(0.5)
        ? random.pick(WORDS)
        : Buffer.from(oddText(random)).toString('latin1');
  switch (random.between(0, 6)) {
    case 0:
      lines.splice(at, 1);
      break;
    case 1:
      lines.splice(at, 0, ...copies(lines[at] ?? '', bytes.length, random.pick([1, 2, 300])));
      break;
    case 2:
      lines.splice(
        at,
        0,
        random.pick(
          random
            .pick(others)
            .bytes.toString('latin1')
            .split(/(?<=[\n\0])/),
        ),
      );
      break;
    case 3:
      // A number, or another word, in the place of a number.
      lines[at] = (lines[at] ?? '').replace(/\d+/, word);
      break;
    case 4:
      lines[at] = (lines[at] ?? '').replace(/[\w-]+/, word);
      break;
    case 5: {
      const line = lines[at] ?? '';
      const place = random.between(0, line.length);
      lines[at] = line.slice(0, place) + word() + line.slice(place);
      break;
    }
    default:
      lines[at] = (lines[at] ?? '').replace(/[^\w\s]/, word);
  }
  return Buffer.from(lines.join(''), 'latin1');
}

function changedBytes(bytes: Buffer, others: readonly Seed[], random: Random): Buffer {
  const at = random.between(0, Math.max(0, bytes.length - 1));
  const end = Math.min(bytes.length, at + random.pick([1, 2, 4, 8, 64, 4096]));
  const between = (part: Uint8Array) =>
    Buffer.concat([bytes.subarray(0, at), part, bytes.subarray(end)]);
  switch (random.between(0, 5)) {
    case 0: {
      const copy = Buffer.from(bytes);
      if (copy.length > 0) copy[at]! ^= 1 << random.between(0, 7);
      return copy;
    }
    case 1:
      return bytes.subarray(0, at);
    case 2:
      return between(Buffer.alloc(0));
    case 3:
      return between(Buffer.alloc(end - at, random.pick([0, 0xff, 0x80, 0x0a, 0x20])));
    case 4: {
      const other = random.pick(others).bytes;
      const from = random.between(0, other.length);
      return between(other.subarray(from, from + random.pick([1, 16, 512])));
    }
    default:
      return between(randomBytes(random).subarray(0, random.pick([1, 4, 32])));
  }
}

export function randomBytes(random: Random): Buffer {
  const length = random.pick([0, 1, 7, 100, 5000]);
  return Buffer.from(Array.from({ length }, () => random.between(0, 255)));
}

function oddText(random: Random): string {
  const text = random.pick(TEXTS);
  return random.chance(0.1) ? text.repeat(random.pick([3, 100, 5000])).slice(0, 100_000) : text;
}

/** Numbers at the ends of ranges, and some that JSON has but no program expects. */
const NUMBERS = [
  '0', '-0', '-1', '1', '0.5', '-3', '255', '65536', '2147483647', '2147483648', '4294967295',
  '9007199254740991', '9007199254740993', '-9007199254740993', '1e308', '1e400', '-1e400', '1e-400',
  '18446744073709551616', `1${'0'.repeat(400)}`, '8640000000000001', '253402300800000', '0.1e1', 'NaN', 'Infinity',
]; // prettier-ignore

/** Names that every object of JavaScript has: a table that is looked up by them has an entry. */
const INHERITED = ['__proto__', 'constructor', 'toString', 'valueOf', 'hasOwnProperty'];

/** Texts with control characters, lone surrogates and marks of direction. */
const TEXTS = [
  '', ' ', '\0', '\n', '\r\n', '\u001b[2J\u001b]0;x\u0007', '\ud800', '\udfff', 'a\ud83d', '\ude00b', '\ufeff',
  '\u202e\u2066', '\u0301', 'e\u0301\u0301\u0301', '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}', '\u2028', '\ufffe',
  'ß', 'İ', '\u3000', '..', '../../etc/passwd', '/', '//', 'C:\\x', 'file:///x', 'http://[', 'https://a:99999',
  '%', '%00', '%zz', '{{x}}', '$&', '$(x)', '`', '"', "'", '\\', '*', '?', '#', '[', ']', '{', '}', '=', ':', ',',
  '-', '--', '-c', 'null', 'undefined', 'true',
  'x'.repeat(300), 'é'.repeat(4097),
]; // prettier-ignore

const KEYS = [
  '__proto__', 'constructor', 'toString', 'then', 'toJSON', 'length', 'id', 'type', 'method', 'params', 'result',
  'error', 'jsonrpc', '', '\ud800', '0', '-1', 'name', 'status', 'content', 'text', 'sessionId', '_meta', 'valueOf',
]; // prettier-ignore

const WORDS = [
  '\0',
  '\n',
  '\t',
  ' ',
  '..',
  '[',
  ']',
  '[[',
  '"""',
  "'''",
  '=',
  '{',
  '}',
  '#',
  ':',
  'data:',
  'id:',
  'event:',
  'retry:',
  'true',
  '1979-05-27T07:32:00Z',
  '0x',
  '\x1b',
  'é',
  '\xff\xfe',
  '-',
  '160000',
  'R100',
  'CONFLICT (',
];
