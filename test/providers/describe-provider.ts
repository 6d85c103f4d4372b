import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { RuntimeEventRecord } from '../../src/api/events.ts';
import { endpoints } from '../../src/api/index.ts';
import type { InputItem, Session, Turn, Usage } from '../../src/api/sessions.ts';
import { settle } from '../../src/client/settle.ts';
import { type TestServer, untilNothingCarries } from '../support/server.ts';
import { tempDirectory } from '../support/temp.ts';
import { ofKind } from '../support/turns.ts';
import {
  agentsOf,
  asked,
  decide,
  type Input,
  interrupt,
  itemsOf,
  run,
  send,
  sessionOf,
  turnOf,
  until,
  untilNoAgent,
} from './support/calls.ts';
import { isEnd, Watch } from './support/watch.ts';

/** What the contract needs to know of a provider and of the agent behind it. */
export interface ProviderFixture {
  provider: Session['provider'];
  /** Whether its cases may run side by side: not where a few agents are all the machine can bear. */
  severalAtOnce: boolean;
  /** Makes the world of one test, all of it in a directory of its own. */
  open(directory: string): Promise<ProviderWorld>;

  /** Says a text of several words, in pieces. */
  sayWords(text: string): string;
  /** Speaks, piece by piece and for minutes, unless it is interrupted. */
  longStream: string;
  /** Runs one tool that prints a word; `title` is in the tool's title. */
  runTool(word: string): { prompt: string; title: string };
  /** Asks for permission; `names` is in whatever tells a person of it. Only with `StartOptions.asks`. */
  askPermission(cwd: string): {
    prompt: string;
    names: string;
    /** Whether what it asked for was really done, where that can be seen from outside. */
    wasDone?: () => boolean;
  };
  /** Looks at the images of its turn. */
  showImages: string;
  /** What is asked to have the memory of the agent shown. */
  recall: string;

  // What not every agent can be made to do.
  /** Thinks a text of several words, before it says something. */
  think: Optional<(text: string) => string>;
  /** A tool that runs for minutes. */
  longTool: Optional<string>;
  /** Dies at its work, having said something; by itself, or by what `provoke` does then. */
  crash: Optional<{ prompt: string; provoke?: (server: TestServer) => void; says: string }>;
  /** Writes a line that is no message, between two texts. */
  garbage: Optional<{ prompt: string; texts: string[] }>;
  /** Writes one line of so many bytes and more. */
  longLine: Optional<(bytes: number) => string>;
  /** Says nothing, and does not end. */
  silence: Optional<string>;
  /** Does not listen to the interrupt: says something, and after a while ends as if nothing had been. */
  lateAnswer: Optional<string>;
  /** Does not listen to the interrupt, and does not end. Says something first. */
  ignoreCancel: Optional<string>;
  /** Ends the turn, and only then says this text. */
  lateWords: Optional<(text: string) => string>;
  /** Reports what it has used. */
  usage: Optional<{ prompt: string; usage: Partial<Usage> }>;
}

/** Left out, and why, where the agent cannot be brought to it. */
export type Optional<T> = T | LeftOut;
export interface LeftOut {
  leftOut: string;
}

export interface StartOptions {
  /** Whether the agent asks before it does what may need permission. */
  asks?: boolean;
  /** More of the server's environment. */
  env?: Record<string, string>;
}

export interface ProviderWorld extends AsyncDisposable {
  /** Starts a server with the provider; again, once it has ended, on the same data. */
  start(options?: StartOptions): Promise<TestServer>;
  /** What the agent showed it remembers in a turn that sent `recall`. */
  memoryIn(turn: Turn): string;
  /** The images that reached the agent in a turn that sent `showImages`. */
  imagesIn(turn: Turn): { mediaType: string; bytes: number }[];
}

/** Some time over what the server waits for an agent that was interrupted: 10 s. */
const PAST_DEADLINE_MS = 18_000;
/** The longest line an agent may write, and more. */
const TOO_LONG_BYTES = 33 * 1024 * 1024;

