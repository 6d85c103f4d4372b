// The ad-hoc signature of an executable for macOS, which the kernel of a Mac asks for before it runs one on arm64: a
// digest of each page of the file, signed by nobody. On a Mac, `codesign --sign -` makes it; no such tool is needed here.
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';

const MAGIC_64 = 0xfeedfacf;
const SEGMENT_64 = 0x19;
const CODE_SIGNATURE = 0x1d;
const HEADER_BYTES = 32;
const COMMAND_BYTES = 16;

const SUPER_BLOB = 0xfade0cc0;
const CODE_DIRECTORY = 0xfade0c02;
const DIRECTORY_VERSION = 0x20400; // the first with the place of the executable segment
const DIRECTORY_BYTES = 88;
const AD_HOC = 2;
const MAIN_BINARY = 1n;
const SHA_256 = 2;
const PAGE = 4096;
const SEGMENT_PAGE = 16_384;

/** Signs a 64-bit executable in its place, under a name. An earlier signature is replaced. */
export function signAdHoc(file: string, name: string): void {
  const bytes = fs.readFileSync(file);
  const { text, linkEdit, signature } = partsOf(bytes);
  const start = bytes.readUInt32LE(signature + 8);
  const pages = Math.ceil(start / PAGE);
  const identifier = Buffer.from(`${name}\0`);
  const size = roundUp(20 + DIRECTORY_BYTES + identifier.length + pages * 32, 16);
  bytes.writeUInt32LE(size, signature + 12);
  writeSegmentSize(bytes, linkEdit, start + size - Number(bytes.readBigUInt64LE(linkEdit + 40)));
  const code = Buffer.concat([bytes.subarray(0, start)], start); // with zeros up to where the signature begins
  const directory = codeDirectory({ code, identifier, text: segmentOf(bytes, text) });
  const signed = Buffer.concat([code, superBlob(directory)], start + size);
  fs.writeFileSync(file, signed);
}

/** Reads the signature of an executable. Throws if the signature does not fit the file. */
export function checkSignature(file: string): { name: string; pages: number; isAdHoc: boolean } {
  const bytes = fs.readFileSync(file);
  const { linkEdit, signature } = partsOf(bytes);
  const start = bytes.readUInt32LE(signature + 8);
  if (start + bytes.readUInt32LE(signature + 12) !== bytes.length)
    throw new Error('the signature is not at the end of the file');
  const { offset, length } = segmentOf(bytes, linkEdit);
  if (Number(offset + length) !== bytes.length)
    throw new Error('__LINKEDIT does not end at the end of the file');
  const blob = bytes.subarray(start);
  const directory = blob.subarray(blob.readUInt32BE(16));
  const magics = [blob.readUInt32BE(0), directory.readUInt32BE(0)];
  if (magics.join() !== [SUPER_BLOB, CODE_DIRECTORY].join()) throw new Error('no code directory');
  const field = (index: number) => directory.readUInt32BE(4 * index);
  const [hashes, identifier, pages, limit] = [field(4), field(5), field(7), field(8)];
  if (limit !== start) throw new Error('the signature does not cover the whole file');
  pageDigests(bytes.subarray(0, limit)).forEach((digest, at) => {
    if (!directory.subarray(hashes + at * 32, hashes + at * 32 + 32).equals(digest))
      throw new Error(`page ${at} does not match the signature`);
  });
  const name = directory.toString('latin1', identifier, directory.indexOf(0, identifier));
  return { name, pages, isAdHoc: field(3) === AD_HOC };
}

/** The offsets of the load commands that matter. Makes the one of a signature where the injection has dropped it. */
function partsOf(bytes: Buffer): { text: number; linkEdit: number; signature: number } {
  if (bytes.readUInt32LE(0) !== MAGIC_64) throw new Error('not a 64-bit macOS executable');
  const commands = commandsIn(bytes);
  const segment = (name: string) =>
    commands.find(
      ({ kind, at }) =>
        kind === SEGMENT_64 &&
        bytes.toString('latin1', at + 8, at + 24).replaceAll('\0', '') === name,
    )?.at;
  const text = segment('__TEXT');
  const linkEdit = segment('__LINKEDIT');
  if (text === undefined || linkEdit === undefined)
    throw new Error('no __TEXT or __LINKEDIT segment');
  const old = commands.find(({ kind }) => kind === CODE_SIGNATURE)?.at;
  return { text, linkEdit, signature: old ?? addCommand(bytes, text, linkEdit) };
}

