import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import type { Worktree } from '../api/worktrees.ts';
import type { Child, Supervisor } from '../children/supervisor.ts';
import { AppError } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import { cleanEnvironment } from '../processes/environment.ts';

const LIMIT_MS = 10 * 60_000;
const GRACE_MS = 2000;
/** The end of what it prints, of which so much is kept. */
const TAIL_BYTES = 4096;
const TAIL_WAIT_MS = 1000;

/**
 * Runs the init script of a new worktree in it, if the repository has one: the worktree's own, else that of the main
 * one, which need not be committed. Throws `conflict` where it fails.
 */
export async function runInitScript(
  worktree: Worktree,
  given: {
    supervisor: Supervisor;
    clock: Clock;
    script: string;
    /** Variables it does not get. */
    remove: ReadonlySet<string>;
    signal: AbortSignal;
  },
): Promise<Worktree['init_script']> {
  const file = [worktree.path, worktree.repo_root]
    .map((directory) => path.resolve(directory, given.script))
    .find((place) => fs.existsSync(place));
  if (file === undefined) return { status: 'not_found', exit_code: null, output_tail: '' };
  const isExecutable = (fs.statSync(file).mode & 0o111) !== 0;
  const child = await given.supervisor.start({
    command: isExecutable ? file : '/bin/sh',
    args: isExecutable ? [] : [file],
    cwd: worktree.path,
    env: {
      ...cleanEnvironment(process.env, given.remove),
      CADRE_WORKTREE_ID: worktree.id,
      CADRE_WORKTREE_NAME: worktree.worktree_name,
      CADRE_WORKTREE_BRANCH: worktree.branch,
      CADRE_REPO_ROOT: worktree.repo_root,
      CADRE_SESSION_ID: worktree.source_session_id,
    },
    what: `init script of ${worktree.id}`,
    stdin: 'none',
  });
  const tail = tailOf(child);
  let isLate = false;
  using _limit = given.clock.after(LIMIT_MS, () => {
    isLate = true;
    void child.end(GRACE_MS);
  });
  const stop = () => void child.end(GRACE_MS);
  given.signal.addEventListener('abort', stop, { once: true });
  if (given.signal.aborted) stop();
  const { code, signal } = await child.exited;
  given.signal.removeEventListener('abort', stop);
  await child.end(0);
  // Who has left its group may hold the pipes still.
  await Promise.race([tail.ended, given.clock.sleep(TAIL_WAIT_MS)]);
  const output_tail = tail.text();
  if (code === 0 && !isLate) return { status: 'completed', exit_code: 0, output_tail };
  const how = isLate ? `ran for ${LIMIT_MS / 60_000} minutes` : `ended with ${code ?? signal}`;
  const last = output_tail.trim().split('\n').slice(-5).join('\n');
  throw new AppError(
    'conflict',
    `the init script ${given.script} ${how}${last === '' ? '' : ` (${last})`}: mend it, or set run_init_script to false`,
  );
}

/** What a child prints last, on either stream. */
function tailOf(child: Child): { text: () => string; ended: Promise<unknown> } {
  let tail = Buffer.alloc(0);
  const streams = [child.stdout, child.stderr];
  for (const stream of streams)
    stream.on('data', (chunk: Buffer) => {
      tail = Buffer.concat([tail, chunk]).subarray(-TAIL_BYTES);
    });
  return {
    text: () => tail.toString('utf8'),
    ended: Promise.all(streams.map((stream) => once(stream, 'close'))),
  };
}