/** What every provider has to do, whatever its agent speaks; over HTTP, on a real server and real processes. */
export function describeProvider(name: string, fixture: ProviderFixture): void {
  const group = fixture.severalAtOnce ? describe.concurrent : describe;
  group(`${name}: what it says and does`, () => {
    it('is healthy, says what it can do, and gives a list of models', {}, async ({ server }) => {
      const providers = await server.client.call(endpoints.listProviders, {});
      const [own] = providers.filter(({ id }) => id === fixture.provider);
      expect(own).toMatchObject({ enabled: true, healthy: true, detail: 'ready' });
      const params = { provider: fixture.provider };
      const models = await server.client.call(endpoints.listModels, { params });
      expect(models.length > 0).toBe(own?.capabilities.models);
    });

    it('streams a text in deltas that add up to one whole message', {}, async (stage) => {
      const text = 'the quick brown füx jumps over 日本 and 🦊 comes back again';
      const turn = await stage.run(fixture.sayWords(text));

      expect(turn).toMatchObject({ status: 'completed', text, error: null });
      const events = stage.watch.of(turn.turn_id);
      expect(ofKind(events, 'message.delta').length).toBeGreaterThan(1);
      expectDeltasAddUp(events, 'message', [text]);
      const moves = events.filter(({ kind }) => kind.startsWith('turn.')).map(({ kind }) => kind);
      expect(moves).toEqual(['turn.accepted', 'turn.started', 'turn.completed']);
      expect(events.map(({ kind }) => kind).at(-1)).toBe('turn.completed');
      const said = (await itemsOf(stage.client, turn)).filter(({ kind }) => kind === 'message');
      expect(said).toMatchObject([{ status: 'completed', text }]);
      expect(await stage.session()).toMatchObject({ status: 'ready', active_turn_id: null });
    });

    optional('keeps what it thinks apart from what it says', fixture.think, {}, async (stage) => {
      const thought = 'what a long and winding thought';
      const turn = await stage.run(stage.phase(thought));

      const events = stage.watch.of(turn.turn_id);
      expectDeltasAddUp(events, 'reasoning', [thought]);
      expect(turn.status).toBe('completed');
      expect(turn.text ?? '').not.toContain(thought);
    });

    it('tells of a tool from its start to its end, with its whole output', {}, async (stage) => {
      const { prompt, title } = fixture.runTool('forty-two');
      const turn = await stage.run(prompt);

      expect(turn.status).toBe('completed');
      const events = stage.watch.of(turn.turn_id);
      const [started, ...moreStarted] = ofKind(events, 'tool.started');
      const [completed, ...moreCompleted] = ofKind(events, 'tool.completed');
      expect([moreStarted, moreCompleted]).toEqual([[], []]);
      expect(started?.seq).toBeLessThan(completed?.seq ?? 0);
      expect(started?.payload.item_id).toBe(completed?.payload.item_id);
      expect(completed?.payload).toMatchObject({ status: 'completed' });
      const [tool] = (await itemsOf(stage.client, turn)).filter(({ kind }) => kind === 'tool');
      expect(tool?.text.trimEnd()).toBe('forty-two');
      expect(tool?.text).toBe(completed?.payload.text);
      expect(tool?.tool?.title).toContain(title);
      expect(tool).toMatchObject({ status: 'completed', item_id: completed?.payload.item_id });
    });

    it('gives the images of a turn to the agent', {}, async (stage) => {
      const [file, inline] = [png(3, 2), png(20, 10)];
      const input: InputItem[] = [
        { type: 'text', text: fixture.showImages },
        { type: 'image', path: stage.file('three by two.png', file) },
        { type: 'image', data: inline.toString('base64'), media_type: 'image/png' },
      ];
      const body = { input };
      const params = { session_id: stage.opened.id };
      if (!(await canTakeImages(stage))) {
        const sent = stage.client.call(endpoints.sendTurn, { params, body });
        await expect(sent).rejects.toMatchObject({ code: 'invalid' });
        return;
      }
      const turn = await stage.run(input);
      if (turn.status === 'failed') {
        expect(turn.error?.code).toBe('unsupported_images');
      } else {
        expect(stage.world.imagesIn(turn)).toEqual(
          [file, inline].map(({ length }) => ({ mediaType: 'image/png', bytes: length })),
        );
      }
      await expectAnotherTurn(stage);
    });

    optional(
      'counts what a turn has used, for the turn and its session',
      fixture.usage,
      {},
      async (stage) => {
        const { prompt, usage } = stage.phase;
        const turn = await stage.run(prompt);

        expect(turn.usage).toMatchObject(usage);
        const reports = ofKind(stage.watch.of(turn.turn_id), 'usage.updated');
        expect(reports.length).toBeGreaterThan(0);
        expect((await stage.session()).usage).toMatchObject(usage);
        await stage.run(prompt);
        const { usage: sum } = await stage.session();
        expect(sum?.input_tokens).toBe(2 * (turn.usage?.input_tokens ?? 0));
        expect(sum?.context_window).toBe(turn.usage?.context_window);
      },
    );

    it('remembers what was said before', {}, async (stage) => {
      const first = fixture.sayWords('a plover is a bird');
      await stage.run(first);
      await stage.run(first);
      await expectMemory(stage, first);
    });
  });

  group(`${name}: permission`, () => {
    const ask = { asks: true, permissionMode: 'require_approval' };

    it('asked for and given, the agent goes on', ask, async (stage) => {
      const { prompt, names, wasDone } = fixture.askPermission(stage.cwd);
      const turnId = await stage.send(prompt);
      const approval = await asked(stage.watch, turnId);
      expect(approval).toMatchObject({ status: 'pending', turn_id: turnId });
      expect(approval.title).toContain(names);
      expect((await stage.session()).status).toBe('waiting_for_approval');
      expect((await turnOf(stage.client, stage.opened, turnId)).status).toBe(
        'waiting_for_approval',
      );

      const answered = await decide(stage.client, approval, 'accept');
      expect(answered).toMatchObject({ status: 'accepted', decision: 'accept' });
      expect((await stage.watch.end(turnId)).kind).toBe('turn.completed');
      const [tool] = ofKind(stage.watch.of(turnId), 'tool.completed');
      expect(tool?.payload.status).toBe('completed');
      if (wasDone) expect(wasDone()).toBe(true);
      await expectAnotherTurn(stage);
    });

    it('asked for and declined, what was asked for is not done', ask, async (stage) => {
      const { prompt, wasDone } = fixture.askPermission(stage.cwd);
      const turnId = await stage.send(prompt);
      const answered = await decide(stage.client, await asked(stage.watch, turnId), 'decline');
      expect(answered).toMatchObject({ status: 'declined', decision: 'decline' });

      expect((await stage.watch.end(turnId)).kind).toBe('turn.completed');
      const [tool] = ofKind(stage.watch.of(turnId), 'tool.completed');
      expect(tool?.payload.status).toBe('failed');
      if (wasDone) expect(wasDone()).toBe(false);
      await expectAnotherTurn(stage);
    });

    it('asked for in the default mode fails the turn, which names it', ask, async (stage) => {
      const session = await stage.another({ permission_mode: 'default' });
      const { prompt, names, wasDone } = fixture.askPermission(stage.cwd);
      await using watch = new Watch(stage.client, session.id);
      const turn = await run(stage.client, watch, session, prompt);

      expect(turn).toMatchObject({ status: 'failed', error: { code: 'permission_required' } });
      expect(turn.error?.message).toContain(names);
      expect(turn.error?.message).toContain('require_approval');
      expect(ofKind(watch.events, 'approval.requested')).toEqual([]);
      if (wasDone) expect(wasDone()).toBe(false);
      const next = await run(stage.client, watch, session, fixture.sayWords('still here'));
      expect(next).toMatchObject({ status: 'completed', text: 'still here' });
    });

    it('is asked of people for one turn, where only that turn wants it', ask, async (stage) => {
      const session = await stage.another({});
      const { prompt } = fixture.askPermission(stage.cwd);
      await using watch = new Watch(stage.client, session.id);
      const asking = { permission_mode: 'require_approval' };
      const turnId = await send(stage.client, session, prompt, asking);
      await decide(stage.client, await asked(watch, turnId), 'decline');
      await watch.end(turnId);

      const next = await run(stage.client, watch, session, prompt);
      expect(next.error?.code).toBe('permission_required');
    });

    it('given after a SIGKILL of the server lets the same turn go on', ask, async (stage) => {
      const { prompt, wasDone } = fixture.askPermission(stage.cwd);
      const turnId = await stage.send(prompt);
      const approval = await asked(stage.watch, turnId);
      await stage.restart('SIGKILL');

      expect((await stage.session()).status).toBe('waiting_for_approval');
      await decide(stage.client, approval, 'accept');
      expect((await stage.watch.end(turnId)).kind).toBe('turn.completed');
      expect(ofKind(stage.watch.events, 'approval.requested')).toHaveLength(1);
      if (wasDone) expect(wasDone()).toBe(true);
      await expectAnotherTurn(stage);
    });
  });

  group(`${name}: interrupt`, () => {
    it('right after acceptance, with the agent yet to start', {}, async (stage) => {
      const turnId = await stage.send(fixture.longStream);
      await expectInterrupted(stage, turnId);
      await expectAnotherTurn(stage);
    });

    it('right after acceptance, with an agent that waits for it', {}, async (stage) => {
      await expectAnotherTurn(stage);
      const turnId = await stage.send(fixture.longStream);
      await expectInterrupted(stage, turnId, PAST_DEADLINE_MS);
      await expectAnotherTurn(stage);
    });

    it('in the middle of a text, whose beginning stays', {}, async (stage) => {
      const turnId = await stage.send(fixture.longStream);
      const { payload } = await stage.watch.kind('message.delta', turnId);
      const { turn } = await expectInterrupted(stage, turnId);

      expect(turn.text).toContain(String(payload.text).trim());
      const [said] = ofKind(stage.watch.of(turnId), 'message.completed');
      expect(said?.payload).toMatchObject({ status: 'interrupted', item_id: payload.item_id });
      await expectAnotherTurn(stage);
    });

    optional('while a tool runs', fixture.longTool, {}, async (stage) => {
      const turnId = await stage.send(stage.phase);
      await stage.watch.until(
        'running tool',
        ({ kind, payload }) => kind.startsWith('tool.') && payload.status === 'running',
      );
      await expectInterrupted(stage, turnId);

      const [tool] = ofKind(stage.watch.of(turnId), 'tool.completed');
      expect(['interrupted', 'failed']).toContain(tool?.payload.status);
      await expectAnotherTurn(stage);
    });

    const ask = { asks: true, permissionMode: 'require_approval' };
    it('while an approval is open, which is cancelled', ask, async (stage) => {
      const { prompt, wasDone } = fixture.askPermission(stage.cwd);
      const turnId = await stage.send(prompt);
      const approval = await asked(stage.watch, turnId);
      await expectInterrupted(stage, turnId);

      const late = decide(stage.client, approval, 'accept');
      await expect(late).rejects.toMatchObject({ code: 'approval_resolved' });
      const [resolved] = ofKind(stage.watch.of(turnId), 'approval.resolved');
      expect(resolved?.payload.approval).toMatchObject({ status: 'cancelled', decision: null });
      if (wasDone) expect(wasDone()).toBe(false);
      await expectAnotherTurn(stage);
    });

    optional('of an agent that is silent', fixture.silence, {}, async (stage) => {
      const turnId = await stage.send(stage.phase);
      await stage.watch.kind('turn.started', turnId);
      const { turn } = await expectInterrupted(stage, turnId);

      expect(turn.text).toBeNull();
      expect(ofKind(stage.watch.of(turnId), 'message.delta')).toEqual([]);
      await expectAnotherTurn(stage);
    });

    optional('holds against an answer that comes later', fixture.lateAnswer, {}, async (stage) => {
      const turnId = await stage.send(stage.phase);
      await stage.watch.kind('message.delta', turnId);
      const { turn } = await expectInterrupted(stage, turnId);

      expect(turn.error).toBeNull();
      await expectAnotherTurn(stage);
      expect(stage.watch.of(turnId).filter(isEnd)).toHaveLength(1);
    });

    optional(
      'kills an agent that ignores it, when its time is up',
      fixture.ignoreCancel,
      { timeoutMs: 40_000 },
      async (stage) => {
        const turnId = await stage.send(stage.phase);
        await stage.watch.kind('message.delta', turnId);
        const before = agentsOf(stage.server);
        const { turn } = await expectInterrupted(stage, turnId, PAST_DEADLINE_MS);

        const [asked, ended] = [turn.interrupt_requested_at ?? 0, turn.ended_at ?? 0];
        expect(ended - asked).toBeGreaterThan(9000);
        expect(ended - asked).toBeLessThan(13_000);
        await until('its agent is gone', () => {
          const now = agentsOf(stage.server);
          return before.every((pid) => !now.includes(pid));
        });
        await expectMemory(stage, stage.phase);
      },
    );
  });

  group(`${name}: when the agent fails`, () => {
    optional(
      'by dying in a turn, the turn says so, and the next one remembers',
      fixture.crash,
      {},
      async (stage) => {
        const { prompt, provoke, says } = stage.phase;
        const first = fixture.sayWords('a plover is a bird');
        await stage.run(first);
        const turnId = await stage.send(prompt);
        await stage.watch.kind('message.delta', turnId);
        provoke?.(stage.server);
        await stage.watch.end(turnId);

        const turn = await turnOf(stage.client, stage.opened, turnId);
        expect(turn).toMatchObject({ status: 'failed', error: { code: 'provider_exited' } });
        expect(turn.error?.message).toContain(says);
        const [said] = ofKind(stage.watch.of(turnId), 'message.completed');
        expect(said?.payload.status).toBe('failed');
        expect(await stage.session()).toMatchObject({ status: 'ready', failure: null });
        await expectMemory(stage, prompt);
      },
    );

    optional(
      'with a line that is no message, the line is passed over',
      fixture.garbage,
      {},
      async (stage) => {
        const { prompt, texts } = stage.phase;
        const turn = await stage.run(prompt);
        expect(turn.status).toBe('completed');
        const said = ofKind(stage.watch.of(turn.turn_id), 'message.completed');
        expect(said.map(({ payload }) => payload.text).join('')).toBe(texts.join(''));
        await expectAnotherTurn(stage);
      },
    );

    optional(
      'with a line without end, its own turn fails, and no other session notices',
      fixture.longLine,
      { timeoutMs: 40_000 },
      async (stage) => {
        const first = fixture.sayWords('a plover is a bird');
        await stage.run(first);
        const other = await stage.another({});
        await using watch = new Watch(stage.client, other.id);
        const text = `through it all ${'and on '.repeat(50)}`.trim();
        const running = await send(stage.client, other, fixture.longStream);
        await watch.kind('message.delta', running);

        const prompt = stage.phase(TOO_LONG_BYTES);
        const turnId = await stage.send(prompt);
        await stage.watch.end(turnId, 30_000);
        const turn = await turnOf(stage.client, stage.opened, turnId);
        expect(turn).toMatchObject({ status: 'failed', error: { code: 'provider_exited' } });
        expect(turn.error?.message).toMatch(/exceeds|too long/);
        expect((await sessionOf(stage.client, other)).active_turn_id).toBe(running);
        expect((await interrupt(stage.client, other, running)).status).toBe(202);
        expect((await watch.end(running)).kind).toBe('turn.interrupted');
        const next = await run(stage.client, watch, other, fixture.sayWords(text));
        expect(next).toMatchObject({ status: 'completed', text });
        await expectMemory(stage, prompt);
      },
    );

    optional(
      'to be quiet after its turn, what it says is stored outside of any turn',
      fixture.lateWords,
      {},
      async (stage) => {
        const turn = await stage.run(stage.phase('one more thing'));
        expect(turn.status).toBe('completed');
        const words = (event: RuntimeEventRecord) =>
          event.kind === 'message.delta' && event.turn_id === null;
        await stage.watch.until('word outside a turn', words);
        expect(await stage.session()).toMatchObject({ status: 'ready', active_turn_id: null });

        await expectAnotherTurn(stage);
        expectDeltasAddUp(stage.watch.of(null), 'message', ['one more thing']);
        expect(ofKind(stage.watch.events, 'turn.accepted')).toHaveLength(2);
        expect(stage.watch.of(turn.turn_id).at(-1)?.kind).toBe('turn.completed');
      },
    );
  });

  group(`${name}: coming back`, () => {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      it(`after a restart by ${signal}, the session goes on where it was`, {}, async (stage) => {
        const prompt = fixture.sayWords('a plover is a bird');
        await stage.run(prompt);
        const before = settle(stage.watch.events);
        const ended = await stage.restart(signal);
        expect(ended).toEqual(
          signal === 'SIGTERM' ? { code: 0, signal: null } : { code: null, signal },
        );

        await expectMemory(stage, prompt);
        expect(settle(stage.watch.events).slice(0, before.length)).toEqual(before);
        expect(ofKind(stage.watch.events, 'turn.accepted')).toHaveLength(2);
        const { sessions_failed: lost } = await stage.recovered();
        expect(lost).toEqual([]);
      });
    }

    it('after a SIGKILL in the middle of a turn, that turn has failed', {}, async (stage) => {
      const turnId = await stage.send(fixture.longStream);
      await stage.watch.kind('message.delta', turnId);
      await stage.restart('SIGKILL');

      const turn = await turnOf(stage.client, stage.opened, turnId);
      expect(turn).toMatchObject({ status: 'failed', error: { code: 'runtime_restarted' } });
      expect((await stage.session()).status).toBe('ready');
      await expectMemory(stage, fixture.longStream);
    });

    const soonIdle = { env: { CADRE_PROVIDERS_IDLE_TIMEOUT_MS: '200' } };
    it('after idling, when its agent had given its memory back', soonIdle, async (stage) => {
      const prompt = fixture.sayWords('a plover is a bird');
      await stage.run(prompt);
      await untilNoAgent(stage.server);
      const providers = await stage.client.call(endpoints.getProviderDiagnostics, {});
      expect(providers.find(({ id }) => id === fixture.provider)?.sessions).toBe(0);

      expect((await stage.session()).status).toBe('ready');
      await expectMemory(stage, prompt);
    });

    it('is over with a close, which ends the turn and the agent', {}, async (stage) => {
      const turnId = await stage.send(fixture.longStream);
      await stage.watch.kind('message.delta', turnId);
      const params = { session_id: stage.opened.id };
      const closed = await stage.client.call(endpoints.closeSession, { params, body: {} });

      expect(closed).toMatchObject({ status: 'closed', active_turn_id: null });
      expect((await stage.watch.end(turnId)).kind).toBe('turn.interrupted');
      await untilNoAgent(stage.server);
      const late = stage.send(fixture.sayWords('too late'));
      await expect(late).rejects.toMatchObject({ code: 'session_closed' });
    });
  });

  /** A case on a stage of its own. */
  function it(title: string, options: StageOptions, body: (stage: Stage) => Promise<void>): void {
    test(title, { timeout: options.timeoutMs ?? 30_000 }, () => onStage(fixture, options, body));
  }

  /** A case that needs what not every agent can be brought to. */
  function optional<T>(
    title: string,
    phase: Optional<T>,
    options: StageOptions,
    body: (stage: Stage & { phase: T }) => Promise<void>,
  ): void {
    if (isLeftOut(phase)) {
      test(title, ({ skip }) => skip(phase.leftOut));
    } else {
      it(title, options, (stage) => body(Object.assign(stage, { phase })));
    }
  }

  /** The session is as good as new: it says what it is told to. */
  async function expectAnotherTurn(stage: Stage): Promise<void> {
    const turn = await stage.run(fixture.sayWords('still here'));
    expect(turn).toMatchObject({ status: 'completed', text: 'still here', error: null });
  }

  /** The agent knows the turn before this one. */
  async function expectMemory(stage: Stage, prompt: string): Promise<void> {
    const turn = await stage.run(fixture.recall);
    expect(turn).toMatchObject({ status: 'completed', error: null });
    expect(stage.world.memoryIn(turn)).toContain(prompt);
  }

  async function canTakeImages({ client }: Stage): Promise<boolean> {
    const providers = await client.call(endpoints.listProviders, {});
    return providers.find(({ id }) => id === fixture.provider)?.capabilities.images ?? false;
  }
}

