import { expect, test } from 'vitest';
import { askedNode } from '../support/fleet/asked-node.ts';

/** Sends a request to a node whose endpoints write its body again; resolves with the answer. */
const ask = (text: string) =>
  askedNode(text, async ({ body }) => {
    const headers = { 'content-type': 'application/json' };
    return { status: 200, headers, text: JSON.stringify(body) };
  });

const request = (body: string) => `{"method":"POST","path":"/v1/sessions","body":${body}}`;

test('A fleet request whose body is nested too deeply is refused as invalid.', async () => {
  expect(await ask(request('[[1]]'))).toMatchObject({ status: 200, body: [[1]] });
  const deep = '['.repeat(50_000) + ']'.repeat(50_000);
  expect(await ask(request(deep))).toMatchObject({
    status: 400,
    body: { code: 'invalid', error: 'the body of the fleet request is nested too deeply' },
  });
});
