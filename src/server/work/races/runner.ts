import type { SessionDiff } from '../../../api/diffs.ts';
import type { Contender, Race } from '../../../api/races.ts';
import type { Session } from '../../../api/sessions.ts';
import { AppError, conflictError, recordedError } from '../../../api/errors.ts';
import type { Feed } from '../../../core/events/feed.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import { OneAtATime } from '../../../core/lib/one-at-a-time.ts';
import type { Writer } from '../../../core/store/transaction.ts';
import type { GoalService } from '../../conversations/goals/service.ts';
import type { SessionService } from '../../conversations/sessions/service.ts';
import type { SessionOpening } from '../worktrees/session-opening.ts';
import type { WorktreeStore } from '../worktrees/store.ts';
import { contenderIn, endedContender, failedContender, hasEnded, STOPPED } from './race.ts';
import type { RaceStore } from './store.ts';

/** The wait before another try to store a step of a race, in ms. */
const RETRY_MS = 1000;
/** The kinds of events after which a session may have ended its work. With the last entry that waits, the work ends too. */
const ENDINGS = new Set([
  'delivery.cancelled',
  'delivery.failed',
  'queue.edited',
  'queue.held',
  'queue.removed',
  'watch.ended',
  'turn.completed',
  'turn.interrupted',
  'turn.failed',
  'goal.ended',
  'queue.session_held',
  'session.closed',
  'session.failed',
]);

interface RaceRunnerDeps extends Pick<ServerParts, 'db' | 'clock' | 'logger' | 'failpoint'> {
  store: RaceStore;
  feed: Pick<Feed, 'latestSeq' | 'subscribe'>;
  opening: SessionOpening;
  sessions: Pick<SessionService, 'sendNow'>;
  goals: Pick<GoalService, 'setNow'>;
  worktrees: WorktreeStore;
  /** Returns what contenders do at a usage limit: another agent never continues them. Undefined: the configuration applies. */
  afterLimit: () => string | undefined;
  /** Resolves with the changes of a session since its start. Throws `conflict` if git cannot read them. */
  readDiff: (sessionId: string) => Promise<SessionDiff>;
}

type Changes = Pick<Contender, 'files_changed' | 'additions' | 'deletions'>;

/** Starts the contenders of races, and stores their results. The next step always follows from the rows. */
export class RaceRunner {
  readonly #deps: RaceRunnerDeps;
  readonly #underWay = new OneAtATime();
  readonly #stopping = new AbortController();
  #isOpen = false;

  constructor(deps: RaceRunnerDeps) {
    this.#deps = deps;
  }

