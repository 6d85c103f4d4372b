import { assert, integer, json, property, string } from 'fast-check';
import { expect, test } from 'vitest';
import { BoundedLine, MESSAGE_LIMITS } from '../../src/agents/bounded-line.ts';

/** Returns the line of a text that arrives in parts of `size` bytes. */
function lineOf(text: string, size = 65_536): BoundedLine {
  const line = new BoundedLine();
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) line.add(bytes.subarray(at, at + size));
  return line;
}

function kept(text: string): unknown {
  return JSON.parse(lineOf(text).text);
}

test('A line within the limits is kept byte for byte, in whatever parts it arrives.', () => {
  assert(
    property(
      json({ noUnicodeString: false }),
      string({ unit: 'binary' }),
      integer({ min: 1, max: 9 }),
      (value, text, size) => {
        const message = `{"a":${value},"b":${JSON.stringify(text)}}`;
        const { text: found, excess, bytes } = lineOf(message, size);
        expect([found, excess, bytes]).toEqual([message, null, Buffer.byteLength(message)]);
      },
    ),
  );
});

test('A line that is not a message is kept as far as it explains a failure.', () => {
  expect(lineOf('panicked at nothing').text).toBe('panicked at nothing');
  expect(lineOf('\u001b[2K{"a":1} and more').text).toBe('\u001b[2K{"a":1} and more');
  for (const one of ['x', '[', ' ', '[1,'])
    expect(lineOf(one.repeat(1_000_000)).text.length).toBeLessThan(10_000);
  expect(lineOf(`{"a":1}${'}'.repeat(1_000_000)}`).text.length).toBeLessThan(10_000);
});

test('A line with a very long text keeps the start of the text with a mark.', () => {
  const line = lineOf(
    `{"id":7,"params":{"text":"${'ö'.repeat(9e6)}","more":"short"},"method":"m"}`,
  );
  const message = JSON.parse(line.text) as { params: { text: string; more: string } };
  expect(line.excess).toEqual({ bytes: line.bytes, limit: 'bytes' });
  expect(Buffer.byteLength(line.text)).toBeLessThan(MESSAGE_LIMITS.bytes + 1000);
  // V8 may run out of stack on a pattern over the whole text, which has millions of repetitions.
  const [start = '', end] = message.params.text.split(' … [omitted');
  expect(start.replaceAll('ö', '')).toBe('');
  expect(end).toBeDefined();
  expect(message).toMatchObject({ id: 7, method: 'm', params: { more: 'short' } });
});

test('A cut line keeps all short outer fields, also if they are long together.', () => {
  const fields = Array.from({ length: 40 }, (_, n) => [`f${n}`, 'y'.repeat(400)] as const);
  const others = { ...Object.fromEntries(fields), id: 7, method: 'm' };
  const message = kept(JSON.stringify({ text: 'x'.repeat(9e6), ...others }));
  expect(message).toMatchObject(others);
});

test.each([
  ['escapes', String.raw`\u001b`],
  ['quotes', String.raw`\"`],
  ['characters of four bytes', '😀'],
])('A cut line whose text consists of %s is still JSON.', (_name, unit) => {
  const { text } = lineOf(`{"a":"${unit.repeat(3e6)}","b":1}`, 1021);
  expect(JSON.parse(text)).toMatchObject({ b: 1 });
  expect(Buffer.byteLength(text)).toBeLessThan(MESSAGE_LIMITS.bytes + 1000);
});

test.each([
  ['entries', `{"params":{"list":[${'0,'.repeat(1e6)}0],"more":[1],"id":2},"id":1}`],
  ['records', `{"params":{"list":[${'{},'.repeat(1e6)}{}],"more":{"a":1},"id":2},"id":1}`],
  [
    'fields',
    `{"params":{"list":{${Array.from({ length: 1e5 }, (_, n) => `"f${n}":{"a":[${n}]}`).join(',')}},"id":2},"id":1}`,
  ],
  [
    'fields of its outer record',
    `{${Array.from({ length: 1e5 }, (_, n) => `"${n}":[{}]`).join(',')},"params":{"id":2},"id":1}`,
  ],
])('A line with too many %s keeps the first ones and the short outer fields.', (name, text) => {
  const line = lineOf(text, 1021);
  const message = JSON.parse(line.text) as { id: number; params?: { id: number } };
  let values = 0;
  JSON.stringify(message, (_key, value: unknown) => {
    values++;
    return value;
  });
  expect(line.excess?.limit).toBe('values');
  expect(values).toBeLessThan(MESSAGE_LIMITS.values + 500);
  if (name !== 'fields of its outer record')
    expect(message).toMatchObject({ id: 1, params: { id: 2 } });
});

test('A line that is nested too deeply has a mark in place of the deepest part.', () => {
  const deep = (levels: number) =>
    `{"params":{"deep":${'['.repeat(levels)}1${']'.repeat(levels)},"b":2},"id":1}`;
  const line = lineOf(deep(5000), 7);
  expect(line.excess?.limit).toBe('depth');
  expect(line.text).toContain('[omitted: nested too deeply]');
  expect(JSON.parse(line.text)).toMatchObject({ id: 1, params: { b: 2 } });
  expect(lineOf(deep(150)).excess).toBeNull();
  expect(kept('{"a":{"b":[]},"c":{}}')).toEqual({ a: { b: [] }, c: {} });
});

test('A line never exceeds its limits, whatever its content.', () => {
  for (const unit of ['{"', ' ', '9', '":"', '}]', '{"a":[1],'])
    for (const start of ['{"a":', '{"a":"']) {
      const line = lineOf(start + unit.repeat(1e7 / unit.length));
      expect([unit, line.text.length < MESSAGE_LIMITS.bytes + 600_000]).toEqual([unit, true]);
    }
});