interface StageOptions extends StartOptions {
  permissionMode?: string;
  timeoutMs?: number;
}

/** One server with one session of the provider, and what a test does with them. */
class Stage {
  readonly world: ProviderWorld;
  readonly cwd: string;
  readonly #start: StartOptions;
  readonly #provider: Session['provider'];
  server: TestServer;
  watch!: Watch;
  opened!: Session;

  constructor(given: {
    world: ProviderWorld;
    cwd: string;
    server: TestServer;
    start: StartOptions;
    provider: Session['provider'];
  }) {
    this.world = given.world;
    this.cwd = given.cwd;
    this.server = given.server;
    this.#start = given.start;
    this.#provider = given.provider;
  }

  get client() {
    return this.server.client;
  }

  async open(more: { permission_mode?: string }): Promise<void> {
    this.opened = await this.another(more);
    this.watch = new Watch(this.client, this.opened.id);
  }

  /** One more session; nobody watches it. */
  another(more: { permission_mode?: string }): Promise<Session> {
    const body = { provider: this.#provider, cwd: this.cwd, ...more };
    return this.client.call(endpoints.createSession, { body });
  }

  send(input: Input): Promise<string> {
    return send(this.client, this.opened, input);
  }

  run(input: Input): Promise<Turn> {
    return run(this.client, this.watch, this.opened, input);
  }

  session(): Promise<Session> {
    return sessionOf(this.client, this.opened);
  }

  async recovered() {
    const read = () => this.client.call(endpoints.getRecovery, {});
    await until('recovery is done', async () => (await read()).status === 'done');
    return read();
  }

  /** Ends the server and starts it again on its data; nothing of the first is left then. */
  async restart(signal: NodeJS.Signals) {
    const ended = await this.server.end(signal);
    await untilNothingCarries(this.server.directory);
    await this.watch[Symbol.asyncDispose]();
    this.server = await this.world.start(this.#start);
    this.watch = new Watch(this.client, this.opened.id);
    return ended;
  }

  /** Writes a file beside what the agent works on. */
  file(name: string, bytes: Buffer): string {
    const path = join(this.server.directory, name);
    writeFileSync(path, bytes);
    return path;
  }
}

async function onStage(
  fixture: ProviderFixture,
  { permissionMode, timeoutMs: _, ...start }: StageOptions,
  body: (stage: Stage) => Promise<void>,
): Promise<void> {
  await using directory = tempDirectory('contract');
  const cwd = join(directory.path, 'work');
  mkdirSync(cwd);
  await using world = await fixture.open(directory.path);
  const server = await world.start(start);
  const stage = new Stage({ world, cwd, server, start, provider: fixture.provider });
  try {
    await stage.open(permissionMode === undefined ? {} : { permission_mode: permissionMode });
    await body(stage);
  } finally {
    await stage.watch[Symbol.asyncDispose]();
    await stage.server.end('SIGKILL');
    await untilNothingCarries(directory.path);
  }
}

/** Interrupts a turn: it is answered first, and then the turn ends so, once. */
async function expectInterrupted(
  { client, opened, watch }: Stage,
  turnId: string,
  withinMs?: number,
): Promise<{ turn: Turn }> {
  const asked = await interrupt(client, opened, turnId);
  expect(asked.status).toBe(202);
  expect(asked.turn.interrupt_requested_at).not.toBeNull();
  expect((await watch.end(turnId, withinMs)).kind).toBe('turn.interrupted');

  const turn = await turnOf(client, opened, turnId);
  expect(turn).toMatchObject({ status: 'interrupted', error: null });
  const events = watch.of(turnId);
  expect(ofKind(events, 'turn.interrupt_requested')).toHaveLength(1);
  expect(events.filter(isEnd)).toHaveLength(1);
  const again = interrupt(client, opened, turnId);
  await expect(again).rejects.toMatchObject({ code: 'turn_not_active' });
  expect(await sessionOf(client, opened)).toMatchObject({ status: 'ready', active_turn_id: null });
  return { turn };
}

/** Each item's deltas follow one another by their offsets, and together are its whole text. */
function expectDeltasAddUp(
  events: readonly RuntimeEventRecord[],
  kind: 'message' | 'reasoning',
  texts: readonly string[],
): void {
  const whole = ofKind(events, `${kind}.completed`);
  expect(whole.map(({ payload }) => payload.text)).toEqual(texts);
  for (const { payload, seq } of whole) {
    let text = '';
    const deltas = ofKind(events, `${kind}.delta`);
    for (const delta of deltas.filter(({ payload: { item_id: id } }) => id === payload.item_id)) {
      expect(delta.payload.offset).toBe(Buffer.byteLength(text));
      expect(delta.seq).toBeLessThan(seq);
      text += String(delta.payload.text);
    }
    expect(text).toBe(payload.text);
  }
}

function isLeftOut(phase: unknown): phase is LeftOut {
  return typeof phase === 'object' && phase !== null && 'leftOut' in phase;
}

/** A grey picture, as a PNG file. */
function png(width: number, height: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 0, 0, 0, 0], 8); // 8 bits of grey
  const rows = Buffer.alloc((width + 1) * height, 0x80);
  for (let row = 0; row < height; row++) rows[row * (width + 1)] = 0; // no filter
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    pngChunk('IHDR', header),
    pngChunk('IDAT', deflateSync(rows)),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

function pngChunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const chunk = Buffer.alloc(named.length + 8);
  chunk.writeUInt32BE(data.length, 0);
  chunk.set(named, 4);
  chunk.writeUInt32BE(crc32(named), named.length + 4);
  return chunk;
}