  /** Continues the races of the last run. Must be called once its unused worktrees are removed. */
  open(): void {
    if (this.#stopping.signal.aborted) return;
    this.#isOpen = true;
    const { db, store } = this.#deps;
    for (const race of db.peek((rx) => store.running(rx))) this.start(race);
  }

  /** Leaves the races for the next start of the server. */
  stop(): void {
    this.#isOpen = false;
    this.#stopping.abort();
  }

  idle(): Promise<void> {
    return this.#underWay.idle();
  }

  /** Must be called once a race is on disk. */
  start({ id, contenders }: Race): void {
    if (!this.#isOpen) return;
    for (const { contender } of contenders.filter((one) => !hasEnded(one)))
      void this.#underWay.run(`${id}/${contender}`, () => this.#run(id, contender));
  }

  async #run(raceId: string, name: string): Promise<void> {
    const { logger, clock } = this.#deps;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        return await this.#advance(raceId, name);
      } catch (error) {
        if (signal.aborted) return;
        logger.error({ err: error, race_id: raceId, contender: name }, 'cannot advance a race');
        await clock.sleep(RETRY_MS, signal).catch(() => undefined);
      }
    }
  }

  async #advance(raceId: string, name: string): Promise<void> {
    const { db, store, feed } = this.#deps;
    const now = () =>
      contenderIn(
        db.peek((rx) => store.race(rx, raceId)),
        name,
      );
    if (now().status === 'starting') await this.#open(raceId, name);
    const { session_id: id, ended_at } = now();
    if (id === null || ended_at !== null) return;
    const after = feed.latestSeq;
    if (await this.#judge(raceId, name, id)) return;
    const scope = { name: 'session' as const, id, kinds: ENDINGS };
    for await (const _page of feed.subscribe(scope, after, this.#stopping.signal))
      if (await this.#judge(raceId, name, id)) return;
  }

  /** Opens the session of a contender in its worktree, and sends the prompt. A refusal is the result of the contender. */
  async #open(raceId: string, name: string): Promise<void> {
    const { db, store, opening, failpoint, afterLimit } = this.#deps;
    const race = db.peek((rx) => store.race(rx, raceId));
    const { contender: _name, worktree_name, ...settings } = contenderIn(race, name);
    failpoint('race.starting');
    try {
      if (race.stopped_at !== null) throw conflictError(STOPPED.message);
      await opening.open(
        {
          provider: settings.provider,
          agent: settings.agent,
          model: settings.model,
          thinking_effort: settings.thinking_effort,
          permission_mode: settings.permission_mode,
          agent_mode: settings.agent_mode,
          after_limit: afterLimit(),
          cwd: race.cwd,
          title: worktree_name,
          sandbox: race.sandbox,
          worktree: { worktree_name, base_ref: race.base_ref, base_commit: race.base_commit },
        },
        (tx, opened) => this.#begin(tx, raceId, name, opened as Session),
      );
    } catch (error) {
      if (this.#stopping.signal.aborted) throw error;
      await this.#fail(raceId, name, error);
    }
  }

  /** Sets the goal and sends the prompt, in the transaction that stores the session. Throws `conflict`. */
  #begin(tx: Writer, raceId: string, name: string, session: Session): void {
    const { store, sessions, goals, worktrees, clock } = this.#deps;
    const race = store.race(tx, raceId);
    const contender = contenderIn(race, name);
    const { worktree_name, status } = contender;
    if (status !== 'starting' || race.stopped_at !== null) throw conflictError(STOPPED.message);
    const worktree = worktrees.worktree(tx, session.worktree_id ?? '');
    if (worktree.source_session_id !== session.id)
      throw conflictError(
        `worktree ${worktree_name} already exists: choose another name for the race`,
      );
    const { check: command, max_checks: max_rounds, check_timeout_ms, created_by } = race;
    if (command !== null)
      goals.setNow(tx, session.id, { command, max_rounds, check_timeout_ms }, created_by);
    const input = [{ type: 'text' as const, text: race.prompt }];
    const turn = sessions.sendNow(tx, session, { source: 'user', input });
    const started: Contender = {
      ...contender,
      agent: session.agent,
      session_id: session.id,
      worktree_id: worktree.id,
      status: 'running',
      started_at: turn.accepted_at,
    };
    store.startContender(tx, race, started, clock.now());
  }

  async #fail(raceId: string, name: string, error: unknown): Promise<void> {
    const { db, store, clock, logger } = this.#deps;
    if (!(error instanceof AppError))
      logger.error({ err: error, race_id: raceId, contender: name }, 'cannot start a contender');
    const failure = recordedError(error);
    await db.transact((tx) => {
      const race = store.race(tx, raceId);
      const contender = contenderIn(race, name);
      if (contender.status !== 'starting') return;
      const now = clock.now();
      const why = race.stopped_at === null ? failure : STOPPED;
      store.judge(tx, race, failedContender(contender, why, now), now);
    });
  }

  /** Stores the result of a contender if it has ended. Returns whether it has one. */
  async #judge(raceId: string, name: string, sessionId: string): Promise<boolean> {
    const { db, store, clock, failpoint } = this.#deps;
    const result = (rx: Parameters<typeof store.race>[0]) => {
      const race = store.race(rx, raceId);
      const contender = contenderIn(race, name);
      const about = { isStopped: race.stopped_at !== null, now: clock.now() };
      const ended = endedContender(contender, store.rowsOf(rx, sessionId), about);
      return { race, ended, isJudged: hasEnded(contender) };
    };
    const before = db.peek(result);
    if (before.isJudged || before.ended === null) return before.isJudged;
    const changes = await this.#readChanges(sessionId);
    failpoint('race.judging');
    return db.transact((tx) => {
      const { race, ended, isJudged } = result(tx);
      if (!isJudged && ended) store.judge(tx, race, { ...ended, ...changes }, clock.now());
      return isJudged || ended !== null;
    });
  }

  async #readChanges(sessionId: string): Promise<Changes> {
    try {
      const { files_changed, additions, deletions } = await this.#deps.readDiff(sessionId);
      return { files_changed, additions, deletions };
    } catch (error) {
      if (!(error instanceof AppError) || error.code === 'shutting_down') throw error;
      return { files_changed: null, additions: null, deletions: null };
    }
  }
}
