import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { checkSignature, signAdHoc } from '../../scripts/mach-o.ts';
import { testDirectory } from '../support/temp.ts';

test('An executable for macOS is signed, signed again, and a changed byte is noticed.', () => {
  const file = path.join(testDirectory(), 'program');
  fs.writeFileSync(file, executable());
  signAdHoc(file, 'cadre');
  expect(checkSignature(file)).toEqual({ name: 'cadre', pages: 5, isAdHoc: true });
  const signed = fs.readFileSync(file);
  signAdHoc(file, 'cadre');
  expect(fs.readFileSync(file).equals(signed)).toBe(true);
  signed.writeUInt8(1, 9000);
  fs.writeFileSync(file, signed);
  expect(() => checkSignature(file)).toThrow('page 2 does not match the signature');
});

test('A file that is not a Mach-O executable is not signed.', () => {
  const file = path.join(testDirectory(), 'program');
  fs.writeFileSync(file, Buffer.alloc(100, 'ELF'));
  expect(() => signAdHoc(file, 'cadre')).toThrow('not a 64-bit macOS executable');
});

/** The least that has the parts of one: four pages of code with a section, and data for the linker that ends oddly. */
function executable(): Buffer {
  const bytes = Buffer.alloc(16_384 + 333, 7);
  bytes.fill(0, 0, 4096);
  [0xfeedfacf, 0, 0, 2, 2, 152 + 72, 0, 0].forEach((value, at) =>
    bytes.writeUInt32LE(value, 4 * at),
  );
  segment(bytes, 32, { name: '__TEXT', offset: 0, length: 16_384, sections: 1 });
  bytes.writeUInt32LE(4096, 32 + 72 + 48);
  segment(bytes, 32 + 152, { name: '__LINKEDIT', offset: 16_384, length: 333, sections: 0 });
  return bytes;
}

function segment(
  bytes: Buffer,
  at: number,
  {
    name,
    offset,
    length,
    sections,
  }: { name: string; offset: number; length: number; sections: number },
): void {
  bytes.writeUInt32LE(0x19, at);
  bytes.writeUInt32LE(72 + 80 * sections, at + 4);
  bytes.write(name, at + 8);
  bytes.writeBigUInt64LE(BigInt(length), at + 32);
  bytes.writeBigUInt64LE(BigInt(offset), at + 40);
  bytes.writeBigUInt64LE(BigInt(length), at + 48);
  bytes.writeUInt32LE(sections, at + 64);
}
