import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { valueAt, withoutValue, withValue } from '../../../src/frontends/cli/mcp/jsonc.ts';

const keys = ['mcp', 'cadre'];
const value = { type: 'local', command: ['cadre'] };

const texts = [
  '',
  '{}',
  '{ }\n',
  '// mine\n{\n  // nothing yet\n}\n',
  '{"a": 1}',
  '{\n  "a": 1, // one\n  "b": [1, {"c": "}"}, /* two */ 3,],\n}\n',
  '{\n  "mcp": {}\n}\n',
  '{\n  "mcp": {\n    // others\n    "other": {"command": ["x"]} /* end */\n  }, // last\n  "z": "\\"//no comment"\n}\n',
];

test.each(texts)('Setting and removing a value keeps everything else: %j.', (text) => {
  const made = withValue(text, keys, value);
  expect(valueAt(made, keys)).toEqual(value);
  const comments = text.match(/\/\/ \w[^\n]*|\/\*.*?\*\//g) ?? [];
  for (const comment of comments) expect(made).toContain(comment);
  expect(valueAt(withValue(made, keys, 7), keys)).toBe(7);
  const without = withoutValue(made, keys);
  expect(valueAt(without, keys)).toBeUndefined();
  for (const comment of comments) expect(without).toContain(comment);
  for (const key of ['a', 'b', 'z'])
    expect(valueAt(without, [key])).toEqual(text === '' ? undefined : valueAt(text, [key]));
});

test('A text in the usual layout is unchanged after a value was set and removed.', () => {
  for (const text of ['{\n  "a": 1\n}\n', '{\n  "a": 1,\n  "mcp": {\n    "x": 1\n  }\n}\n'])
    expect(withoutValue(withValue(text, keys, value), keys)).toBe(text);
});

test('A removed value removes only its own member.', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string({ minLength: 1 }), fc.jsonValue(), {
        minKeys: 1,
        noNullPrototype: true,
      }),
      fc.nat(),
      fc.constantFrom(0, 2),
      (record, chosen, indent) => {
        const names = Object.keys(record);
        const name = names[chosen % names.length] ?? '';
        const { [name]: _gone, ...rest } = record;
        const text = JSON.stringify(record, null, indent);
        expect(JSON.parse(withoutValue(text, [name]))).toEqual(JSON.parse(JSON.stringify(rest)));
        expect(JSON.parse(withValue(text, [name], 1))).toMatchObject({ [name]: 1 });
      },
    ),
  );
});

test.each(['{', '{"a" 1}', '{"a": }', '[1]', '{"a": 1 "b": 2}', 'nonsense', '{"mcp": 7}'])(
  'An invalid text, or a path through a value other than an object, is refused: %j.',
  (text) => {
    expect(() => withValue(text, keys, value)).toThrow(
      expect.objectContaining({ code: 'invalid' }),
    );
  },
);
