import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { addChunk, beginTurn, endTurn, newHistory } from '../../../src/agents/demo/history.ts';

test('A history has the prompt of a turn from its start, and the answer from its end.', () => {
  const begun = beginTurn(newHistory('s', '/work'), 'hello');
  expect(begun).toMatchObject({
    turnCount: 1,
    turns: [{ number: 1, prompt: 'hello', messages: [] }],
  });
  const ended = endTurn(begun, [{ messageId: 'm', text: 'hi' }], 3);
  expect(ended).toMatchObject({
    tokens: 3,
    turns: [{ number: 1, prompt: 'hello', messages: [{ messageId: 'm', text: 'hi' }] }],
  });
});

test('A history keeps the last 100 turns and the number of all turns.', () => {
  let history = newHistory('s', '/work');
  for (let turn = 1; turn <= 103; turn += 1) history = beginTurn(history, `prompt ${turn}`);
  expect(history.turnCount).toBe(103);
  expect(history.turns).toHaveLength(100);
  expect(history.turns[0]).toMatchObject({ number: 4, prompt: 'prompt 4' });
});

test('A history joins chunks of the same message, up to 16 Ki characters per turn.', () => {
  const chunk = fc.record({
    id: fc.constantFrom('a', 'b'),
    text: fc.string({ maxLength: 9000 }),
  });
  fc.assert(
    fc.property(fc.array(chunk), (chunks) => {
      const said = chunks.reduce(
        (messages, { id, text }) => addChunk(messages, id, text),
        [] as ReturnType<typeof addChunk>,
      );
      const all = chunks.map(({ text }) => text).join('');
      expect(said.map(({ text }) => text).join('')).toBe(all.slice(0, 16_384));
    }),
  );
});
