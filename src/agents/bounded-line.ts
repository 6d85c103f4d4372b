const MIB = 1024 * 1024;
/** The limits of one message of an agent. The bytes have room for the envelope of arguments of 8 MiB. */
export const MESSAGE_LIMITS = { bytes: 8 * MIB + 64 * 1024, values: 50_000, depth: 200 } as const;
/** The bytes that are kept of what stands before a message in its line, and of what stands after it. */
const BESIDE_BYTES = 4096;
/** The bytes beyond the limit that are left for a number or a bracket. */
const SPARE_BYTES = 4096;
/** The short fields of the outer records are kept beyond the limits: they say which message it is. */
const OUTER = { depth: 3, bytes: 512, fields: 100 } as const;
/** All that is kept of a line: a message with its outer fields and brackets. */
const MAX_KEPT_BYTES = MESSAGE_LIMITS.bytes + 512 * 1024;

/** The limit that a message exceeds, and its whole size in bytes. */
export interface Excess {
  readonly bytes: number;
  readonly limit: keyof typeof MESSAGE_LIMITS;
}

/** Describes the limit that a message exceeds, for people. */
export function excessText({ bytes, limit }: Excess): string {
  switch (limit) {
    case 'bytes':
      return `${bytes} bytes (limit 8 MiB)`;
    case 'values':
      return `more than ${MESSAGE_LIMITS.values} values`;
    case 'depth':
      return `nested deeper than ${MESSAGE_LIMITS.depth} levels`;
  }
}

/**
 * One line of an agent, measured while it arrives. A message within {@link MESSAGE_LIMITS} is kept byte for byte. Only
 * the first values of a larger message are kept: long text is cut, further fields and entries are left out, and the
 * kept part is valid JSON.
 */
export class BoundedLine {
  /** The offset of the line in the output of the agent. */
  readonly begin: number;
  /** The size of the line, in bytes. */
  bytes = 0;
  #limit: Excess['limit'] | null = null;
  #kept = Buffer.allocUnsafe(256);
  #length = 0;
  #state: 'before' | 'inside' | 'after' = 'before';
  #after = 0;
  #depth = 0;
  #values = 0;
  /** The brackets that opened the outer records and lists, by depth. */
  readonly #brackets: number[] = [];
  #isInText = false;
  /** The bytes of an escape sequence that are still to come. */
  #escape = 0;
  #isTextCut = false;
  /** The part that is skipped. It ends with the bracket that returns to this depth. */
  #skip: { depth: number; keepsBracket: boolean } | null = null;
  /** A field beyond the limits, in the outer record of this depth. It is not kept where `bytes` is null. */
  #field: { depth: number; bytes: number[] | null } | null = null;
  readonly #fields = [0, 0, 0, 0];

  constructor(begin = 0) {
    this.begin = begin;
  }

  /** The offset after the line and its newline. */
  get end(): number {
    return this.begin + this.bytes + 1;
  }

  /** The limit that the message exceeds; null: it is whole. */
  get excess(): Excess | null {
    return this.#limit && { bytes: this.bytes, limit: this.#limit };
  }

  /** The kept part of the line. */
  get text(): string {
    return this.#kept.toString('utf8', 0, this.#length);
  }

  add(part: Buffer): void {
    this.bytes += part.length;
    for (let at = this.#state === 'before' ? this.#readBefore(part) : 0; at < part.length; at++) {
      if (this.#isInText) {
        const end = this.#escape === 0 ? endOfRun(part, at) : at;
        if (end > at) this.#keepRun(part, at, end);
        else this.#readInText(part[at] ?? 0);
        at = Math.max(at, end - 1);
      } else if (this.#state === 'inside') this.#read(part[at] ?? 0);
      else return this.#readAfter(part.subarray(at));
    }
  }

  /** Returns where the message begins. */
  #readBefore(part: Buffer): number {
    const found = part.indexOf(OPEN_BRACE);
    const begin = found < 0 ? part.length : found;
    this.#keepAll(part.subarray(0, Math.min(begin, Math.max(0, BESIDE_BYTES - this.#length))));
    if (found < 0) return begin;
    this.#state = 'inside';
    this.#open(OPEN_BRACE);
    return begin + 1;
  }

