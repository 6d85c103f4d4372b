import type { Approval } from '../../api/approvals.ts';
import { isEventKind, kinds } from '../../api/events.ts';
import type { Hook, HookSkip, HookTest } from '../../api/hooks.ts';
import { isDeepStrictEqual } from 'node:util';
import type { ServerParts } from '../../core/events/server-parts.ts';
import type { Supervisor } from '../../core/children/supervisor.ts';
import { AppError, conflictError, notFoundError } from '../../api/errors.ts';
import type { Feed } from '../../core/events/feed.ts';
import type { AppendedEntry, LogEntry } from '../../core/events/log.ts';
import { persist } from '../../core/store/persist.ts';
import type { SaveResponse } from '../../core/store/idempotency-store.ts';
import type { HookDefinition } from './definition.ts';
import { type ApprovalLinks, LINK_PATH } from './links.ts';
import { type Delivery, messageOf, type Outcome } from './outcome.ts';
import { runCommand } from './run-command.ts';
import { HookRunner, progressOf, type RunnerDeps } from './runner.ts';
import { sendPost } from './send-post.ts';
import { type HookState, HookStore } from './store.ts';

/** The remaining time of an attempt after the configuration of its hook has changed, in ms. */
const GRACE_MS = 2000;

interface HookServiceDeps extends Pick<ServerParts, 'db' | 'log' | 'clock' | 'ids' | 'logger'> {
  feed: Pick<Feed, 'latestSeq' | 'trimmedSeq'>;
  supervisor: Supervisor;
  /** The working directory of commands. */
  directory: string;
  ownUrl: () => string;
  links: Pick<ApprovalLinks, 'make'>;
  /** Returns an approval by its id, if it is still pending. */
  pendingApproval: (id: string) => Approval | null;
}

/** The hooks of the configuration, each with its position in the log. */
export class HookService {
  readonly #deps: HookServiceDeps;
  readonly #store: HookStore;
  readonly #runners = new Map<string, HookRunner>();
  readonly #testing = new Set<string>();
  readonly #stopping = new AbortController();
  #definitions: readonly HookDefinition[] = [];
  #applying: Promise<void> = Promise.resolve();

