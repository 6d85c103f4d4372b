import { isDeepStrictEqual } from 'node:util';
import { setImmediate as nextLoop } from 'node:timers/promises';
import { expect } from 'vitest';
import type { RuntimeEventRecord } from '../../src/api/events.ts';
import { fieldOf } from '../../src/agents/lenient.ts';
import { beginTurn } from '../../src/server/conversations/sessions/session.ts';
import { startTurn } from '../../src/server/conversations/sessions/turn.ts';
import { pageOf } from '../support/entries.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { type TestStore, testStore } from '../support/memory-store.ts';
import { aSession, aTurn } from '../support/records.ts';
import { settle } from '../support/settle.ts';
import { HeldPipes } from './cut-child.ts';
import {
  type CutAgent,
  CutServer,
  type CutSession,
  type PersonDecision,
  type Protocol,
} from './cut-server.ts';

/**
 * A step of a turn: a message of the agent, what a person does in a session, or time that passes. After the turn, its
 * adapter may be asked something, and the answers are compared, too.
 */
export type Step =
  | { say: object }
  | PersonDecision
  | { interrupt: true; of?: number }
  | { advance: number }
  | { ask: (agent: CutAgent) => Promise<unknown> };

/** A turn of an agent, message by message. */
export interface Wire {
  steps: readonly Step[];
  /** The permission mode of the turn (default: null). */
  mode?: string;
  model?: string;
  effort?: string;
}

/**
 * Where a server is cut off: after so many updates or writes of the turn, or after a step. `isTwice`: the next server, too,
 * once it has read what the agent had written.
 */
type Cut = { updates: number } | { writes: number } | { steps: number; isTwice?: boolean };
/** Changes the saved state of the agent and of the output before the next server reads it. */
type Change = (saved: object) => unknown;

const MAX_STATE_CHARACTERS = 64 * 1024;

/** Runs a turn once without a cut, and once for each possible cut, and expects equal events and answers. */
export async function expectEqualTurns(wire: Wire, protocol: Protocol): Promise<void> {
  const base = await testStore();
  const whole = new CutTurn(base, wire, protocol);
  const expected = comparable(base, whole, await whole.run());
  for (const cut of cutsOf(wire, { updates: expected.updates, writes: whole.writes })) {
    const turn = new CutTurn(base, wire, protocol);
    await turn.run(cut);
    expect({ cut, ...comparable(base, turn, expected.updates) }).toEqual({ cut, ...expected });
    expect(turn.stateSize).toBeLessThanOrEqual(MAX_STATE_CHARACTERS);
  }
}

/** Reports whether a turn has other events or answers after some cut, if a field of the saved state has another value. */
export async function isFoundWithout(
  wire: Wire,
  protocol: Protocol,
  field: string,
  value: unknown,
): Promise<boolean> {
  const base = await testStore();
  const whole = new CutTurn(base, wire, protocol);
  const expected = comparable(base, whole, await whole.run());
  for (const cut of cutsOf(wire, { updates: expected.updates, writes: 0 })) {
    const turn = new CutTurn(base, wire, protocol);
    let isField = true;
    const run = turn.run(cut, (saved) => (isField = setField(saved, field, value)));
    // A person cannot decide a request that is not stored.
    const isRun = await run.then(
      () => true,
      () => false,
    );
    if (!isField) throw new Error(`the saved state has no field "${field}"`);
    if (!isRun || !isDeepStrictEqual(comparable(base, turn, expected.updates), expected))
      return true;
  }
  return false;
}

let turns = 0;

/** A turn of each session of an agent, which servers that die one after the other may run. */
export class CutTurn {
  readonly #base: TestStore;
  readonly #wire: Wire;
  readonly #protocol: Protocol;
  readonly #clock = new ManualClock();
  readonly sessions: readonly CutSession[];
  readonly #held = new HeldPipes();
  readonly answers: string[] = [];
  /** The values of the names in the messages of the wire. */
  readonly #names = new Map<string, unknown>();
  #updates = 0;
  writes = 0;
  #server: CutServer | undefined;
  /** The largest saved state, in characters. */
  stateSize = 0;

  constructor(base: TestStore, wire: Wire, protocol: Protocol) {
    this.#base = base;
    this.#wire = wire;
    this.#protocol = protocol;
    this.sessions = protocol.refs.map((ref) => {
      const id = `sess_${++turns}`;
      const session = aSession({ id, permission_mode: wire.mode ?? null });
      const settings = { model: wire.model ?? null, thinking_effort: wire.effort ?? null };
      const turn = aTurn({ session_id: id, turn_id: `turn_${turns}`, accepted_at: 1, ...settings });
      return {
        turn: { ...startTurn(turn, 1), provider_turn_ref: `run_${turns}` },
        session: { ...beginTurn(session, turn, 1), provider_session_ref: ref },
        outcome: null,
      };
    });
  }

