import { expect, it } from 'vitest';
import type { Goal } from '../../../../src/api/goals.ts';
import type { Watch } from '../../../../src/api/watches.ts';
import { sqlWasm } from '../../../../src/core/lib/self.ts';
import { openConnection } from '../../../../src/core/store/connection.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { withHarness, type Harness, testHarness } from '../../../support/sessions/harness.ts';
import { testDirectory } from '../../../support/temp.ts';

const HOUR = 3_600_000;

interface Kind {
  table: string;
  /** The route of the row of a session. */
  route: string;
  body: (now: number) => object;
  /** Whether what is due after an hour has been done, by the answer of a route. */
  done: { route: string; isDone: (answer: unknown) => boolean };
}

const kinds: Kind[] = [
  {
    table: 'queue_entries',
    route: 'queue',
    body: (now) => ({ input: { type: 'text', text: 'go' }, at: now + HOUR }),
    done: { route: 'turns', isDone: (turns) => (turns as object[]).length === 1 },
  },
  {
    table: 'goals',
    route: 'goal',
    body: () => ({ command: 'true', within_ms: HOUR }),
    done: { route: 'goal', isDone: (goal) => (goal as Goal).reason === 'time' },
  },
  {
    table: 'watches',
    route: 'watch',
    body: () => ({ command: 'true' }),
    done: { route: 'watch', isDone: (watch) => (watch as Watch).process_id !== null },
  },
];

/** Damages the first row of a table of a server that has stopped. */
async function damage(directory: string, table: string): Promise<void> {
  using connection = await openConnection({ wasm: sqlWasm, directory });
  connection.sql.exec(`UPDATE ${table} SET sum = sum + 1 WHERE n = 1`);
}

it.each(kinds)(
  'A due row of the table $table is acted on although another row of the table is damaged.',
  async ({ table, route, body, done }) => {
    const directory = testDirectory('data');
    const clock = new ManualClock();
    const add = async (harness: Harness) => {
      const session = await harness.open();
      const { status } = await harness.post(
        `/v1/sessions/${session.id}/${route}`,
        body(clock.now()),
      );
      expect(status).toBe(200);
      return session;
    };
    const session = await withHarness(
      async (harness) => {
        await add(harness);
        return add(harness);
      },
      { directory, clock },
    );
    await damage(directory, table);
    const harness = await testHarness({ directory, clock: new ManualClock(clock.now()) });
    harness.clock.advance(HOUR);
    await expectEventually(async () =>
      done.isDone((await harness.get(`/v1/sessions/${session.id}/${done.route}`)).body),
    ).toBe(true);
  },
);