  constructor(deps: HookServiceDeps) {
    this.#deps = deps;
    this.#store = new HookStore(deps.db);
    deps.db.onDurable((items) => {
      for (const runner of this.#runners.values()) runner.seen(items as AppendedEntry[]);
    });
  }

  /**
   * Applies the hooks of a configuration. A new hook begins after the event `from`. An unchanged hook continues
   * undisturbed. Resolves once all of them run.
   */
  apply(definitions: readonly HookDefinition[], from: number): Promise<void> {
    this.#applying = this.#applying.then(() => this.#apply(definitions, from));
    return this.#applying;
  }

  /** Ends all deliveries; the next start continues them. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#applying;
    await Promise.all([...this.#runners.values()].map((runner) => runner.stop()));
  }

  list(): Hook[] {
    return this.#definitions.map((definition) => this.#described(definition));
  }

  /** Returns the problems that a person has to solve, a sentence for each hook. */
  problems(): string[] {
    const now = this.#deps.clock.now();
    return this.#definitions.flatMap(({ name, problem, enabled }) => {
      const reason = problem ?? this.#runners.get(name)?.problem(now) ?? null;
      return enabled && reason !== null ? [`hook "${name}": ${reason}`] : [];
    });
  }

  /** Throws `not_found`, and `conflict` while the hook is tested already. */
  async test(name: string): Promise<HookTest> {
    const { clock } = this.#deps;
    const definition = this.#definition(name);
    if (definition.problem !== null) throw conflictError(`hook "${name}": ${definition.problem}`);
    if (this.#testing.has(name))
      throw conflictError(`hook "${name}" is already being tested: wait until the test ends`);
    this.#testing.add(name);
    try {
      const event = this.#exampleFor(definition);
      const begun = clock.monotonic();
      const body =
        definition.body === 'approval' ? { ...event.payload.approval, test: true } : event;
      const outcome = await this.#hand(
        definition,
        { body: JSON.stringify(body), event, attempt: 1, secret: null },
        this.#stopping.signal,
      ).catch((error: unknown) => ({ ok: false as const, error: messageOf(error) }));
      const elapsed_ms = Math.round(clock.monotonic() - begun);
      return { ok: outcome.ok, error: outcome.ok ? null : outcome.error, elapsed_ms, event: body };
    } finally {
      this.#testing.delete(name);
    }
  }

  /**
   * Skips the next event of a hook, which may be off; with `all`, skips all events up to now. Throws `not_found`, and
   * `conflict` if the hook has no pending event, or if the next one is not `seq`.
   */
  async skip(
    name: string,
    { all, seq, by }: SkipRequest,
    saveResponse?: SaveResponse,
  ): Promise<HookSkip> {
    const { db, log, feed, logger } = this.#deps;
    const { scope } = this.#definition(name);
    const runner = this.#runners.get(name);
    const stored = db.peek((rx) => this.#store.get(rx, name))?.cursor;
    const position = runner?.cursor ?? stored ?? feed.latestSeq;
    const target = all ? feed.latestSeq : headAfter(position, scope, this.#deps);
    assertWaits(name, target, seq);
    const skipped = await db.transact((tx) => {
      const state = this.#store.begin(tx, name, position);
      const after_seq = Math.max(state.cursor, position);
      const up_to_seq = Math.max(after_seq, target);
      const answer = { name, after_seq, up_to_seq };
      if (up_to_seq === after_seq) return answer;
      const next = { ...state, cursor: up_to_seq, failure: null };
      this.#store.update(tx, next);
      log.append(tx, { kind: 'hook.skipped', payload: { hook: name, after_seq, up_to_seq, by } });
      tx.whenDurable(() => this.#runners.get(name)?.skipped(next));
      return answer;
    }, saveResponse);
    const { after_seq, up_to_seq } = skipped;
    logger.warn({ hook: name, after_seq, up_to_seq, by }, 'events were skipped for a hook');
    return skipped;
  }

  async #apply(definitions: readonly HookDefinition[], from: number): Promise<void> {
    const { logger } = this.#deps;
    const before = this.#runners;
    const same = (one: HookDefinition) =>
      isDeepStrictEqual(before.get(one.name)?.definition, one) && isRunnable(one);
    const kept = new Set(definitions.filter(same).map(({ name }) => name));
    const ended = [...before.values()].filter(({ definition: { name } }) => !kept.has(name));
    await Promise.all(ended.map((runner) => runner.stop(GRACE_MS)));
    for (const { definition } of ended) before.delete(definition.name);
    this.#definitions = definitions;
    for (const definition of definitions) {
      if (definition.problem !== null)
        logger.error(
          { hook: definition.name, problem: definition.problem },
          'a hook is not usable',
        );
      if (kept.has(definition.name) || !isRunnable(definition) || this.#stopping.signal.aborted)
        continue;
      try {
        const state = await this.#begin(definition.name, from);
        if (state) this.#runners.set(definition.name, this.#runnerOf(definition, state));
      } catch (error) {
        logger.error({ err: error, hook: definition.name }, 'cannot start a hook');
      }
    }
  }

  /** Returns the stored state of a hook. A new one begins after `from`, once the disk has room; null if the server stops first. */
  async #begin(name: string, from: number): Promise<HookState | null> {
    let state = this.#deps.db.peek((rx) => this.#store.get(rx, name)) ?? null;
    if (!state)
      await persist(this.#deps, this.#stopping.signal, { hook: name }, (tx) => {
        state = this.#store.begin(tx, name, from);
      });
    return state;
  }

  #runnerOf(definition: HookDefinition, state: HookState): HookRunner {
    const attempt: RunnerDeps['attempt'] = (...asked) => this.#attempt(...asked);
    return new HookRunner({ ...this.#deps, store: this.#store, attempt }, definition, state);
  }

  /** Makes one attempt to deliver an event; null: the approval of the event is no longer pending. Never rejects. */
  async #attempt(
    hook: HookDefinition,
    entry: LogEntry,
    attempt: number,
    signal: AbortSignal,
  ): Promise<Outcome | null> {
    try {
      const { id, payload } = JSON.parse(entry.text) as HookedEvent;
      const made = await this.#bodyOf(hook, entry, payload.approval?.id ?? '');
      if (made === null) return null;
      const event = { id, seq: entry.seq, kind: entry.kind };
      return await this.#hand(hook, { secret: null, ...made, event, attempt }, signal);
    } catch (error) {
      return { ok: false, error: messageOf(error) };
    }
  }

  /** Returns the event as the log has it, with a link if the hook asks for one, or the approval of the event. */
  async #bodyOf(
    hook: HookDefinition,
    entry: LogEntry,
    approvalId: string,
  ): Promise<{ body: string; secret?: string } | null> {
    const plain = { body: entry.text };
    if (hook.body === 'event' && !(hook.link && entry.kind === 'approval.requested')) return plain;
    const approval = this.#deps.pendingApproval(approvalId);
    if (hook.body === 'approval')
      return approval === null ? null : { body: JSON.stringify(approval) };
    if (approval === null || approval.kind === 'question') return plain;
    const by = `hook:${hook.name}`;
    const link = await this.#deps.links.make(approvalId, { by }).catch((error: unknown) => {
      // It was resolved just now.
      if (error instanceof AppError) return null;
      throw error;
    });
    if (link === null) return plain;
    const more = { answer_url: link.url, answer_expires_at: link.expires_at };
    const body = `${entry.text.slice(0, -1)},${JSON.stringify(more).slice(1)}`;
    return { body, secret: link.url.slice(link.url.lastIndexOf('/') + 1) };
  }

  #hand(hook: HookDefinition, delivery: Delivery, signal: AbortSignal): Promise<Outcome> {
    const { name, target, timeoutMs } = hook;
    return 'command' in target
      ? runCommand(this.#deps, { name, timeoutMs, ...target }, delivery, signal)
      : sendPost(this.#deps, { name, timeoutMs, ...target }, delivery, signal);
  }

  /** An event of the hook's first kind as the description of events has it; it is in no log. */
  #exampleFor({ scope, link }: HookDefinition) {
    const { ids, clock, ownUrl } = this.#deps;
    const [kind = 'runtime.started'] = scope.kinds;
    const described = isEventKind(kind) ? kinds[kind] : kinds['runtime.started'];
    const now = clock.now();
    return {
      seq: 0,
      id: ids.next('evt'),
      kind,
      scope: described.scope,
      session_id: null,
      turn_id: null,
      process_id: null,
      worktree_id: null,
      team_id: null,
      created_at: now,
      v: 1,
      payload: described.example as HookedEvent['payload'],
      test: true,
      ...(link && kind === 'approval.requested'
        ? { answer_url: `${ownUrl()}${LINK_PATH}example`, answer_expires_at: now }
        : {}),
    };
  }

  #definition(name: string): HookDefinition {
    const found = this.#definitions.find((one) => one.name === name);
    if (found) return found;
    throw notFoundError(`hook "${name}" not found`);
  }

  #described(definition: HookDefinition): Hook {
    const { name, problem, enabled, patterns, scope, target, link } = definition;
    const subject = scope.name === 'runtime' ? null : { type: scope.name, id: scope.id };
    const stored = () => this.#deps.db.peek((rx) => this.#store.get(rx, name));
    const progress = this.#runners.get(name)?.describe() ?? progressOf(stored());
    return {
      name,
      ...progress,
      state: problem !== null ? 'broken' : enabled ? progress.state : 'off',
      problem,
      kinds: [...patterns],
      scope: subject,
      target: 'command' in target ? 'command' : new URL(target.url).origin,
      links: link,
    };
  }
}

