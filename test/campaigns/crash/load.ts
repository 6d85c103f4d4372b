import type { RuntimeEventRecord } from '../../../src/api/events.ts';
import { endpoints } from '../../../src/api/index.ts';
import { AppError } from '../../../src/api/errors.ts';
import type { TestServer } from '../../support/server.ts';
import type { Acknowledgements } from './acknowledgements.ts';
import type { Violations } from './checks.ts';
import { randomPrompt } from './prompts.ts';
import type { Random } from './random.ts';
import { scaled } from '../../support/patience.ts';

/** A request may fail this long before the server is seen to be dead. */
const DEATH_NOTICE_MS = 2000;

/** Reports the events that a reader receives. */
export class EventWaiter {
  readonly #waiting = new Set<{
    matches: (event: RuntimeEventRecord) => boolean;
    left: number;
    resolve: () => void;
  }>();

  see(event: RuntimeEventRecord): void {
    for (const waiter of this.#waiting) {
      if (!waiter.matches(event) || --waiter.left > 0) continue;
      this.#waiting.delete(waiter);
      waiter.resolve();
    }
  }

  /** Resolves when the next turn of the session ends. */
  turnEnded(sessionId: string): Promise<void> {
    const ends = /^turn\.(completed|interrupted|failed)$/;
    return this.#next(1, ({ kind, session_id }) => session_id === sessionId && ends.test(kind));
  }

  /** Resolves when agents have said and done so much more; at once for none. */
  outputs(count: number): Promise<void> {
    return this.#next(count, ({ kind }) => /^(message|reasoning|tool)\./.test(kind));
  }

  /** Nobody waits any more. */
  reset(): void {
    this.#waiting.clear();
  }

  #next(left: number, matches: (event: RuntimeEventRecord) => boolean): Promise<void> {
    if (left === 0) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.add({ matches, left, resolve }));
  }
}

/** Load of one run of the server. */
export interface LoadOptions {
  server: TestServer;
  random: Random;
  heavy: boolean;
  /** The sessions that turns are sent to; the first one has two senders, of which one wins each time. */
  sessions: readonly string[];
  creations: number;
  acknowledged: Acknowledgements;
  eventWaiter: EventWaiter;
  /** A session was acknowledged. */
  onSession: (id: string) => void;
}

/** Sends turns and makes sessions until the server is gone; answers what it should not have done. */
export async function load(options: LoadOptions): Promise<Violations> {
  const { server, random, sessions, creations, acknowledged, onSession } = options;
  const violations: Violations = [];
  const dead = server.exited.then((): true => true);
  const [shared] = sessions;
  const senders = [...sessions, ...(shared === undefined ? [] : [shared])];
  await Promise.all([
    ...senders.map((session) => guarded(() => send(options, session, random.fork(), dead))),
    ...Array.from({ length: creations }, () => guarded(() => create(random.fork()))),
  ]);
  return violations;

  async function create(random: Random): Promise<void> {
    acknowledged.askForSession();
    const { id } = await server.client.call(endpoints.createSession, {
      body: { provider: 'acp', cwd: server.directory, title: `session ${random.between(1, 1e9)}` },
    });
    acknowledged.answerSession(id);
    onSession(id);
    await send(options, id, random, dead);
  }

  /** A request that gets no answer is right only if the server is dead. */
  async function guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const unreachable = error instanceof AppError && error.code === 'unreachable';
      if (!unreachable) violations.push(`a request failed: ${messageOf(error)}`);
      else if (!(await within(dead, scaled(DEATH_NOTICE_MS)))) {
        violations.push(`a living server gave no answer: ${messageOf(error.cause ?? error)}`);
      }
    }
  }
}

/** One turn after the other, until the server is gone. */
async function send(
  { server, heavy, acknowledged, eventWaiter }: LoadOptions,
  sessionId: string,
  random: Random,
  dead: Promise<true>,
): Promise<void> {
  for (;;) {
    const free = eventWaiter.turnEnded(sessionId);
    const input = {
      type: 'text' as const,
      text: `${acknowledged.newLabel()}; ${randomPrompt(random, heavy)}`,
    };
    try {
      acknowledged.askForTurn(sessionId);
      const { turn_id } = await server.client.call(endpoints.sendTurn, {
        params: { session_id: sessionId },
        body: { input },
      });
      acknowledged.answerTurn(sessionId, turn_id);
    } catch (error) {
      if (!(error instanceof AppError) || error.code === 'unreachable') throw error;
      acknowledged.answerTurn(sessionId, null);
      if (error.code !== 'turn_in_progress') throw error;
    }
    if (await Promise.race([dead, free])) return;
  }
}

async function within(what: Promise<true>, ms: number): Promise<boolean> {
  const late = Promise.withResolvers<false>();
  const timer = setTimeout(() => late.resolve(false), ms);
  try {
    return await Promise.race([what, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : JSON.stringify(error);
}
