import fs from 'node:fs';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { configSchema } from '../../../src/core/config/schema.ts';
import { Undo } from '../../../src/core/lib/undo.ts';
import type { Database } from '../../../src/core/store/database.ts';
import { type Base, openBase, type RuntimeOptions } from '../../../src/server/runtime/base.ts';
import { buildComponents, type Components } from '../../../src/server/runtime/build.ts';
import { connect } from '../../../src/server/runtime/connect.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import {
  type ScriptedProvider,
  scriptedProvider,
  type ScriptedTurn,
} from '../../support/scripted-provider.ts';
import { asDataDirectory, tempDirectory } from '../../support/temp.ts';
import { interrupted } from '../../support/teams/team.ts';

/** So many turns of the event loop without a transaction mean that nothing happens by itself any more. */
const QUIET_TURNS = 3;

/**
 * Holds each transaction of the server until the test lets it run. Every decision of the server is taken in a
 * transaction, so the order of the transactions is the interleaving.
 */
export class Gate {
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  #moves = 0;
  #isHeld = false;

  hold(db: Database): void {
    const transact = db.transact.bind(db) as (...args: unknown[]) => Promise<unknown>;
    const gated = async (...args: unknown[]) => {
      await this.pass();
      this.#running += 1;
      try {
        return await transact(...args);
      } finally {
        this.#running -= 1;
        this.#moves += 1;
      }
    };
    Object.assign(db, { transact: gated });
  }

  /** Waits until the test releases the caller. */
  async pass(): Promise<void> {
    this.#moves += 1;
    if (this.#isHeld) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  get count(): number {
    return this.#waiting.length;
  }

  set isHeld(isHeld: boolean) {
    this.#isHeld = isHeld;
    if (!isHeld) for (const go of this.#waiting.splice(0)) go();
  }

  release(at: number): void {
    this.#waiting.splice(at, 1)[0]?.();
  }

  /** Resolves once no transaction runs, and nothing has asked for one for some turns of the event loop. */
  async quiet(): Promise<void> {
    for (let quiet = 0, moves = this.#moves; quiet < QUIET_TURNS; quiet++) {
      await nextTurn();
      if (this.#running > 0 || moves !== this.#moves) quiet = -1;
      moves = this.#moves;
    }
  }
}

/** The core of a real server on real files, without HTTP, whose transactions run in the order that a test chooses. */
export class Core implements AsyncDisposable {
  readonly gate = new Gate();
  readonly clock: ManualClock;
  readonly provider: ScriptedProvider;
  /** The turns that agents have got, in order. */
  readonly turns: ScriptedTurn[] = [];
  readonly #undo = new Undo();
  readonly #root: ReturnType<typeof tempDirectory>;
  base!: Base;
  components!: Components;

  private constructor(root: ReturnType<typeof tempDirectory>, at: number) {
    this.#root = root;
    this.clock = new ManualClock(at);
    this.provider = scriptedProvider({
      onTurn: (turn) => {
        this.turns.push(turn);
        void turn.cancelled.then(() => turn.end(interrupted));
      },
    });
  }

  get directory(): string {
    return path.join(this.#root.path, 'data');
  }

  get cwd(): string {
    return path.join(this.#root.path, 'cwd');
  }

  static async open(at = 1_750_000_000_000): Promise<Core> {
    const core = new Core(tempDirectory('wake'), at);
    fs.mkdirSync(core.cwd);
    asDataDirectory(core.directory);
    const options: RuntimeOptions = {
      config: configSchema.parse({ data: { durability: 'normal' }, log: { level: 'fatal' } }),
      directory: core.directory,
      logTo: new PassThrough().resume(),
      clock: core.clock,
      providers: [core.provider],
      toolsWithinMs: Infinity,
      asksLogins: false,
      onFatal(error) {
        throw error;
      },
    };
    core.base = await openBase(options, core.#undo);
    core.gate.hold(core.base.db);
    core.components = buildComponents(core.base, options, null, core.#undo);
    connect(core.base, core.components);
    await core.components.sessions.inbox.open();
    return core;
  }

  /** Returns a copy of the files as a SIGKILL would leave them now. */
  copy(): ReturnType<typeof tempDirectory> {
    const copy = tempDirectory('wake-copy');
    fs.cpSync(this.directory, path.join(copy.path, 'data'), { recursive: true });
    return copy;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.gate.isHeld = false;
    const { inbox, runner } = this.components.sessions;
    inbox.stop();
    this.provider.drop();
    for (const turn of this.turns) turn.end(interrupted);
    await runner.stop(0, AbortSignal.abort());
    await this.#undo[Symbol.asyncDispose]();
    this.#root[Symbol.dispose]();
  }
}
