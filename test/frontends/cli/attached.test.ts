import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { Attached } from '../../../src/frontends/cli/session/attached.ts';
import { turnSettings } from '../../../src/frontends/cli/turn-settings.ts';
import type { TurnText } from '../../../src/frontends/cli/session/turn-text.ts';
import type { CommandContext } from '../../../src/frontends/cli/command-io.ts';
import type { Client } from '../../../src/client/client.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { testRuntime } from '../../support/runtime.ts';
import { completed, scriptedProvider } from '../../support/scripted-provider.ts';
import { openSession, send } from '../../support/turns.ts';

test('A line that is refused because of a turn that has ended meanwhile is queued and starts at once.', async () => {
  const provider = scriptedProvider();

  const { client, directory } = await testRuntime({ providers: [provider] });
  const { id } = await openSession(client, directory);
  await send(client, id, 'theirs');
  const theirs = await provider.nextTurn();

  // The test delays the refusal.
  const refused = Promise.withResolvers<void>();
  const arrival = Promise.withResolvers<void>();
  const call: Client['call'] = async (...request) => {
    try {
      return await client.call(...request);
    } catch (error) {
      refused.resolve();
      await arrival.promise;
      throw error;
    }
  };
  const attached = attachedTo(id, call);
  attached.say('mine');
  await refused.promise;
  theirs.end(completed);
  const params = { session_id: id };
  const events = () => client.call(endpoints.replaySessionEvents, { params, query: {} });
  await expectEventually(async () => (await events()).map(({ kind }) => kind)).toContain(
    'turn.completed',
  );
  for (const event of await events()) attached.showEvent(event);
  arrival.resolve();
  const mine = await provider.nextTurn();
  expect(mine.text).toBe('mine');
  mine.end(completed);
});

/** Attaches to a session without a known running turn, and prints nothing. */
function attachedTo(id: string, call: Client['call']): Attached {
  const context = { client: { call }, global: {}, io: { stdout: { isTTY: false } } };
  const turnOutput = {
    message() {},
    detail() {},
    status() {},
    hold: () => ({ [Symbol.dispose]() {} }),
  };
  const text = { write() {} } as unknown as TurnText;
  const given = { id, turnOutput, text, running: null, settings: turnSettings({}) };
  return new Attached(context as unknown as CommandContext, given);
}
