import fs from 'node:fs/promises';
import path from 'node:path';
import type { Session } from '../../../api/sessions.ts';
import type { Worktree } from '../../../api/worktrees.ts';
import { agentEnvironment } from '../../../core/children/environment.ts';
import { privateDirsIn } from '../../../core/children/sandbox/private-directories.ts';
import type { Child, ChildExit } from '../../../core/children/supervisor.ts';
import { conflictError } from '../../../api/errors.ts';
import { Undo } from '../../../core/lib/undo.ts';
import { continuationBytes } from '../../../core/lib/utf8.ts';
import type { Clock } from '../../../core/lib/clock.ts';
import type { Committed } from '../git/consent.ts';
import type { WorktreeDependencies } from './dependencies.ts';
import { portVariables } from './ports.ts';

const LIMIT_MS = 10 * 60_000;
const GRACE_MS = 2000;
/** The number of bytes that are kept of the end of its output. */
const TAIL_BYTES = 4096;
/** How long the outputs of an ended child are read that a process outside of its group holds open, in ms. */
const OUTPUT_WAIT_MS = 1000;

/**
 * Runs the init script of a repository in a new worktree. It runs a copy of the allowed content, made in `scratch`, in
 * the environment of agents, and in the sandbox of the session (`chosen`) if that has its own. Throws `conflict` if it
 * fails or takes longer than 10 minutes.
 */
export async function runInitScript(
  { supervisor, sandbox, clock, stopping, settings }: WorktreeDependencies,
  worktree: Worktree,
  script: Committed,
  { scratch, chosen }: { scratch: string; chosen: Session['sandbox'] },
): Promise<Worktree['init_script']> {
  const file = path.join(scratch, 'worktree-init');
  await fs.writeFile(file, script.content, { mode: script.isExecutable ? 0o500 : 0o400 });
  const { path: root, repo_root } = worktree;
  const own = privateDirsIn(scratch);
  const plan = await sandbox.planFor('init', {
    root,
    cwd: root,
    own,
    // Scripts copy files from the main worktree.
    read: [repo_root, file],
    chosen,
  });
  await using undo = new Undo();
  undo.defer(() => sandbox.closeNetwork(own));
  const child = await supervisor.start({
    command: script.isExecutable ? file : '/bin/sh',
    args: script.isExecutable ? [] : [file],
    cwd: worktree.path,
    env: agentEnvironment(process.env, {
      CADRE_WORKTREE_ID: worktree.id,
      CADRE_WORKTREE_NAME: worktree.worktree_name,
      CADRE_WORKTREE_BRANCH: worktree.branch,
      CADRE_REPO_ROOT: worktree.repo_root,
      CADRE_SESSION_ID: worktree.source_session_id,
      ...portVariables(worktree),
    }),
    what: `init script of ${worktree.id}`,
    stdin: 'none',
    sandbox: plan,
  });
  const tail = tailOf(child);
  const limits = { clock, signal: stopping, limitMs: LIMIT_MS };
  const { code, signal, isLate } = await endOf(child, limits);
  const output_tail = tail();
  const { sha256 } = script;
  if (code === 0 && !isLate)
    return { status: 'completed', exit_code: 0, output_tail, sha256, how_to_allow: null };
  const outcome = isLate
    ? `exceeded ${LIMIT_MS / 60_000} minutes`
    : `exited with ${code ?? signal}`;
  const last = output_tail.trim().split('\n').slice(-5).join('\n');
  throw conflictError(
    `the init script ${settings().init_script_path} failed, because it ${outcome}${last === '' ? '' : ` (${last})`}: fix the script, or set run_init_script to false`,
  );
}

/**
 * Waits for the end of a child and its outputs. The child is ended after `limitMs` or once `signal` aborts, with all its group.
 * A process that has left the group may hold the outputs open.
 */
export async function endOf(
  child: Child,
  { clock, signal, limitMs }: { clock: Clock; signal: AbortSignal; limitMs: number },
): Promise<ChildExit & { isLate: boolean }> {
  let isLate = false;
  const closed = [child.stdout, child.stderr].map(
    (stream) => new Promise((resolve) => stream.once('close', resolve)),
  );
  const stop = () => void child.end(GRACE_MS);
  using _limit = clock.after(limitMs, () => {
    isLate = true;
    stop();
  });
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  const exit = await child.exited;
  signal.removeEventListener('abort', stop);
  await child.end(0);
  await Promise.race([Promise.all(closed), clock.sleep(OUTPUT_WAIT_MS)]);
  for (const stream of [child.stdout, child.stderr]) stream.destroy();
  return { ...exit, isLate };
}

/** Collects the end of a child's output, of both streams together. */
function tailOf(child: Child): () => string {
  let tail = Buffer.alloc(0);
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      tail = Buffer.concat([tail, chunk]).subarray(-TAIL_BYTES);
    });
  // The first character may have been cut.
  return () => tail.subarray(continuationBytes(tail)).toString('utf8');
}
