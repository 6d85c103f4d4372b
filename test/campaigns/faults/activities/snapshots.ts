import path from 'node:path';
import { endpoints } from '../../../../src/api/index.ts';
import type { Moment, Snapshot } from '../../../../src/api/snapshots.ts';
import { git, makeRepository, write } from '../../../support/worktrees/work.ts';
import type { Violations } from '../../crash/checks.ts';
import {
  openSession,
  type FinalState,
  pauseRandomly,
  sendTurn,
  type Activity,
  untilClosing,
  type ActivityContext,
} from '../activity.ts';

/** A turn before which a file was written. */
interface Taken {
  turn: string;
  file: string;
  blob: string;
}

/** In a shorter campaign, faults may prevent most snapshots. */
const LEAST_TURNS = 30;

const isOf =
  (turn: string) =>
  ({ turn_id, tree }: Snapshot) =>
    turn_id === turn && tree !== null;

/** Turns of a session with snapshots, each with another file. */
export class SnapshotActivity implements Activity {
  readonly name = 'snapshots';
  readonly #context: ActivityContext;
  readonly #repo: string;
  readonly #taken: Taken[] = [];
  #session = '';

  constructor(context: ActivityContext) {
    this.#context = context;
    this.#repo = makeRepository(path.join(context.place, 'snapshots-repo'));
  }

  async run(): Promise<void> {
    const { requests, eventWaiter } = this.#context;
    this.#session = await openSession(this.#context, this.#repo);
    const params = { session_id: this.#session };
    await requests.call(endpoints.setSnapshots, { params, body: { enabled: true } });
    await untilClosing(this.#context, async () => {
      const label = this.#context.newLabel();
      const file = `file-${this.#taken.length % 10}.txt`;
      write(this.#repo, { [file]: `${label}\n` });
      const blob = git(this.#repo, 'hash-object', file);
      const turn = await sendTurn(this.#context, this.#session, `${label}; say saved`);
      await eventWaiter.endOf(turn);
      this.#taken.push({ turn, file, blob });
      await pauseRandomly(this.#context, 600);
    });
  }

  async check({ client }: FinalState): Promise<Violations> {
    const params = { session_id: this.#session };
    const { snapshots } = await client.call(endpoints.getSnapshots, { params });
    const wrong: Violations = [];
    let taken = 0;
    for (const [at, { turn, file, blob }] of this.#taken.entries()) {
      const later = this.#taken.slice(at).filter((one) => one.file === file);
      // A delayed snapshot contains a later version of the file.
      const last = git(this.#repo, 'hash-object', file);
      const allowed = new Set([last, ...later.map((one) => one.blob)]);
      for (const { moment } of snapshots.filter(isOf(turn))) {
        const found = await this.#blobOf(client, turn, moment, file);
        if (found === blob) taken++;
        if (found === undefined || !allowed.has(found))
          wrong.push(`${file} at the ${moment} of ${turn} is ${found ?? 'missing'}, not ${blob}`);
      }
    }
    // A fault may keep a snapshot from being taken, and a slow one is taken after the start of its turn.
    if (this.#taken.length >= LEAST_TURNS && taken < this.#taken.length / 2)
      wrong.push(`${taken} snapshots were taken of ${this.#taken.length} turns`);
    return wrong;
  }

  async #blobOf(client: FinalState['client'], turn_id: string, moment: Moment, file: string) {
    const params = { session_id: this.#session };
    const query = { turn_id, moment, path: file };
    const { files } = await client.call(endpoints.listSessionFiles, { params, query });
    return files.find((one) => one.path === file)?.blob;
  }
}
