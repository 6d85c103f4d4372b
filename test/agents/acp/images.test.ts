import { expect, test } from 'vitest';
import { initialized, sharedRawAgent } from '../../support/providers/raw-agent.ts';

const on = sharedRawAgent();

test('An image fails the turn if the agent accepts no images, and the session continues.', async () => {
  const { open, agents } = on({
    methods: { initialize: () => initialized({ agentCapabilities: { loadSession: true } }) },
  });
  const session = await open();
  const data = Buffer.from('89504e470d0a1a0a00', 'hex').toString('base64');
  const turn = await session.run([
    { type: 'text', text: 'look' },
    { type: 'image', data },
  ]);
  expect(turn).toMatchObject({ status: 'failed', error: { code: 'unsupported_images' } });
  expect(agents[0]?.last('session/prompt')).toBeUndefined();
  expect(await session.run('hello')).toMatchObject({ status: 'completed', text: 'hello' });
});

test('An image reaches the agent with its type and data, beside the text.', async () => {
  const { open, agents } = on({});
  const data = Buffer.from('89504e470d0a1a0a00', 'hex').toString('base64');
  await (
    await open()
  ).run([
    { type: 'text', text: 'look' },
    { type: 'image', data },
  ]);
  expect(agents[0]?.last('session/prompt')?.params?.prompt).toEqual([
    { type: 'text', text: 'look' },
    { type: 'image', data, mimeType: 'image/png' },
  ]);
});