export interface SkipRequest {
  all: boolean;
  /** The seq that the next event must have; null: any. */
  seq: number | null;
  /** The id of the token of the request. */
  by: string;
}

/** Returns the first event of a scope after `position`; null: there is none, or it cannot be read. */
function headAfter(
  position: number,
  scope: HookDefinition['scope'],
  { log, feed }: Pick<HookServiceDeps, 'log' | 'feed'>,
): number | null {
  const upTo = feed.latestSeq;
  for (let after = position; after < upTo;) {
    const bounds = { after, upTo, limit: 1, maxBytes: 1 };
    try {
      const { count, last, end } = log.page(scope, bounds, () => undefined);
      if (count > 0) return last;
      after = end;
    } catch {
      return null;
    }
  }
  return null;
}

function assertWaits(
  name: string,
  head: number | null,
  seq: number | null,
): asserts head is number {
  if (head === null) throw conflictError(`hook "${name}" has no pending event`);
  if (seq !== null && seq !== head)
    throw conflictError(`hook "${name}" is waiting to deliver event ${head}, not event ${seq}`);
}

interface HookedEvent {
  id: string;
  payload: { approval?: { id?: string } };
}

function isRunnable({ enabled, problem }: HookDefinition): boolean {
  return enabled && problem === null;
}
