import { once } from 'node:events';
import fs from 'node:fs/promises';
import path from 'node:path';
import type { Worktree } from '../api/worktrees.ts';
import { agentEnvironment } from '../children/environment.ts';
import type { Child, Supervisor } from '../children/supervisor.ts';
import { AppError } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import type { Script } from './consent.ts';

const LIMIT_MS = 10 * 60_000;
const GRACE_MS = 2000;
/** The end of what it prints, of which so much is kept. */
const TAIL_BYTES = 4096;
const TAIL_WAIT_MS = 1000;

/**
 * Runs the init script of a repository in a new worktree. What runs is a copy of ours of the content that was allowed,
 * made in `scratch`, with the environment that agents get. Throws `conflict` where it fails.
 */
export async function runInitScript(
  worktree: Worktree,
  script: Script,
  given: {
    supervisor: Supervisor;
    clock: Clock;
    /** A directory of ours. */
    scratch: string;
    /** What it is called in the repository. */
    name: string;
    signal: AbortSignal;
  },
): Promise<Worktree['init_script']> {
  const file = path.join(given.scratch, 'worktree-init');
  await fs.writeFile(file, script.content, { mode: script.isExecutable ? 0o500 : 0o400 });
  const child = await given.supervisor.start({
    command: script.isExecutable ? file : '/bin/sh',
    args: script.isExecutable ? [] : [file],
    cwd: worktree.path,
    env: agentEnvironment(process.env, {
      CADRE_WORKTREE_ID: worktree.id,
      CADRE_WORKTREE_NAME: worktree.worktree_name,
      CADRE_WORKTREE_BRANCH: worktree.branch,
      CADRE_REPO_ROOT: worktree.repo_root,
      CADRE_SESSION_ID: worktree.source_session_id,
    }),
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
  const { sha256 } = script;
  if (code === 0 && !isLate)
    return { status: 'completed', exit_code: 0, output_tail, sha256, how_to_allow: null };
  const how = isLate ? `ran for ${LIMIT_MS / 60_000} minutes` : `ended with ${code ?? signal}`;
  const last = output_tail.trim().split('\n').slice(-5).join('\n');
  throw new AppError(
    'conflict',
    `the init script ${given.name} ${how}${last === '' ? '' : ` (${last})`}: fix it, or set run_init_script to false`,
  );
}

/** What is recorded of an init script that nobody has allowed. */
export function skippedScript({ sha256 }: Script, repoRoot: string): Worktree['init_script'] {
  return {
    status: 'skipped_untrusted',
    exit_code: null,
    output_tail: '',
    sha256,
    how_to_allow: `nobody has allowed it yet: cadre worktrees trust --repo ${shellWord(repoRoot)}`,
  };
}

function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
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
