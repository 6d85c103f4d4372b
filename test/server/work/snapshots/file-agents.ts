import fs from 'node:fs';
import path from 'node:path';
import { endpoints } from '../../../../src/api/index.ts';
import { type Clock, systemClock } from '../../../../src/core/lib/clock.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { sharedRuntime } from '../../../support/runtime.ts';
import { completed, scriptedProvider } from '../../../support/scripted-provider.ts';
import { testDirectory } from '../../../support/temp.ts';
import { openSession, runTurn } from '../../../support/turns.ts';
import { makeRepository, type WorktreeHarness, write } from '../../../support/worktrees/work.ts';

/** On a busy machine, a snapshot takes longer than the second for which the start of a turn waits. */
const clock: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(60 * ms, signal),
};

/** A server with snapshots, whose agents write the files that the last text of a prompt names; null: they remove the file. */
export function fileAgents() {
  const onRuntime = sharedRuntime({
    config: { snapshots: { enabled: true } },
    clock,
    providers: [
      scriptedProvider(({ session, input, end }) => {
        const said = input.at(-1);
        const files = JSON.parse(said?.type === 'text' ? said.text : '{}') as Record<
          string,
          string
        >;
        for (const [name, text] of Object.entries(files))
          if (text === null) fs.rmSync(path.join(session.cwd, name));
          else write(session.cwd, { [name]: text });
        end(completed);
      }),
    ],
  });
  return {
    onRuntime,
    /** A repository, and a session in it whose snapshots are on. */
    async openHarness(): Promise<WorktreeHarness & { harness: WorktreeHarness }> {
      const directory = testDirectory('harness');
      const repo = makeRepository(path.join(directory, 'repo'));
      const { id } = await openSession(onRuntime().client, repo);
      const harness = { ...onRuntime(), directory, repo, session: id };
      return { ...harness, harness };
    },
  };
}

export function snapshotsOf({ client, session: session_id }: WorktreeHarness) {
  return client.call(endpoints.getSnapshots, { params: { session_id } });
}

/** Runs a turn whose agent writes files; resolves with its id, once both its snapshots are there. */
export async function writingTurn(
  harness: WorktreeHarness,
  files: Record<string, string | null>,
): Promise<string> {
  const { turn: ran } = await runTurn(harness.client, harness.session, JSON.stringify(files));
  const taken = async () =>
    (await snapshotsOf(harness)).snapshots
      .filter(({ turn_id }) => turn_id === ran.turn_id)
      .map(({ moment, problem }) => [moment, problem]);
  await expectEventually(taken).toEqual([
    ['start', null],
    ['end', null],
  ]);
  return ran.turn_id;
}
