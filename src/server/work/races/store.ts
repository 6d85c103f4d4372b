import type { KindIn } from '../../../api/events.ts';
import type { Goal } from '../../../api/goals.ts';
import type { Contender, Race } from '../../../api/races.ts';
import type { EventLog } from '../../../core/events/log.ts';
import type { Database } from '../../../core/store/database.ts';
import { RecordTable } from '../../../core/store/records.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';
import type { Inbox } from '../../conversations/inbox/inbox.ts';
import type { SessionStore } from '../../conversations/sessions/store.ts';
import { type ContenderRows, hasEnded, currentContender, withContender, withEnd } from './race.ts';

interface RaceStoreDeps {
  db: Database;
  log: EventLog;
  sessionStore: SessionStore;
  inbox: Inbox;
  goals: { find: (rx: Reader, sessionId: string) => Goal | undefined };
}

type ContenderKind = 'race.contender_started' | 'race.judged';

/** The rows of races, and the rows of their sessions. */
export class RaceStore {
  readonly #deps: RaceStoreDeps;
  readonly races: RecordTable<Race>;

  constructor(deps: RaceStoreDeps) {
    this.#deps = deps;
    this.races = new RecordTable<Race>(deps.db, 'races', ({ id }) => id);
  }

  /** Returns a race. Throws `not_found`. */
  race(rx: Reader, id: string): Race {
    return this.races.require(rx, id, 'race');
  }

  isNamed(rx: Reader, name: string): boolean {
    return this.races.where(rx, 'name = ?', name).length > 0;
  }

  running(rx: Reader): Race[] {
    return this.races.where(rx, "status = 'running'");
  }

  rowsOf(rx: Reader, sessionId: string): ContenderRows {
    const { sessionStore, inbox, goals } = this.#deps;
    const session = sessionStore.session(rx, sessionId);
    const { last_turn_id: last } = session;
    return {
      session,
      lastTurn: last === null ? undefined : sessionStore.turns.get(rx, last),
      goal: goals.find(rx, sessionId),
      holds: inbox.holds.of(rx, sessionId),
      hasNext: inbox.entries.hasNext(rx, sessionId),
    };
  }

  /** Returns a race with the present state of its contenders. */
  current(rx: Reader, race: Race): Race {
    const contenders = race.contenders.map((one) =>
      one.session_id === null || hasEnded(one)
        ? one
        : currentContender(one, this.rowsOf(rx, one.session_id)),
    );
    return { ...race, contenders };
  }

  insert(tx: Writer, race: Race): void {
    this.races.insert(tx, race);
    this.#append(tx, race, 'race.started');
  }

  /** Stores the session of a contender that has started. */
  startContender(tx: Writer, race: Race, contender: Contender, now: number): void {
    this.races.update(tx, withContender(race, contender, now));
    this.#appendContender(tx, race, contender, 'race.contender_started');
  }

  keep(tx: Writer, race: Race): void {
    this.races.update(tx, race);
    this.#append(tx, race, 'race.kept');
  }

  /** Stores a contender that has ended, and the end of the race if it is the last one. */
  judge(tx: Writer, race: Race, contender: Contender, now: number): void {
    const after = withEnd(withContender(race, contender, now), now);
    this.races.update(tx, after);
    this.#appendContender(tx, race, contender, 'race.judged');
    if (after.status !== 'running') this.#append(tx, after, 'race.ended');
  }

  /** Removes the races of a session whose contents retention deletes, unless another session still has its own. */
  sessionTrimmed(tx: Writer, sessionId: string): void {
    const isOfRace = "record ->> '$.contenders' LIKE '%\"' || ? || '\"%'";
    for (const { id, contenders } of this.races.where(tx, isOfRace, sessionId)) {
      const others = contenders.flatMap(({ session_id }) => session_id ?? []);
      const isLast = others.every(
        (one) => one === sessionId || this.#deps.sessionStore.session(tx, one).trimmed,
      );
      if (isLast) this.races.delete(tx, id);
    }
  }

  #appendContender(tx: Writer, race: Race, contender: Contender, kind: ContenderKind): void {
    const payload = { race_id: race.id, race_name: race.name, contender };
    const { session_id, worktree_id } = contender;
    this.#deps.log.append(tx, { kind, session_id, worktree_id, payload });
  }

  #append(
    tx: Writer,
    { contenders: _contenders, ...race }: Race,
    kind: Exclude<KindIn<'race'>, ContenderKind>,
  ): void {
    this.#deps.log.append(tx, { kind, payload: { race } });
  }
}
