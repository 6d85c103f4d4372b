import { describe, expect, test, type TestContext } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import type { Turn } from '../../src/api/sessions.ts';
import { settle } from '../support/settle.ts';
import { ofKind } from '../support/turns.ts';
import { asked, decide, interrupt, itemsOf, until } from '../support/providers/calls.ts';
import {
  withProviderHarness,
  type SharedProviderHarness,
  sharedProviderHarnesses,
  type ProviderHarness,
  type ProviderHarnessOptions,
  type WatchedSession,
} from '../support/providers/provider-harness.ts';
import {
  isLeftOut,
  type Optional,
  type ProviderFixture,
  usualPatienceMs,
} from '../support/providers/fixture.ts';
import { png } from '../support/providers/png.ts';
import { isEnd } from '../support/providers/watch.ts';
import type { UntypedEvent } from '../support/untyped-events.ts';
import { scaled } from '../support/patience.ts';
import type { InputItem } from '../../src/api/input.ts';

/** Longer than the longest line that an agent may write. */
const TOO_LONG_BYTES = 33 * 1024 * 1024;

const asking: ProviderHarnessOptions = { asks: true, permissionMode: 'require_approval' };

/** Describes the behaviour that all providers share, over HTTP, with real servers and real processes. */
export function describeProvider(name: string, fixture: ProviderFixture): void {
  const { patienceMs = usualPatienceMs, declinedEnd = 'turn.completed' } = fixture;
  // Longer than the patience: a case that waits in vain can then name the missing event.
  const options = { concurrent: fixture.severalAtOnce, timeout: scaled(patienceMs) + 2000 };
  const onShared = sharedProviderHarnesses(fixture);
  const long = { timeout: scaled(3 * patienceMs) };

  describe(`${name}: answers`, options, () => {
    test(
      'A configured provider is healthy and lists its capabilities and models.',
      shared({}, async ({ client }) => {
        const providers = await client.call(endpoints.listProviders, {});
        const own = providers.find(({ id }) => id === fixture.provider);
        expect(own).toMatchObject({ enabled: true, healthy: true, detail: 'ready' });
        const params = { provider: fixture.provider };
        const models = await client.call(endpoints.listModels, { params });
        expect(own?.capabilities.models).toBe(true);
        expect(models.length > 0).toBe(fixture.offersModels ?? true);
      }),
    );

    test(
      'The deltas of a message add up to its whole text.',
      shared({}, async ({ client, session }) => {
        const text = 'the quick brown füx jumps over 日本 and 🦊 comes back again';
        const turn = await session.run(fixture.sayWords(text));

        expect(turn).toMatchObject({ status: 'completed', text, error: null });
        const events = session.watch.of(turn.turn_id);
        expect(ofKind(events, 'message.delta').length).toBeGreaterThan(1);
        expectDeltasAddUp(events, 'message', [text]);
        const moves = events.map(({ kind }) => kind).filter((kind) => kind.startsWith('turn.'));
        expect(moves).toEqual(['turn.accepted', 'turn.started', 'turn.completed']);
        expect(events.at(-1)?.kind).toBe('turn.completed');
        const said = (await itemsOf(client, turn)).filter(({ kind }) => kind === 'message');
        expect(said).toMatchObject([{ status: 'completed', text }]);
        expect(await session.record()).toMatchObject({ status: 'ready', active_turn_id: null });
      }),
    );

    test(
      'Reasoning is reported apart from the answer.',
      optionalShared(fixture.think, {}, async ({ session }, think) => {
        const thought = 'what a long and winding thought';
        const turn = await session.run(think(thought));

        expect(turn.status).toBe('completed');
        expect(turn.text ?? '').not.toContain(thought);
        expectDeltasAddUp(session.watch.of(turn.turn_id), 'reasoning', [thought]);
      }),
    );

    test(
      'A tool call is reported when it starts and when it ends, with its whole output.',
      shared({}, async ({ client, session }) => {
        const { prompt, title } = fixture.runTool('forty-two');
        const turn = await session.run(prompt);

        expect(turn.status).toBe('completed');
        const events = session.watch.of(turn.turn_id);
        const [started, ...moreStarted] = ofKind(events, 'tool.started');
        const [completed, ...moreCompleted] = ofKind(events, 'tool.completed');
        expect([moreStarted, moreCompleted]).toEqual([[], []]);
        expect(started?.seq).toBeLessThan(completed?.seq ?? 0);
        expect(started?.payload.item_id).toBe(completed?.payload.item_id);
        const tool = (await itemsOf(client, turn)).find(({ kind }) => kind === 'tool');
        expect(tool).toMatchObject({ status: 'completed', item_id: completed?.payload.item_id });
        expect(tool?.text.trimEnd()).toBe('forty-two');
        expect(tool?.tool?.title).toContain(title);
        expect(completed?.payload).toMatchObject({ status: 'completed', text: tool?.text });
      }),
    );

    test(
      'The images of a turn reach the agent, or the turn is refused or fails as unsupported.',
      shared({}, async ({ client, session, file, setup }) => {
        const [kept, inline] = [png(3, 2), png(20, 10)];
        const input: InputItem[] = [
          { type: 'text', text: fixture.showImages },
          { type: 'image', path: file('three by two.png', kept) },
          { type: 'image', data: inline.toString('base64'), media_type: 'image/png' },
        ];
        const providers = await client.call(endpoints.listProviders, {});
        if (!providers.find(({ id }) => id === fixture.provider)?.capabilities.images) {
          await expect(session.send(input)).rejects.toMatchObject({ code: 'invalid' });
          return;
        }
        const turn = await session.run(input);
        if (turn.status === 'completed') {
          const bytes = [kept, inline].map(({ length }) => length);
          const seen = bytes.map((count) => ({ mediaType: 'image/png', bytes: count }));
          expect(setup.imagesIn(turn)).toEqual(seen);
        } else {
          expect(turn.error?.code).toBe('unsupported_images');
        }
        await expectAnotherTurn(session);
      }),
    );

    test(
      'The usage of a turn is added to the turn and to its session.',
      optionalShared(fixture.usage, {}, async ({ session }, { prompt, usage }) => {
        const turn = await session.run(prompt);
        expect(turn.usage).toMatchObject(usage);
        const reports = ofKind(session.watch.of(turn.turn_id), 'usage.updated');
        expect(reports.length).toBeGreaterThan(0);
        expect((await session.record()).usage).toMatchObject(usage);

        const next = await session.run(prompt);
        const { usage: sum } = await session.record();
        const inputs = [turn, next].map((one) => one.usage?.input_tokens ?? 0);
        expect(sum?.input_tokens).toBe(inputs.reduce((all, one) => all + one));
        expect(sum?.context_window).toBe(next.usage?.context_window);
      }),
    );

    test(
      'A turn without a login fails with auth_required, and the provider is unhealthy until a turn completes.',
      optional(fixture.loggedOut, {}, async ({ client, session }, prompt) => {
        const health = async () =>
          (await client.call(endpoints.listProviders, {})).find(
            ({ id }) => id === fixture.provider,
          );
        await expectAnotherTurn(session);
        const { status, error } = await session.run(prompt);
        expect([status, error?.code]).toEqual(['failed', 'auth_required']);
        const hint = /run "?[\w-]+ .*login/;
        expect(error?.message).toMatch(hint);
        expect(await session.record()).toMatchObject({ status: 'ready' });
        expect(await health()).toMatchObject({
          healthy: false,
          detail: expect.stringMatching(hint) as string,
        });
        await expectAnotherTurn(session);
        expect(await health()).toMatchObject({ healthy: true, detail: 'ready' });
      }),
    );

    test(
      'An agent remembers the earlier turns of its session.',
      onOwnHarness({}, async (harness) => {
        await harness.session.run(fixture.sayWords('a plover is a bird'));
        const prompt = fixture.sayWords('and so is an owl');
        await harness.session.run(prompt);
        await expectMemory(harness, prompt);
      }),
    );
  });

  describe(`${name}: permissions`, options, () => {
    test(
      'The turn continues when its approval is accepted.',
      shared(asking, async ({ client, cwd, session }) => {
        const { prompt, names, wasDone } = fixture.askPermission(cwd);
        const turnId = await session.send(prompt);
        const approval = await asked(session.watch, turnId);
        expect(approval).toMatchObject({ status: 'pending', turn_id: turnId });
        expect(approval.title).toContain(names);
        const waiting = { status: 'waiting_for_approval' };
        expect(await session.record()).toMatchObject(waiting);
        expect(await session.turn(turnId)).toMatchObject(waiting);

        const answered = await decide(client, approval, 'accept');
        expect(answered).toMatchObject({ status: 'accepted', decision: 'accept' });
        expect((await session.watch.end(turnId)).kind).toBe('turn.completed');
        const [tool] = ofKind(session.watch.of(turnId), 'tool.completed');
        expect(tool?.payload.status).toBe('completed');
        if (wasDone) expect(wasDone()).toBe(true);
        await expectAnotherTurn(session);
      }),
    );

    test(
      'A declined action is not done.',
      shared(asking, async ({ client, cwd, session }) => {
        const { prompt, wasDone } = fixture.askPermission(cwd);
        const turnId = await session.send(prompt);
        const answered = await decide(client, await asked(session.watch, turnId), 'decline');
        expect(answered).toMatchObject({ status: 'declined', decision: 'decline' });

        expect((await session.watch.end(turnId)).kind).toBe(declinedEnd);
        const [tool] = ofKind(session.watch.of(turnId), 'tool.completed');
        expect(tool?.payload.status).toBe('failed');
        if (wasDone) expect(wasDone()).toBe(false);
        await expectAnotherTurn(session);
      }),
    );

    test(
      'In the default mode no approval is requested, and the refusal names the mode require_approval.',
      shared({ asks: true }, async ({ cwd, session }) => {
        const { prompt, names, wasDone } = fixture.askPermission(cwd);
        const turn = await session.run(prompt);

        expectUnasked(session, turn, names);
        expect(ofKind(session.watch.events, 'approval.requested')).toEqual([]);
        if (wasDone) expect(wasDone()).toBe(fixture.unasked === 'runs');
        await expectAnotherTurn(session);
      }),
    );

    test(
      'The permission mode of one turn does not apply to the next turn.',
      shared({ asks: true }, async ({ client, cwd, session }) => {
        const { prompt, names } = fixture.askPermission(cwd);
        const turnId = await session.send(prompt, { permission_mode: 'require_approval' });
        await decide(client, await asked(session.watch, turnId), 'decline');
        expect((await session.watch.end(turnId)).kind).toBe(declinedEnd);

        expectUnasked(session, await session.run(prompt), names);
        expect(ofKind(session.watch.events, 'approval.requested')).toHaveLength(1);
      }),
    );

    test(
      'An approval that is accepted after a SIGKILL of the server continues the same turn.',
      optional(fixture.approvedAway ?? true, asking, async (harness) => {
        const { prompt } = fixture.askPermission(harness.cwd);
        const turnId = await harness.session.send(prompt);
        const approval = await asked(harness.session.watch, turnId);
        await harness.restart('SIGKILL');

        const { client, session } = harness;
        expect((await session.record()).status).toBe('waiting_for_approval');
        await decide(client, approval, 'accept');
        expect((await session.watch.end(turnId)).kind).toBe('turn.completed');
        expect(ofKind(session.watch.events, 'approval.requested')).toHaveLength(1);
        // The model decides whether the agent requests the action again, so only the prompt is checked.
        await expectMemory(
          harness,
          'The request below was approved while you were not running. Continue.',
        );
      }),
    );
  });

  describe(`${name}: interrupts`, options, () => {
    test(
      'A turn can be interrupted right after it is accepted, before its agent has started.',
      shared({}, async ({ session }) => {
        await expectInterrupted(session, await session.send(fixture.longStream));
        await expectAnotherTurn(session);
      }),
    );

    test(
      'A turn can be interrupted right after it is accepted, while its agent runs.',
      shared({}, async ({ session }) => {
        await expectAnotherTurn(session);
        const turnId = await session.send(fixture.longStream);
        await expectInterrupted(session, turnId);
        await expectAnotherTurn(session);
      }),
    );

    test(
      'A turn that is interrupted in the middle of a text keeps the first part of the text.',
      shared({}, async ({ session }) => {
        const turnId = await session.send(fixture.longStream);
        const { payload } = await session.watch.kind('message.delta', turnId);
        const turn = await expectInterrupted(session, turnId);

        expect(turn.text).toContain(String(payload.text).trim());
        const [said] = ofKind(session.watch.of(turnId), 'message.completed');
        expect(said?.payload).toMatchObject({ status: 'interrupted', item_id: payload.item_id });
        await expectAnotherTurn(session);
      }),
    );

    test(
      'A turn can be interrupted while a tool runs.',
      optionalShared(fixture.longTool, {}, async ({ session }, prompt) => {
        const turnId = await session.send(prompt);
        await session.watch.until(
          'running tool',
          ({ kind, payload }) => kind.startsWith('tool.') && payload.status === 'running',
        );
        await expectInterrupted(session, turnId);

        const [tool] = ofKind(session.watch.of(turnId), 'tool.completed');
        // Some agents report an interrupted tool call as completed.
        expect(['interrupted', 'failed', 'completed']).toContain(tool?.payload.status);
        await expectAnotherTurn(session);
      }),
    );

    test(
      'An interrupt cancels the pending approval of the turn.',
      shared(asking, async ({ client, cwd, session }) => {
        const { prompt, wasDone } = fixture.askPermission(cwd);
        const turnId = await session.send(prompt);
        const approval = await asked(session.watch, turnId);
        await expectInterrupted(session, turnId);

        const late = decide(client, approval, 'accept');
        await expect(late).rejects.toMatchObject({ code: 'approval_resolved' });
        const [resolved] = ofKind(session.watch.of(turnId), 'approval.resolved');
        expect(resolved?.payload.approval).toMatchObject({ status: 'cancelled', decision: null });
        if (wasDone) expect(wasDone()).toBe(false);
        await expectAnotherTurn(session);
      }),
    );

    test(
      'A turn can be interrupted while its agent is silent.',
      optionalShared(fixture.silence, {}, async ({ session }, prompt) => {
        const turnId = await session.send(prompt);
        await session.watch.kind('turn.started', turnId);
        const turn = await expectInterrupted(session, turnId);

        expect(turn.text).toBeNull();
        expect(ofKind(session.watch.of(turnId), 'message.delta')).toEqual([]);
        await expectAnotherTurn(session);
      }),
    );

    test(
      'An answer that arrives after an interrupt does not change the end of the turn.',
      optionalShared(fixture.lateAnswer, {}, async ({ cwd, session }, prompt) => {
        const { hasBegun } = fixture;
        const turnId = await session.send(prompt);
        if (hasBegun) await until('it has begun', () => hasBegun(cwd), patienceMs);
        else await session.watch.kind('message.delta', turnId);
        await expectInterrupted(session, turnId);

        await expectAnotherTurn(session);
        expect(session.watch.of(turnId).filter(isEnd)).toHaveLength(1);
      }),
    );

    test(
      'An agent that ignores the interrupt is killed after the grace period.',
      long,
      optional(fixture.ignoreCancel, {}, async (harness, prompt) => {
        const { session, agents } = harness;
        const turnId = await session.send(prompt);
        await session.watch.kind('message.delta', turnId);
        const before = agents();
        expect(before).not.toEqual([]);
        fixture.deafen?.(before);
        const ending = expectInterrupted(session, turnId);
        // sessions/interrupt.test.ts tests the length of the grace period with a manual clock.
        await session.watch.kind('turn.interrupt_requested', turnId);
        expect(agents()).toEqual(expect.arrayContaining(before));
        await ending;
        await until('its agent is gone', () => {
          const now = agents();
          return before.every((pid) => !now.includes(pid));
        });
        await expectMemory(harness, prompt);
      }),
    );
  });

  describe(`${name}: agent failures`, options, () => {
    test(
      'A turn fails when its agent dies, and the next turn remembers it.',
      optional(fixture.crash, {}, async (harness, { prompt, provoke, says }) => {
        const { session } = harness;
        await session.run(fixture.sayWords('a plover is a bird'));
        const turnId = await session.send(prompt);
        await session.watch.kind('message.delta', turnId);
        provoke?.(harness.agents());
        await session.watch.end(turnId);

        const turn = await session.turn(turnId);
        expect(turn).toMatchObject({ status: 'failed', error: { code: 'provider_exited' } });
        expect(turn.error?.message).toContain(says);
        const [said] = ofKind(session.watch.of(turnId), 'message.completed');
        expect(said?.payload.status).toBe('failed');
        expect(await session.record()).toMatchObject({ status: 'ready', failure: null });
        await expectMemory(harness, prompt);
      }),
    );

    test(
      'A line that is not a protocol message is ignored.',
      optionalShared(fixture.garbage, {}, async ({ session }, { prompt, texts }) => {
        const turn = await session.run(prompt);
        expect(turn.status).toBe('completed');
        const said = ofKind(session.watch.of(turn.turn_id), 'message.completed');
        expect(said.map(({ payload }) => payload.text).join('')).toBe(texts.join(''));
        await expectAnotherTurn(session);
      }),
    );

    test(
      'A turn whose agent writes an endless line fails with the reason, and other sessions are not affected.',
      long,
      optional(fixture.longLine, {}, async (harness, longLine) => {
        const { client, session } = harness;
        await session.run(fixture.sayWords('a plover is a bird'));
        const other = await harness.another();
        const running = await other.send(fixture.longStream);
        await other.watch.kind('message.delta', running);

        const prompt = longLine(TOO_LONG_BYTES);
        const turnId = await session.send(prompt);
        await session.watch.end(turnId, 2 * patienceMs);
        const turn = await session.turn(turnId);
        expect(turn).toMatchObject({ status: 'failed', error: { code: 'provider_exited' } });
        expect(await other.record()).toMatchObject({ status: 'running', active_turn_id: running });
        expect((await interrupt(client, other, running)).status).toBe(202);
        expect((await other.watch.end(running)).kind).toBe('turn.interrupted');
        await expectAnotherTurn(other);
        await expectMemory(harness, prompt);
        expect(turn.error?.message).toMatch(/sent a line of more than|too long/);
      }),
    );

    test(
      'A message that arrives after the end of a turn is reported outside of any turn.',
      optionalShared(fixture.lateWords, {}, async ({ session }, lateWords) => {
        const turn = await session.run(lateWords('one more thing'));
        expect(turn.status).toBe('completed');
        await session.watch.until(
          'word outside a turn',
          ({ kind, turn_id: id }) => kind === 'message.delta' && id === null,
        );
        expect(await session.record()).toMatchObject({ status: 'ready', active_turn_id: null });

        await expectAnotherTurn(session);
        expectDeltasAddUp(session.watch.of(null), 'message', ['one more thing']);
        expect(ofKind(session.watch.events, 'turn.accepted')).toHaveLength(2);
        expect(session.watch.of(turn.turn_id).at(-1)?.kind).toBe('turn.completed');
      }),
    );
  });

  describe(`${name}: sessions`, options, () => {
    test.each([
      ['SIGTERM', { code: 0, signal: null }],
      ['SIGKILL', { code: null, signal: 'SIGKILL' }],
    ] as const)(
      'A session keeps its history and its memory across a restart by %s.',
      (signal, how) =>
        withProviderHarness(fixture, {}, async (harness) => {
          const prompt = fixture.sayWords('a plover is a bird');
          await harness.session.run(prompt);
          const before = settle(harness.session.watch.events);
          expect(await harness.restart(signal)).toEqual(how);

          await expectMemory(harness, prompt);
          const { events } = harness.session.watch;
          expect(settle(events).slice(0, before.length)).toEqual(before);
          expect(ofKind(events, 'turn.accepted')).toHaveLength(2);
          expect((await harness.recovered()).sessions_failed).toEqual([]);
        }),
    );

    test(
      'After a SIGKILL in the middle of a turn, the turn has failed and its session accepts another turn.',
      onOwnHarness({}, async (harness) => {
        const turnId = await harness.session.send(fixture.longStream);
        await harness.session.watch.kind('message.delta', turnId);
        await harness.restart('SIGKILL');

        const turn = await harness.session.turn(turnId);
        expect(turn).toMatchObject({ status: 'failed', error: { code: 'runtime_restarted' } });
        expect((await harness.session.record()).status).toBe('ready');
        await expectMemory(harness, fixture.longStream);
      }),
    );

    test(
      'An idle session releases its agent and remembers its history with the next agent.',
      onOwnHarness({ env: { CADRE_PROVIDERS_IDLE_TIMEOUT_MS: '200' } }, async (harness) => {
        const { client, session } = harness;
        const prompt = fixture.sayWords('a plover is a bird');
        await session.run(prompt);
        await harness.noAgents();
        const providers = await client.call(endpoints.getProviderDiagnostics, {});
        expect(providers.find(({ id }) => id === fixture.provider)?.sessions).toBe(0);

        expect((await session.record()).status).toBe('ready');
        await expectMemory(harness, prompt);
      }),
    );

    test(
      'Closing a session interrupts its turn and ends its agent.',
      onOwnHarness({}, async ({ client, session, agents, noAgents }) => {
        const turnId = await session.send(fixture.longStream);
        await session.watch.kind('message.delta', turnId);
        expect(agents()).not.toEqual([]);
        const params = { session_id: session.id };
        const closed = await client.call(endpoints.closeSession, { params, body: {} });

        expect(closed).toMatchObject({ status: 'closed', active_turn_id: null });
        expect((await session.watch.end(turnId)).kind).toBe('turn.interrupted');
        await noAgents();
        const late = session.send(fixture.sayWords('too late'));
        await expect(late).rejects.toMatchObject({ code: 'session_closed' });
      }),
    );
  });

  /** Runs a case on a server that other cases use, too. */
  function shared(
    options: ProviderHarnessOptions,
    body: (harness: SharedProviderHarness) => Promise<void>,
  ) {
    return () => onShared(options, body);
  }

  /** Runs a case on a shared server, or skips it if the agent cannot show the behaviour. */
  function optionalShared<T>(
    phase: Optional<T>,
    options: ProviderHarnessOptions,
    body: (harness: SharedProviderHarness, phase: T) => Promise<void>,
  ) {
    return ({ skip }: TestContext): Promise<void> =>
      isLeftOut(phase) ? skip(phase.leftOut) : onShared(options, (harness) => body(harness, phase));
  }

  /** Runs a case on its own harness. */
  function onOwnHarness(
    options: ProviderHarnessOptions,
    body: (harness: ProviderHarness) => Promise<void>,
  ) {
    return () => withProviderHarness(fixture, options, body);
  }

  /** Runs a case on its own harness, or skips it if the agent cannot show the behaviour. */
  function optional<T>(
    phase: Optional<T>,
    options: ProviderHarnessOptions,
    body: (harness: ProviderHarness, phase: T) => Promise<void>,
  ) {
    return ({ skip }: TestContext): Promise<void> =>
      isLeftOut(phase)
        ? skip(phase.leftOut)
        : withProviderHarness(fixture, options, (harness) => body(harness, phase));
  }

  /** Expects that a request for permission ended without an approval, in the way of this provider. */
  function expectUnasked({ watch }: WatchedSession, turn: Turn, names: string): void {
    if (fixture.unasked === 'fails') {
      expect(turn).toMatchObject({ status: 'failed', error: { code: 'permission_required' } });
      expect(turn.error?.message).toContain(names);
      expect(turn.error?.message).toContain('require_approval');
      return;
    }
    expect(turn).toMatchObject({ status: 'completed', error: null });
    const [tool] = ofKind(watch.of(turn.turn_id), 'tool.completed');
    const runs = fixture.unasked === 'runs';
    expect(tool?.payload).toMatchObject({
      status: runs ? 'completed' : 'failed',
      text: expect.stringContaining(runs ? '' : 'require_approval'),
      tool: { title: expect.stringContaining(names) },
    });
  }

  /** Expects that the session completes another turn. */
  async function expectAnotherTurn(session: WatchedSession): Promise<void> {
    const turn = await session.run(fixture.sayWords('still here'));
    expect(turn).toMatchObject({ status: 'completed', text: 'still here', error: null });
  }

  /** Expects that the agent remembers the prompt of an earlier turn. */
  async function expectMemory(
    { session, setup }: SharedProviderHarness,
    prompt: string,
  ): Promise<void> {
    const turn = await session.run(fixture.recall);
    expect(turn).toMatchObject({ status: 'completed', error: null });
    expect(setup.memoryIn(turn)).toContain(prompt);
  }
}

