import { expect, test } from 'vitest';
import { OpenRequests } from '../../src/agents/json-connection.ts';

test('An answer is sent unless its request was withdrawn before.', async () => {
  const requests = new OpenRequests<number>();
  const sent: string[] = [];
  const decisions = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  const signals: AbortSignal[] = [];
  const answering = decisions.map(({ promise }, id) =>
    requests.answer(
      id,
      (withdrawn) => {
        signals.push(withdrawn);
        return promise;
      },
      (answer) => sent.push(answer),
    ),
  );
  requests.withdraw(0);
  for (const [id, { resolve }] of decisions.entries()) resolve(`answer ${id}`);
  await Promise.all(answering);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
  expect(sent).toEqual(['answer 1']);
});

test('Two open requests with the same id are both withdrawn.', async () => {
  const requests = new OpenRequests<number>();
  const first = Promise.withResolvers<void>();
  const signals: AbortSignal[] = [];
  const handle = (until: Promise<void>) =>
    requests.handle(1, (withdrawn) => {
      signals.push(withdrawn);
      return until;
    });
  const handled = handle(first.promise);
  const others = [handle(new Promise(() => undefined)), handle(new Promise(() => undefined))];
  expect(others).toHaveLength(2);
  first.resolve();
  await handled;
  requests.withdrawAll();
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, true, true]);
});
