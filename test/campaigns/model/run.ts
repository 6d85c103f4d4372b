import { deepStrictEqual } from 'node:assert';
import { completed, interrupted } from '../../support/teams/team.ts';
import type { TurnOutcome } from '../../../src/agents/provider.ts';
import { requestOf } from './acts.ts';
import {
  type AgentAct,
  ask,
  nextTime,
  applyAgentAct,
  reach,
  refuse,
  restart,
  retire,
} from './model.ts';
import { Names } from './names.ts';
import { type Command, type Effect, effectOf, NAMES, type Program } from './programs.ts';
import type { UntypedEvent } from '../../support/untyped-events.ts';
import { type HttpAnswer, KEPT_DAYS, quiet, type Server } from './server.ts';
import { activeTurn, type Answer, type ModelState, newState, sessionNamed } from './state.ts';

const outcomes: Record<string, TurnOutcome> = {
  completed,
  interrupted,
  failed: { status: 'failed', error: { code: 'model_error', message: 'no' } },
};

/** One in so many programs ends with the retention of its sessions. */
const RETIRED = 8;
const DAY_MS = 86_400_000;

/** Runs one program on a server and in the model, and compares them after each command. */
export class Run {
  readonly #server: Server;
  readonly #program: Program;
  readonly #number: number;
  readonly #names = new Names();
  readonly #earlier: (Effect & { is: 'request' })[] = [];
  readonly #seen: Record<string, string[]> = {};
  #read = 0;
  /** The number of tool calls of each session. */
  readonly #tools: Record<string, number> = {};
  #state: ModelState;
  /** The commands that have run, for the report of a failure. */
  readonly trace: string[] = [];

  private constructor(server: Server, program: Program, number: number) {
    this.#server = server;
    this.#program = program;
    this.#number = number;
    this.#read = server.events.length;
    this.#state = newState(NAMES, server.clock.now());
  }

  static async startTurn(server: Server, program: Program, number: number): Promise<Run> {
    const run = new Run(server, program, number);
    try {
      await run.#open();
      for (const command of program.commands) await run.#take(command);
      for (const session of NAMES)
        await run.#do({ is: 'request', act: { does: 'close', session }, key: null });
      await quiet();
      run.#compareEvents();
      await run.#compareStates();
      if (number % RETIRED === 0) await run.#retire();
    } catch (error) {
      throw new Error(`program ${number}:\n  ${run.trace.join('\n  ')}\n${String(error)}`, {
        cause: error,
      });
    }
    return run;
  }

  async #open(): Promise<void> {
    const server = this.#server;
    server.refusals.length = 0;
    for (const name of NAMES) {
      const body = { provider: 'acp', permission_mode: 'require_approval', cwd: server.cwd };
      const { body: session } = await server.request('POST', '/v1/sessions', JSON.stringify(body));
      this.#names.set(String(session.id), name);
    }
    const [lead, ...others] = NAMES.map((name) => this.#names.fill(`{${name}}`));
    const body = { name: 'team', lead_agent_id: lead, member_agent_ids: others };
    const { body: made } = await server.request('POST', '/v1/teams', JSON.stringify(body));
    this.#names.set((made.team as { id: string }).id, 'team');
    await this.#settle();
  }

  async #take(command: Command): Promise<void> {
    const effect = effectOf(command, this.#state, this.#earlier);
    if (effect) await this.#do(effect);
  }