function commandsIn(bytes: Buffer): { kind: number; at: number }[] {
  let at = HEADER_BYTES;
  return Array.from({ length: bytes.readUInt32LE(16) }, () => {
    const command = { kind: bytes.readUInt32LE(at), at };
    at += bytes.readUInt32LE(at + 4);
    return command;
  });
}

// Behind the last load command there is room up to the first section.
function addCommand(bytes: Buffer, text: number, linkEdit: number): number {
  const count = bytes.readUInt32LE(16);
  const size = bytes.readUInt32LE(20);
  const at = HEADER_BYTES + size;
  const sections = Array.from({ length: bytes.readUInt32LE(text + 64) }, (_, index) =>
    bytes.readUInt32LE(text + 72 + 80 * index + 48),
  );
  if (at + COMMAND_BYTES > Math.min(...sections)) throw new Error('no space for a signature');
  bytes.writeUInt32LE(count + 1, 16);
  bytes.writeUInt32LE(size + COMMAND_BYTES, 20);
  const { offset, length } = segmentOf(bytes, linkEdit);
  const start = roundUp(Number(offset + length), 16);
  [CODE_SIGNATURE, COMMAND_BYTES, start, 0].forEach((value, index) =>
    bytes.writeUInt32LE(value, at + 4 * index),
  );
  return at;
}

/** Where a segment is in the file. */
function segmentOf(bytes: Buffer, at: number): { offset: bigint; length: bigint } {
  return { offset: bytes.readBigUInt64LE(at + 40), length: bytes.readBigUInt64LE(at + 48) };
}

function writeSegmentSize(bytes: Buffer, at: number, size: number): void {
  bytes.writeBigUInt64LE(BigInt(size), at + 48);
  bytes.writeBigUInt64LE(BigInt(roundUp(size, SEGMENT_PAGE)), at + 32);
}

/** The bytes that a signature covers. */
interface Signed {
  code: Buffer;
  /** The name, ended by a zero. */
  identifier: Buffer;
  text: { offset: bigint; length: bigint };
}

// One blob in it, the code directory, of which everything is in the order of the network.
function superBlob(directory: Buffer): Buffer {
  const head = Buffer.alloc(20);
  [SUPER_BLOB, head.length + directory.length, 1, 0, head.length].forEach((value, index) =>
    head.writeUInt32BE(value, 4 * index),
  );
  return Buffer.concat([head, directory]);
}

function codeDirectory({ code, identifier, text }: Signed): Buffer {
  const digests = pageDigests(code);
  const hashes = DIRECTORY_BYTES + identifier.length;
  const head = Buffer.alloc(DIRECTORY_BYTES);
  const length = hashes + digests.length * 32;
  [
    CODE_DIRECTORY,
    length,
    DIRECTORY_VERSION,
    AD_HOC,
    hashes,
    DIRECTORY_BYTES,
    0,
    digests.length,
    code.length,
  ].forEach((value, index) => head.writeUInt32BE(value, 4 * index));
  [32, SHA_256, 0, Math.log2(PAGE)].forEach((value, index) => head.writeUInt8(value, 36 + index));
  [text.offset, text.length, MAIN_BINARY].forEach((value, index) =>
    head.writeBigUInt64BE(value, 64 + 8 * index),
  );
  return Buffer.concat([head, identifier, ...digests]);
}

function pageDigests(code: Buffer): Buffer[] {
  return Array.from({ length: Math.ceil(code.length / PAGE) }, (_, at) =>
    createHash('sha256')
      .update(code.subarray(at * PAGE, (at + 1) * PAGE))
      .digest(),
  );
}

function roundUp(value: number, to: number): number {
  return Math.ceil(value / to) * to;
}
