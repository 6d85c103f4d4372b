import { expect, test } from 'vitest';
import { Undo } from '../../../src/core/lib/undo.ts';

test('Resources are closed one by one, in reverse order.', async () => {
  const order: string[] = [];
  {
    await using undo = new Undo();
    undo.defer(() => order.push('first'));
    undo.use({ [Symbol.dispose]: () => void order.push('second') });
    undo.use({
      async [Symbol.asyncDispose]() {
        await Promise.resolve();
        order.push('third');
      },
    });
  }
  expect(order).toEqual(['third', 'second', 'first']);
});

test('All resources are closed even if some throw, and the errors are thrown afterwards.', async () => {
  const undo = new Undo();
  let count = 0;
  undo.defer(() => count++);
  undo.defer(() => Promise.reject(new Error('one')));
  await expect(undo[Symbol.asyncDispose]()).rejects.toThrow('one');
  for (const message of ['two', 'three'])
    undo.defer(() => {
      throw new Error(message);
    });
  await expect(undo[Symbol.asyncDispose]()).rejects.toMatchObject({
    errors: [new Error('three'), new Error('two')],
  });
  await undo[Symbol.asyncDispose]();
  expect(count).toBe(1);
});

test('Resources that were moved are closed only by the new owner.', async () => {
  let count = 0;
  const undo = new Undo();
  undo.defer(() => count++);
  const moved = undo.move();
  await undo[Symbol.asyncDispose]();
  expect(count).toBe(0);
  await moved[Symbol.asyncDispose]();
  expect(count).toBe(1);
});
