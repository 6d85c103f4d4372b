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
