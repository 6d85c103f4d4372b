import { describe, expect, test, type TestContext } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import type { Turn } from '../../src/api/sessions.ts';
import { settle } from '../../src/client/settle.ts';
import { ofKind } from '../support/turns.ts';
import { asked, decide, interrupt, itemsOf, until } from '../support/providers/calls.ts';
import {
  onStage,
  type SharedStage,
  sharedStages,
  type Stage,
  type StageOptions,
  type WatchedSession,
} from '../support/providers/contract-stage.ts';
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

const asking: StageOptions = { asks: true, permissionMode: 'require_approval' };

/** What every provider has to do, whatever its agent speaks: over HTTP, with real servers and real processes. */
export function describeProvider(name: string, fixture: ProviderFixture): void {
  const { patienceMs = usualPatienceMs, declinedEnd = 'turn.completed' } = fixture;
  // Over its patience, so that a case which waits in vain can still say for what.
  const options = { concurrent: fixture.severalAtOnce, timeout: scaled(patienceMs) + 2000 };
  const onShared = sharedStages(fixture);
  const long = { timeout: scaled(3 * patienceMs) };

  describe(`${name}: what it says and does`, options, () => {
    test(
      'is healthy, says what it can do, and gives a list of models',
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
      'streams a text in deltas that add up to one whole message',
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
      'keeps what it thinks apart from what it says',
      optionalShared(fixture.think, {}, async ({ session }, think) => {
        const thought = 'what a long and winding thought';
        const turn = await session.run(think(thought));

        expect(turn.status).toBe('completed');
        expect(turn.text ?? '').not.toContain(thought);
        expectDeltasAddUp(session.watch.of(turn.turn_id), 'reasoning', [thought]);
      }),
    );

    test(
      'tells of a tool from its start to its end, with its whole output',
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
      'gives the images of a turn to the agent, or says that it takes none',
      shared({}, async ({ client, session, file, world }) => {
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
          expect(world.imagesIn(turn)).toEqual(seen);
        } else {
          expect(turn.error?.code).toBe('unsupported_images');
        }
        await expectAnotherTurn(session);
      }),
    );

    test(
      'counts what a turn has used, for the turn and its session',
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
      'fails a turn for want of a login with auth_required and the way to log in, and is not healthy until a turn completes',
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
      'remembers what was said before',
      staged({}, async (stage) => {
        await stage.session.run(fixture.sayWords('a plover is a bird'));
        const prompt = fixture.sayWords('and so is an owl');
        await stage.session.run(prompt);
        await expectMemory(stage, prompt);
      }),
    );
  });

  describe(`${name}: permission`, options, () => {
    test(
      'asked for and given, the agent goes on',
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
      'asked for and declined, what was asked for is not done',
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
      'asked for in the default mode is asked of nobody, and the way to be asked is named',
      shared({ asks: true }, async ({ cwd, session }) => {
        const { prompt, names, wasDone } = fixture.askPermission(cwd);
        const turn = await session.run(prompt);

        expectUnasked(session, turn, names);
        expect(ofKind(session.watch.events, 'approval.requested')).toEqual([]);
        if (wasDone) expect(wasDone()).toBe(false);
        await expectAnotherTurn(session);
      }),
    );

    test(
      'is asked of people for one turn, where only that turn wants it',
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
      'given after a SIGKILL of the server lets the same turn go on',
      optional(fixture.approvedAway ?? true, asking, async (stage) => {
        const { prompt } = fixture.askPermission(stage.cwd);
        const turnId = await stage.session.send(prompt);
        const approval = await asked(stage.session.watch, turnId);
        await stage.restart('SIGKILL');

        const { client, session } = stage;
        expect((await session.record()).status).toBe('waiting_for_approval');
        await decide(client, approval, 'accept');
        expect((await session.watch.end(turnId)).kind).toBe('turn.completed');
        expect(ofKind(session.watch.events, 'approval.requested')).toHaveLength(1);
        // Whether it asks again is up to its model.
        await expectMemory(
          stage,
          'The request below was approved while you were not running. Continue.',
        );
      }),
    );
  });

  describe(`${name}: interrupt`, options, () => {
    test(
      'right after acceptance, with the agent yet to start',
      shared({}, async ({ session }) => {
        await expectInterrupted(session, await session.send(fixture.longStream));
        await expectAnotherTurn(session);
      }),
    );

    test(
      'right after acceptance, with an agent that waits for it',
      shared({}, async ({ session }) => {
        await expectAnotherTurn(session);
        const turnId = await session.send(fixture.longStream);
        await expectInterrupted(session, turnId);
        await expectAnotherTurn(session);
      }),
    );

    test(
      'in the middle of a text, whose beginning stays',
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
      'while a tool runs',
      optionalShared(fixture.longTool, {}, async ({ session }, prompt) => {
        const turnId = await session.send(prompt);
        await session.watch.until(
          'running tool',
          ({ kind, payload }) => kind.startsWith('tool.') && payload.status === 'running',
        );
        await expectInterrupted(session, turnId);

        const [tool] = ofKind(session.watch.of(turnId), 'tool.completed');
        // Some say that it had been completed: so it was, as far as it went.
        expect(['interrupted', 'failed', 'completed']).toContain(tool?.payload.status);
        await expectAnotherTurn(session);
      }),
    );

    test(
      'while an approval is open, which is cancelled',
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
      'of an agent that is silent',
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
      'holds against an answer that comes later',
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
      'kills an agent that ignores it, when its time is up',
      long,
      optional(fixture.ignoreCancel, {}, async (stage, prompt) => {
        const { session, agents } = stage;
        const turnId = await session.send(prompt);
        await session.watch.kind('message.delta', turnId);
        const before = agents();
        expect(before).not.toEqual([]);
        fixture.deafen?.(before);
        const ending = expectInterrupted(session, turnId);
        // The time is the server's, which sessions/interrupt.test.ts lets pass by hand: until then the agent lives.
        await session.watch.kind('turn.interrupt_requested', turnId);
        expect(agents()).toEqual(expect.arrayContaining(before));
        await ending;
        await until('its agent is gone', () => {
          const now = agents();
          return before.every((pid) => !now.includes(pid));
        });
        await expectMemory(stage, prompt);
      }),
    );
  });

  describe(`${name}: an agent that fails`, options, () => {
    test(
      'by dying in a turn fails that turn, and the next one remembers',
      optional(fixture.crash, {}, async (stage, { prompt, provoke, says }) => {
        const { session } = stage;
        await session.run(fixture.sayWords('a plover is a bird'));
        const turnId = await session.send(prompt);
        await session.watch.kind('message.delta', turnId);
        provoke?.(stage.agents());
        await session.watch.end(turnId);

        const turn = await session.turn(turnId);
        expect(turn).toMatchObject({ status: 'failed', error: { code: 'provider_exited' } });
        expect(turn.error?.message).toContain(says);
        const [said] = ofKind(session.watch.of(turnId), 'message.completed');
        expect(said?.payload.status).toBe('failed');
        expect(await session.record()).toMatchObject({ status: 'ready', failure: null });
        await expectMemory(stage, prompt);
      }),
    );

    test(
      'to speak the protocol in one line has that line passed over',
      optionalShared(fixture.garbage, {}, async ({ session }, { prompt, texts }) => {
        const turn = await session.run(prompt);
        expect(turn.status).toBe('completed');
        const said = ofKind(session.watch.of(turn.turn_id), 'message.completed');
        expect(said.map(({ payload }) => payload.text).join('')).toBe(texts.join(''));
        await expectAnotherTurn(session);
      }),
    );

    test(
      'to end its line fails its turn, which says why, and no other session notices',
      long,
      optional(fixture.longLine, {}, async (stage, longLine) => {
        const { client, session } = stage;
        await session.run(fixture.sayWords('a plover is a bird'));
        const other = await stage.another();
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
        await expectMemory(stage, prompt);
        expect(turn.error?.message).toMatch(/sent a line of more than|too long/);
      }),
    );

    test(
      'to be quiet after its turn is heard outside of any turn',
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

  describe(`${name}: a session`, options, () => {
    test.each([
      ['SIGTERM', { code: 0, signal: null }],
      ['SIGKILL', { code: null, signal: 'SIGKILL' }],
    ] as const)('goes on where it was after a restart by %s', (signal, how) =>
      onStage(fixture, {}, async (stage) => {
        const prompt = fixture.sayWords('a plover is a bird');
        await stage.session.run(prompt);
        const before = settle(stage.session.watch.events);
        expect(await stage.restart(signal)).toEqual(how);

        await expectMemory(stage, prompt);
        const { events } = stage.session.watch;
        expect(settle(events).slice(0, before.length)).toEqual(before);
        expect(ofKind(events, 'turn.accepted')).toHaveLength(2);
        expect((await stage.recovered()).sessions_failed).toEqual([]);
      }),
    );

    test(
      'goes on after a SIGKILL in the middle of a turn, and that turn has failed',
      staged({}, async (stage) => {
        const turnId = await stage.session.send(fixture.longStream);
        await stage.session.watch.kind('message.delta', turnId);
        await stage.restart('SIGKILL');

        const turn = await stage.session.turn(turnId);
        expect(turn).toMatchObject({ status: 'failed', error: { code: 'runtime_restarted' } });
        expect((await stage.session.record()).status).toBe('ready');
        await expectMemory(stage, fixture.longStream);
      }),
    );

    test(
      'that idles gives its agent up, and goes on with another',
      staged({ env: { CADRE_PROVIDERS_IDLE_TIMEOUT_MS: '200' } }, async (stage) => {
        const { client, session } = stage;
        const prompt = fixture.sayWords('a plover is a bird');
        await session.run(prompt);
        await stage.noAgents();
        const providers = await client.call(endpoints.getProviderDiagnostics, {});
        expect(providers.find(({ id }) => id === fixture.provider)?.sessions).toBe(0);

        expect((await session.record()).status).toBe('ready');
        await expectMemory(stage, prompt);
      }),
    );

    test(
      'that is closed ends its turn and its agent',
      staged({}, async ({ client, session, agents, noAgents }) => {
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

  /** A case on a server that others use, too. */
  function shared(options: StageOptions, body: (stage: SharedStage) => Promise<void>) {
    return () => onShared(options, body);
  }

  /** Such a case that needs what not every agent can be brought to. */
  function optionalShared<T>(
    phase: Optional<T>,
    options: StageOptions,
    body: (stage: SharedStage, phase: T) => Promise<void>,
  ) {
    return ({ skip }: TestContext): Promise<void> =>
      isLeftOut(phase) ? skip(phase.leftOut) : onShared(options, (stage) => body(stage, phase));
  }

  /** A case on a stage of its own. */
  function staged(options: StageOptions, body: (stage: Stage) => Promise<void>) {
    return () => onStage(fixture, options, body);
  }

  /** A case that needs what not every agent can be brought to. */
  function optional<T>(
    phase: Optional<T>,
    options: StageOptions,
    body: (stage: Stage, phase: T) => Promise<void>,
  ) {
    return ({ skip }: TestContext): Promise<void> =>
      isLeftOut(phase)
        ? skip(phase.leftOut)
        : onStage(fixture, options, (stage) => body(stage, phase));
  }

  /** A request for permission that nobody was asked for ended as this provider has it end. */
  function expectUnasked({ watch }: WatchedSession, turn: Turn, names: string): void {
    if (fixture.unasked === 'fails') {
      expect(turn).toMatchObject({ status: 'failed', error: { code: 'permission_required' } });
      expect(turn.error?.message).toContain(names);
      expect(turn.error?.message).toContain('require_approval');
      return;
    }
    expect(turn).toMatchObject({ status: 'completed', error: null });
    const [tool] = ofKind(watch.of(turn.turn_id), 'tool.completed');
    expect(tool?.payload).toMatchObject({
      status: 'failed',
      text: expect.stringContaining('require_approval'),
      tool: { title: expect.stringContaining(names) },
    });
  }

  /** The session is as good as new: its agent says what it is told to. */
  async function expectAnotherTurn(session: WatchedSession): Promise<void> {
    const turn = await session.run(fixture.sayWords('still here'));
    expect(turn).toMatchObject({ status: 'completed', text: 'still here', error: null });
  }

  /** The agent knows of the turn before this one. */
  async function expectMemory({ session, world }: SharedStage, prompt: string): Promise<void> {
    const turn = await session.run(fixture.recall);
    expect(turn).toMatchObject({ status: 'completed', error: null });
    expect(world.memoryIn(turn)).toContain(prompt);
  }
}

/** Interrupts a turn: that is answered first, and then the turn ends so, once. */
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

/** Each item's deltas follow one another by their offsets, and together are its whole text. */
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