/** Interrupts a turn; expects an answer before the turn ends, and exactly one end. */
async function expectInterrupted(session: WatchedSession, turnId: string): Promise<Turn> {
  const { client, watch } = session;
  const answer = await interrupt(client, session, turnId);
  expect(answer.status).toBe(202);
  expect(answer.turn.interrupt_requested_at).not.toBeNull();
  expect((await watch.end(turnId)).kind).toBe('turn.interrupted');

  const turn = await session.turn(turnId);
  expect(turn).toMatchObject({ status: 'interrupted', error: null });
  const events = watch.of(turnId);
  expect(ofKind(events, 'turn.interrupt_requested')).toHaveLength(1);
  expect(events.filter(isEnd)).toHaveLength(1);
  const again = interrupt(client, session, turnId);
  await expect(again).rejects.toMatchObject({ code: 'turn_not_active' });
  expect(await session.record()).toMatchObject({ status: 'ready', active_turn_id: null });
  return turn;
}

/** Expects that the deltas of each item follow one another by their offsets and add up to its text. */
function expectDeltasAddUp(
  events: readonly UntypedEvent[],
  kind: 'message' | 'reasoning',
  texts: readonly string[],
): void {
  const whole = ofKind(events, `${kind}.completed`);
  expect(whole.map(({ payload }) => payload.text)).toEqual(texts);
  for (const { payload, seq } of whole) {
    let text = '';
    const deltas = ofKind(events, `${kind}.delta`);
    for (const delta of deltas.filter((one) => one.payload.item_id === payload.item_id)) {
      expect(delta.payload.offset).toBe(Buffer.byteLength(text));
      expect(delta.seq).toBeLessThan(seq);
      text += String(delta.payload.text);
    }
    expect(text).toBe(payload.text);
  }
}
