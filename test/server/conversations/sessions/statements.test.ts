import { expect, test, vi } from 'vitest';
import { RawStatement } from '../../../../src/core/store/raw-statement.ts';
import { testSession } from '../../../support/sessions/harness.ts';

/** The start, the word and the end of a turn. */
const GROUPS = 3;
/** BEGIN, COMMIT and the update of the sequence. */
const STATEMENTS_PER_GROUP = 3;

test('A turn of one word writes at most 15 rows in three groups, and reads none.', async () => {
  const { harness, session } = await testSession();
  const runTurn = async () => {
    const turn = await harness.startTurn(session, 'hello');
    await turn.sink.update({ type: 'message', text: 'word' });
    await harness.complete(turn);
  };
  // The first turn of a session learns which rows the session has none of.
  await runTurn();
  const writes = vi.spyOn(RawStatement.prototype, 'run');
  const reads = (['get', 'all', 'scan', 'scanBytes'] as const).map((name) =>
    vi.spyOn(RawStatement.prototype, name),
  );
  await runTurn();
  expect(writes.mock.calls.length).toBeLessThanOrEqual(15 + GROUPS * STATEMENTS_PER_GROUP);
  expect(reads.flatMap(({ mock }) => mock.calls)).toEqual([]);
});