  #readAfter(part: Buffer): void {
    const kept = part.subarray(0, Math.max(0, BESIDE_BYTES - this.#after));
    this.#after += kept.length;
    this.#keepAll(kept);
  }

  #read(byte: number): void {
    switch (byte) {
      case QUOTE:
        this.#isInText = true;
        return this.#keep(byte);
      case OPEN_BRACE:
      case OPEN_BRACKET:
        return this.#open(byte);
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        return this.#close(byte);
      case COMMA:
        return this.#separate();
      default:
        // Blanks and digits have no end of their own. A field beyond the limits has a limit of its own.
        if (this.#field || this.#length < MESSAGE_LIMITS.bytes + SPARE_BYTES) this.#keep(byte);
        else this.#limit ??= 'bytes';
    }
  }

  #open(byte: number): void {
    this.#depth++;
    this.#values++;
    if (this.#field) this.#field.bytes = null;
    if (this.#field || this.#skip) return;
    const depth = this.#depth - 1;
    if (this.#depth > MESSAGE_LIMITS.depth) {
      this.#limit ??= 'depth';
      this.#keepAll(DEEP);
      this.#skip = { depth, keepsBracket: false };
      return;
    }
    if (this.#depth <= OUTER.depth) this.#brackets[this.#depth] = byte;
    this.#keep(byte);
    if (this.#isFull()) this.#skip = { depth, keepsBracket: true };
  }

  #close(byte: number): void {
    this.#depth--;
    if (this.#depth === 0) this.#state = 'after';
    if (this.#field) {
      if (this.#depth >= this.#field.depth) return;
      this.#endField();
    }
    if (this.#skip && this.#skip.depth < this.#depth) return;
    const isKept = this.#skip?.keepsBracket ?? true;
    this.#skip = null;
    if (isKept) this.#append(byte);
  }

  #separate(): void {
    this.#values++;
    if (this.#field && this.#field.depth < this.#depth) return;
    if (this.#field) this.#endField();
    if (this.#skip) return;
    if (!this.#isFull()) return this.#append(COMMA);
    if (this.#isOuterField()) this.#field = { depth: this.#depth, bytes: [COMMA] };
    else this.#skip = { depth: this.#depth - 1, keepsBracket: true };
  }

  #isOuterField(): boolean {
    const depth = this.#depth;
    if (depth > OUTER.depth || this.#brackets[depth] !== OPEN_BRACE) return false;
    return (this.#fields[depth] = (this.#fields[depth] ?? 0) + 1) <= OUTER.fields;
  }

  #endField(): void {
    const bytes = this.#field?.bytes;
    this.#field = null;
    if (bytes) this.#keepAll(Buffer.from(bytes));
  }

  #readInText(byte: number): void {
    if (this.#escape > 0) this.#escape += byte === LETTER_U && this.#escape === 1 ? 3 : -1;
    else if (byte === BACKSLASH) {
      this.#escape = 1;
      this.#cutFullText();
    } else {
      this.#isInText = false;
      if (this.#isTextCut) this.#keepAll(CUT);
      this.#isTextCut = false;
    }
    if (!this.#isTextCut) this.#keep(byte);
  }

  /** Keeps the bytes of a text up to the next quote or backslash, as far as there is room. */
  #keepRun(part: Buffer, from: number, to: number): void {
    if (this.#skip || this.#isTextCut) return;
    if (this.#field) {
      if (to - from > OUTER.bytes) this.#field.bytes = null;
      for (let at = from; at < to && this.#field.bytes; at++) this.#keep(part[at] ?? 0);
      return;
    }
    let end = Math.min(to, from + Math.max(0, MESSAGE_LIMITS.bytes - this.#length));
    if (end < to) while (end > from && ((part[end] ?? 0) & 0xc0) === 0x80) end--;
    this.#keepAll(part.subarray(from, end));
    if (end < to) this.#cutFullText();
  }

  #cutFullText(): void {
    if (this.#skip || this.#field || this.#length + 4 < MESSAGE_LIMITS.bytes) return;
    this.#limit ??= 'bytes';
    this.#isTextCut = true;
  }

  #keep(byte: number): void {
    if (this.#field) {
      const { bytes } = this.#field;
      if (bytes && bytes.push(byte) > OUTER.bytes) this.#field.bytes = null;
    } else if (!this.#skip) this.#append(byte);
  }

  #keepAll(bytes: Buffer): void {
    if (this.#skip || this.#field || !this.#hasRoom(bytes.length)) return;
    bytes.copy(this.#kept, this.#length);
    this.#length += bytes.length;
  }

  #append(byte: number): void {
    if (this.#hasRoom(1)) this.#kept[this.#length++] = byte;
  }

  /** Makes room for more bytes. Only invalid JSON can need more than the maximum. */
  #hasRoom(bytes: number): boolean {
    const needed = this.#length + bytes;
    if (needed <= this.#kept.length) return true;
    if (needed > MAX_KEPT_BYTES) return false;
    const size = Math.min(MAX_KEPT_BYTES, Math.max(needed, this.#kept.length * 2));
    const more = Buffer.allocUnsafe(size);
    this.#kept.copy(more, 0, 0, this.#length);
    this.#kept = more;
    return true;
  }

  #isFull(): boolean {
    if (this.#length >= MESSAGE_LIMITS.bytes) this.#limit ??= 'bytes';
    else if (this.#values > MESSAGE_LIMITS.values) this.#limit ??= 'values';
    else return false;
    return true;
  }
}

/** The position of the next quote or backslash from `at` on; the end of the part where there is none. */
function endOfRun(part: Buffer, at: number): number {
  let end = at;
  for (; end < part.length; end++) if (part[end] === QUOTE || part[end] === BACKSLASH) break;
  return end;
}

/** The end of a cut text, and the placeholder of a value that is nested too deeply. */
const CUT = Buffer.from(' … [omitted: the message is too large]');
const DEEP = Buffer.from('"[omitted: nested too deeply]"');
const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