  /** Runs the turn to its end. Returns the number of updates. `change` changes the state that the second server reads. */
  async run(cut: Cut | null = null, change?: Change): Promise<number> {
    const { store, db } = this.#base;
    await db.transact((tx) => {
      for (const { session, turn } of this.sessions) {
        store.createSession(tx, session);
        store.acceptTurn(tx, session, turn);
      }
    });
    this.#server = this.#start();
    await this.#server.prompt();
    let isCut = cut === null;
    for (const [at, step] of this.#wire.steps.entries()) {
      const { diesAfter } = this.#server;
      if (!isCut && cut && 'updates' in cut) diesAfter.updates = cut.updates - this.#updates;
      if (!isCut && cut && 'writes' in cut) diesAfter.writes = cut.writes - this.writes;
      await this.#do(step);
      const isDue = cut && ('steps' in cut ? at + 1 >= cut.steps : this.#server.isDead);
      if (isCut || !isDue) continue;
      isCut = true;
      await this.#cut(change);
      if ('isTwice' in cut) await this.#cut();
    }
    await this.#settle();
    return this.#updates;
  }

  #start(): CutServer {
    return new CutServer(this.#base, this.#clock, {
      protocol: this.#protocol,
      sessions: this.sessions,
      held: this.#held,
      onUpdate: () => void this.#updates++,
      onWrite: () => void this.writes++,
      onAnswer: (line) => void this.answers.push(line),
      onNamed: (name, value) => void this.#names.set(name, value),
    });
  }

  /** Has the server die, and another one continue the turn, unless it has ended. */
  async #cut(change?: Change): Promise<void> {
    const server = this.#server;
    if (!server) return;
    server.isDead = true;
    if (await this.#replace(change)) await this.#settle();
    else server.isDead = false;
  }

  /** Has another server continue the turn. False if the turn has ended. */
  async #replace(change: Change = () => undefined): Promise<boolean> {
    const { db } = this.#base;
    await db.transact(() => undefined);
    const server = this.#start();
    const size = server.attach(change);
    if (size === null) return false;
    this.stateSize = size;
    this.#server = server;
    return true;
  }

  async #do(step: Step): Promise<void> {
    if ('say' in step) {
      const line = Buffer.from(`${this.#named(JSON.stringify(this.#protocol.framed(step.say)))}\n`);
      this.#held.write(line);
      this.#server?.stdout.write(line);
    } else if ('advance' in step) this.#clock.advance(step.advance);
    else if ('interrupt' in step) await this.#server?.interrupt(step.of);
    else if ('ask' in step) this.answers.push(JSON.stringify(await this.#server?.ask(step.ask)));
    else await this.#server?.decide(step);
    await this.#settle();
  }

  /** Returns a message of the wire with the values of its names. */
  #named(text: string): string {
    return [...this.#names].reduce(
      (one, [name, value]) => one.replaceAll(`"${name}"`, () => JSON.stringify(value)),
      text,
    );
  }

  /** Waits until the server has handled all that the agent has written, and has nothing to do. */
  async #settle(): Promise<void> {
    const isRead = () => this.#server?.isDead || this.#server?.hasRead;
    for (let quiet = 0; quiet < 3; quiet = isRead() ? quiet + 1 : 0) {
      await this.#base.db.transact(() => undefined);
      await nextLoop();
    }
  }
}

function cutsOf({ steps }: Wire, { updates, writes }: { updates: number; writes: number }): Cut[] {
  return [
    ...Array.from({ length: updates }, (_, at) => ({ updates: at + 1 })),
    ...Array.from({ length: writes }, (_, at) => ({ writes: at + 1 })),
    ...steps.map((_step, at) => ({ steps: at + 1 })),
    ...steps.map((_step, at) => ({ steps: at + 1, isTwice: true })),
  ];
}

/** Sets a field. False if there is no such field. */
function setField(saved: object, field: string, value: unknown): boolean {
  const names = field.split('.');
  const last = names.pop() ?? '';
  const owner = names.reduce<unknown>((one, name) => fieldOf(one, name), saved);
  const isField = Object.hasOwn(Object(owner) as object, last);
  if (isField) Reflect.set(owner as object, last, value);
  return isField;
}

/** All that people see of a turn, and all that its agent is answered. */
function comparable(base: TestStore, turn: CutTurn, updates: number) {
  const events = turn.sessions.map(({ session }) => settle(eventsOf(base, session.id)));
  const outcomes = turn.sessions.map(({ outcome }) => outcome);
  return { events, outcomes, answers: turn.answers, updates };
}

/** The events of a session, without their times, and with other ids in their order. */
function eventsOf({ log }: TestStore, sessionId: string): RuntimeEventRecord[] {
  const bounds = { after: 0, upTo: Number.MAX_SAFE_INTEGER, limit: 1e6, maxBytes: 1e9 };
  const { entries } = pageOf(log, { name: 'session', id: sessionId }, bounds);
  const names = new Map<string, string>();
  const named = (id: string) => {
    const name = names.get(id) ?? `id ${names.size}`;
    names.set(id, name);
    return name;
  };
  return entries.map(({ text }) => {
    const plain = text
      .replaceAll(/\bevt_\w+/g, 'evt')
      .replaceAll(/\b(?:item|apr|run|sess|turn)_\w+/g, named)
      .replaceAll(/\b17500000\d{5}\b/g, '0');
    return { ...(JSON.parse(plain) as RuntimeEventRecord), seq: 0 };
  });
}