  async #do(effect: Effect): Promise<void> {
    this.trace.push(JSON.stringify(effect));
    const { tempers } = this.#program;
    switch (effect.is) {
      case 'request':
        return this.#request(effect);
      case 'agent':
        return this.#act(effect.session, effect.act);
      case 'refuse':
        this.#server.refusals.push(effect.code);
        this.#state = refuse(this.#state, effect.code);
        return;
      case 'pass':
        return this.#pass(effect.ms);
      case 'restart':
        await this.#server.restart(effect.how, effect.ms);
        this.#state = restart(this.#state, tempers, effect.how, this.#server.clock.now());
        await this.#settle();
        // Approvals that were due while no server ran have timers for this very moment.
        return this.#pass(0);
    }
  }

  async #request(effect: Effect & { is: 'request' }): Promise<void> {
    const { act, key } = effect;
    const { method, path, body } = requestOf(act);
    const { state, result } = ask(this.#state, this.#program.tempers, act, key);
    this.#state = state;
    if (key !== null) this.#earlier.push(effect);
    const { fill } = this.#names;
    const text = body === undefined ? undefined : fill.call(this.#names, JSON.stringify(body));
    const ownKey = key === null || method !== 'POST' ? null : `${this.#number}-${key}`;
    const answer = await this.#server.request(method, this.#names.fill(path), text, ownKey);
    await this.#settle();
    deepStrictEqual(this.#answerOf(act.does, answer), result);
  }

  #answerOf(does: string, { status, isReplayed, body }: HttpAnswer): Answer {
    const code = status < 300 ? null : String(body.code);
    return { status, code, says: code === null ? this.#saying(does, body) : null, isReplayed };
  }

  /** Returns the content of an answer in the words of the model. */
  #saying(does: string, body: HttpAnswer['body']): string {
    const names = this.#names;
    const status = String(body.status);
    switch (does) {
      case 'send':
        return names.short(body.turn_id);
      case 'interrupt':
        return `${names.short(body.turn_id)} ${status}`;
      case 'queue':
        return `${names.short(body.id)} ${status} ${String(body.position)}`;
      case 'pause_queue':
      case 'resume_queue':
        return (body.holds as { code: string }[]).map(({ code }) => code).join(' ');
      case 'message':
        return (body.deliveries as { status: string }[]).map((one) => one.status).join(' ');
      case 'cancel_message':
        return body.cancelled_at === null ? 'open' : 'cancelled';
      case 'leave':
      case 'join': {
        const members = (body.members as { agent_id: string }[]).map((one) =>
          names.of(one.agent_id),
        );
        const { lead_agent_id: lead } = body.team as { lead_agent_id: string };
        return `${members.join(' ')}, led by ${names.of(lead)}`;
      }
      case 'interrupt_all':
        return (body.interrupted_session_ids as string[]).map((id) => names.of(id)).join(' ');
      case 'run': {
        const process = body.process as { process_id: string; status: string };
        return `${names.short(process.process_id)} ${process.status}`;
      }
      case 'budget':
        return `${status} ${(body.spent as { turns: number }).turns}`;
      case 'delete_team':
        return '';
      default:
        return status;
    }
  }

  async #act(id: string, act: AgentAct): Promise<void> {
    const before = activeTurn(sessionNamed(this.#state, id));
    if (!before?.hasAgent) return;
    const turn = this.#server.turns.get(this.#names.fill(`{${id}}`))?.at(-1);
    if (!turn) throw new Error(`the agent of ${id} has no turn`);
    const isToolOpen = before.hasOpenTool;
    this.#state = applyAgentAct(this.#state, this.#program.tempers, id, act).state;
    switch (act.does) {
      case 'end':
        turn.end(outcomes[act.status] as TurnOutcome);
        break;
      case 'die':
        turn.agent.die('has died');
        turn.end({ status: 'failed', error: { code: 'provider_unavailable', message: 'died' } });
        break;
      case 'say':
        await turn.sink.update({ type: 'message', text: 'x' });
        break;
      case 'tool': {
        const status = isToolOpen ? 'completed' : 'running';
        const calls = (this.#tools[id] ?? 0) + (isToolOpen ? 0 : 1);
        this.#tools[id] = calls;
        const change = { title: 'x', status } as const;
        await turn.sink.update({ type: 'tool', ref: `tool-${calls}`, change });
        break;
      }
      case 'ask': {
        const subject = { tool: 'write', number: act.subject };
        void turn.ask({ title: `write ${act.subject}`, subject, request: subject });
        break;
      }
    }
    await this.#settle();
  }

  /** Lets time pass, and stops at each moment at which the model expects something. */
  async #pass(ms: number): Promise<void> {
    const end = this.#state.now + ms;
    for (let isOver = false; !isOver;) {
      const next = nextTime(this.#state);
      const at = next !== null && next <= end ? next : end;
      this.#server.clock.advance(at - this.#state.now);
      this.#state = reach(this.#state, this.#program.tempers, at);
      await this.#settle();
      isOver = at === end;
    }
  }

  /** Waits for all events and turns that the model expects, and compares the events. */
  async #settle(): Promise<void> {
    const { events, sessions } = this.#state;
    const expected = Object.values(events).flat();
    const obedient = this.#program.tempers;
    const turnsOf = (id: string) => this.#server.turns.get(this.#names.fill(`{${id}}`)) ?? [];
    await this.#server.until(
      () => {
        this.#readEvents();
        const count = Object.values(this.#seen).flat().length;
        return (
          count >= expected.length &&
          sessions.every(({ id }) => {
            const started = (events[id] ?? []).filter((text) => text.startsWith('turn.started'));
            return turnsOf(id).length >= started.length;
          })
        );
      },
      () => this.#difference() ?? 'the agent did not get a turn',
    );
    this.#compareEvents();
    for (const { id } of sessions)
      for (const turn of turnsOf(id).slice(-1))
        if (obedient[id] === true && !this.#watched.has(turn)) {
          this.#watched.add(turn);
          void turn.cancelled.then(() => turn.end(interrupted));
        }
  }

  readonly #watched = new WeakSet<object>();

  #readEvents(): void {
    const { events } = this.#server;
    for (; this.#read < events.length; this.#read++) {
      const event = events[this.#read];
      if (!event) continue;
      const scope = this.#names.scopeOf(event);
      if (scope === null) continue;
      this.#names.learn(event);
      const text = this.#names.textOf(event);
      if (text !== null) (this.#seen[scope] ??= []).push(text);
    }
  }

  #compareEvents(): void {
    this.#readEvents();
    const difference = this.#difference();
    if (difference !== null) throw new Error(difference);
  }

  #difference(): string | null {
    for (const scope of new Set([...Object.keys(this.#state.events), ...Object.keys(this.#seen)])) {
      const expected = this.#state.events[scope] ?? [];
      const seen = this.#seen[scope] ?? [];
      const at = Array.from({ length: Math.max(expected.length, seen.length) }, (_, i) => i).find(
        (i) => expected[i] !== seen[i],
      );
      if (at === undefined) continue;
      const part = (texts: string[]) => texts.slice(Math.max(0, at - 4), at + 4).join('\n    ');
      return `events of ${scope} differ at ${at}\n  the model:\n    ${part(expected)}\n  the server:\n    ${part(seen)}`;
    }
    return null;
  }

  /** Lets the closed sessions become so old that retention deletes their events and contents. The records stay. */
  async #retire(): Promise<void> {
    const ids = new Set(NAMES.map((name) => this.#names.fill(`{${name}}`)));
    const isTrimmed = ({ kind, payload }: UntypedEvent) =>
      kind === 'storage.trimmed' &&
      ids.has(String(payload.closed_session_id)) &&
      payload.is_whole === true;
    const from = this.#server.events.length;
    this.#server.clock.advance(KEPT_DAYS * DAY_MS + DAY_MS);
    await this.#server.until(
      () => this.#server.events.slice(from).filter(isTrimmed).length === NAMES.length,
      () => 'retention did not delete the closed sessions',
    );
    this.#state = retire(this.#state);
    await this.#settle();
    await this.#compareStates();
    for (const id of ids) {
      const { body } = await this.#server.request('GET', `/v1/sessions/${id}/events`);
      const left = (body as unknown as UntypedEvent[]).map(({ kind }) => kind);
      deepStrictEqual(
        left.filter((kind) => kind !== 'queue.removed'),
        [],
      );
      const { body: turns } = await this.#server.request('GET', `/v1/sessions/${id}/turns`);
      for (const turn of turns as unknown as { trimmed: boolean; text: string | null }[])
        deepStrictEqual([turn.trimmed, turn.text], [true, null]);
    }
  }

  /** Compares all records with the model: sessions, turns, approvals, the queue and deliveries. */
  async #compareStates(): Promise<void> {
    const names = this.#names;
    const get = async (path: string) =>
      (await this.#server.request('GET', names.fill(path))).body as unknown as Record<
        string,
        unknown
      >[];
    for (const session of this.#state.sessions) {
      const where = `/v1/sessions/{${session.id}}`;
      const { status } = (await get(where)) as unknown as { status: string };
      const turns = (await get(`${where}/turns?limit=500`)).toReversed();
      const approvals = (await get(`${where}/approvals?limit=500`)).toReversed();
      const { entries } = (await get(`${where}/queue`)) as unknown as {
        entries: Record<string, unknown>[];
      };
      const code = (error: unknown) => (error as { code: string } | null)?.code ?? null;
      deepStrictEqual(
        {
          status,
          turns: turns.map((one) => [
            names.short(one.turn_id),
            one.status,
            one.source,
            code(one.error),
          ]),
          approvals: approvals.map((one) => [names.short(one.id), one.status]),
          entries: entries.map((one) => [names.short(one.id), one.status]),
        },
        {
          status: session.status,
          turns: session.turns.map((one) => [one.name, one.status, one.source, one.error]),
          approvals: session.approvals.map((one) => [one.name, one.status]),
          entries: session.inbox
            .filter(({ kind }) => kind === 'queue')
            .map((one) => [one.name, one.status]),
        },
      );
    }
    const deliveries = (await get('/v1/teams/{team}/deliveries?limit=500')).toReversed();
    deepStrictEqual(
      deliveries.map((one) => [names.of(one.id), one.status, one.consumed_at !== null]),
      this.#state.deliveries.map((one) => [one.name, one.status, one.isConsumed]),
    );
  }
}
