import { expect, test } from 'vitest';
import type { RuntimeEventRecord } from '../../../src/api/events.ts';
import { replayBefore } from '../../../src/client/replay.ts';
import { SilenceNote } from '../../../src/frontends/cli/session/silence.ts';
import type { CommandIo } from '../../../src/frontends/cli/command-io.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { testRuntime } from '../../support/runtime.ts';
import { demoSection } from '../../support/providers/demo-agents.ts';
import { openSession, send } from '../../support/turns.ts';

test('A turn without activity of its agent for five seconds gets one line with the reason.', async () => {
  const { client, directory } = await testRuntime({
    config: { providers: { max_live: 1, acp: demoSection() } },
  });
  const clock = new ManualClock();
  const lines: string[] = [];
  const context = { client, io: { clock } as unknown as CommandIo };
  const noteFor = (id: string) =>
    new SilenceNote(context, id, { status: (line) => void lines.push(line) });
  const accepted = async (session_id: string) => {
    const scope = { sessionId: session_id, kinds: ['turn.accepted'] };
    const [found] = await replayBefore(client, scope, Number.MAX_SAFE_INTEGER, 1);
    return found as RuntimeEventRecord;
  };
  const first = await openSession(client, directory);
  await send(client, first.id, 'wait 1000000');
  using silent = noteFor(first.id);
  silent.take(await accepted(first.id));
  clock.advance(4999);
  expect(lines).toEqual([]);
  clock.advance(1);
  await expectEventually(() => lines).toEqual(['[waiting] acp: the agent has not answered yet\n']);
  clock.advance(60_000);
  const second = await openSession(client, directory);
  await send(client, second.id, 'say hi');
  using waits = noteFor(second.id);
  waits.take(await accepted(second.id));
  clock.advance(5000);
  await expectEventually(() => lines.slice(1)).toEqual([
    expect.stringMatching(/^\[waiting\] no agent slot is free: .+\n$/),
  ]);
  // An event of the agent ends the wait.
  using heard = noteFor(second.id);
  const event = await accepted(second.id);
  heard.take(event);
  heard.take({ ...event, kind: 'tool.started' });
  clock.advance(60_000);
  expect(lines).toHaveLength(2);
});
