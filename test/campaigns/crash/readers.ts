import { setTimeout as pause } from 'node:timers/promises';
import type { RuntimeEventRecord } from '../../../src/api/events.ts';
import type { Client } from '../../../src/client/client.ts';
import { AppError } from '../../../src/api/errors.ts';
import type { TestServer } from '../../support/server.ts';
import { type Observation, replay } from './observe.ts';
import { checkEqual, type Violations } from './checks.ts';
import { Reader } from './reader.ts';
import { RoamingClient } from './roaming-client.ts';
import { scaled } from '../../support/patience.ts';

/** So many sessions are followed at a time, the newest. */
const FOLLOWED_SESSIONS = 8;
/** If the readers receive no event for this time, in ms, the wait for their events ends. */
const SILENCE_MS = 10_000;
export const FIRST_READER = 'the first reader';

/** Subscribers that follow the log through all deaths of the server: two for all events, and one for each session. */
export class Readers {
  readonly #client = new RoamingClient();
  readonly #onEvent: (reader: Reader, event: RuntimeEventRecord) => void;
  #readers: Reader[] = [];
  /** Faults of readers that have ended. */
  readonly #past = { events: 0, losses: 0 };

  constructor(onEvent: (name: string, event: RuntimeEventRecord) => void) {
    this.#onEvent = ({ name }, event) => onEvent(name, event);
    for (const name of [FIRST_READER, 'the second reader']) this.#add(this.#client, name);
  }

  /** The sessions that are followed, oldest first. */
  get sessions(): string[] {
    return this.#readers.flatMap(({ sessionId }) => sessionId ?? []);
  }

  get counts(): { events: number; losses: number } {
    return {
      events: this.#readers.reduce((sum, { count }) => sum + count, this.#past.events),
      losses: this.#readers.reduce((sum, { losses }) => sum + losses, this.#past.losses),
    };
  }

  /** There is a server again, or (null) none. */
  moveTo(client: Client | null): void {
    this.#client.moveTo(client);
  }

  /** Follows one more session from its first event on. */
  follow(sessionId: string): void {
    this.#add(this.#client, `the reader of ${sessionId}`, sessionId);
  }

  /** Waits until every reader was shown all of an observation. Rejects with `unreachable` if the server dies. */
  async catchUp(server: TestServer, { upTo, sessionLogs }: Observation): Promise<Violations> {
    const waits = this.#readers.map((reader) => ({
      reader,
      seq: targetOf(reader, upTo, sessionLogs),
    }));
    await this.#reach(waits, server);
    return waits
      .filter(({ reader, seq }) => reader.last < seq)
      .map(({ reader, seq }) => `${reader.name} stays at seq ${reader.last}, the log is at ${seq}`);
  }

  /** Holds what everybody was shown against the log; what is beyond it is for the next time. */
  compareWith({ log, upTo, sessionLogs }: Observation): Violations {
    return this.#readers.flatMap((reader) => {
      const { name, sessionId } = reader;
      const { events, violations } = reader.take(upTo);
      if (sessionId === undefined) return [...violations, ...checkEqual(name, events, log)];
      const scoped = log.filter(({ session_id }) => session_id === sessionId);
      const stored = sessionLogs.get(sessionId) ?? [];
      return [
        ...violations,
        ...checkEqual(name, events, scoped),
        ...checkEqual(`the replay of ${sessionId}`, stored, scoped),
      ];
    });
  }

  /** Holds what a reader that begins only now is shown against the whole log. */
  async compareNewReader(
    server: TestServer,
    log: readonly RuntimeEventRecord[],
  ): Promise<Violations> {
    const reader = this.#add(server.client, 'a newcomer');
    const last = log.at(-1)?.seq ?? 0;
    try {
      await this.#reach([{ reader, seq: last }], server);
      const { events, violations } = reader.take(last);
      // Reading a long log takes minutes. The server deletes the deltas of items that have ended in this time.
      const later = await replay(server.client, last);
      return [...violations, ...checkEqual(reader.name, [...events, ...later], [...log, ...later])];
    } finally {
      await this.#remove(reader);
    }
  }

  /** Waits until the readers of the whole runtime have seen the stop in order that followed `upTo`. */
  async checkStopEvent(upTo: number): Promise<Violations> {
    const readers = this.#readers.filter(({ sessionId }) => sessionId === undefined);
    await this.#reach(readers.map((reader) => ({ reader, seq: upTo + 1 })));
    return readers.flatMap((reader) => {
      const { events, violations } = reader.take(Number.MAX_SAFE_INTEGER);
      const kinds = events.map(({ kind }) => kind).join(', ') || 'nothing';
      return kinds === 'runtime.stopping'
        ? violations
        : [`the last that ${reader.name} was shown is ${kinds}`];
    });
  }

  /** Lets the oldest go where there are many. */
  async removeOldReaders(): Promise<void> {
    const sessionReaders = this.#readers.filter(({ sessionId }) => sessionId !== undefined);
    for (const reader of sessionReaders.slice(0, -FOLLOWED_SESSIONS)) await this.#remove(reader);
  }

  async end(): Promise<void> {
    this.moveTo(null);
    for (const reader of this.#readers.slice()) await this.#remove(reader);
  }

  /**
   * Waits until each reader has received its event, or until no reader has received an event for `SILENCE_MS`. The whole
   * wait has no limit, because a log of a million events takes minutes. Rejects with `unreachable` if the server dies.
   */
  async #reach(
    waits: readonly { reader: Reader; seq: number }[],
    server?: TestServer,
  ): Promise<void> {
    const done = Promise.all(waits.map(({ reader, seq }) => reader.until(seq))).then(() => true);
    const dead = server?.exited.then(() => {
      throw new AppError('unreachable', 'the server died');
    });
    const isDone = dead ? Promise.race([done, dead]) : done;
    const shown = () => waits.reduce((sum, { reader }) => sum + reader.count, 0);
    for (let before = -1; before !== shown();) {
      before = shown();
      const waiting = new AbortController();
      const silence = pause(scaled(SILENCE_MS), false, { signal: waiting.signal });
      try {
        if (await Promise.race([isDone, silence])) return;
      } finally {
        waiting.abort();
        await silence.catch(() => undefined);
      }
    }
  }

  #add(client: Client, name: string, sessionId?: string): Reader {
    const reader: Reader = new Reader({
      client,
      name,
      sessionId,
      onEvent: (event) => this.#onEvent(reader, event),
    });
    this.#readers.push(reader);
    return reader;
  }

  async #remove(reader: Reader): Promise<void> {
    await reader.stop();
    this.#readers = this.#readers.filter((other) => other !== reader);
    this.#past.events += reader.count;
    this.#past.losses += reader.losses;
  }
}

function targetOf(
  { sessionId }: Reader,
  upTo: number,
  sessionLogs: Observation['sessionLogs'],
): number {
  return sessionId === undefined ? upTo : (sessionLogs.get(sessionId)?.at(-1)?.seq ?? 0);
}
