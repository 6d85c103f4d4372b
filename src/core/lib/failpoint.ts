/** The named places in the code where a test can make the server die or throw. */
export type FailpointName =
  | 'commit.before'
  | 'commit.after'
  | 'sync.after'
  | 'checkpoint.before'
  | 'checkpoint.after'
  | 'broadcast.slice'
  | 'broadcast.stored'
  | 'check.starting'
  | 'check.ended'
  | 'child.gated'
  | 'fork.prepared'
  | 'fork.stored'
  | 'handoff.due'
  | 'handoff.prepared'
  | 'handoff.stored'
  | 'child.registered'
  | 'import.begun'
  | 'import.stored'
  | 'mirror.before'
  | 'migration.copied'
  | 'migration.changed'
  | 'migration.done'
  | 'mirror.after'
  | 'race.starting'
  | 'race.judging'
  | 'race.kept'
  | 'rollback.prepared'
  | 'rollback.kept'
  | 'rollback.done'
  | 'restore.prepared'
  | 'restore.moved'
  | 'spawn.begun'
  | 'spawn.prepared'
  | 'turn.accepted'
  | 'turn.attached'
  | 'turn.started'
  | 'turn.ending'
  | 'worktree.creating'
  | 'worktree.added'
  | 'worktree.included'
  | 'worktree.made'
  | 'worktree.archived'
  | 'worktree.aside'
  | 'worktree.removed'
  | 'worktree.unbranched'
  | 'worktree.moving'
  | 'worktree.moved'
  | 'worktree.followed'
  | 'worktree.restoring'
  | 'worktree.restored';

/** Called where the code reaches a named place. Outside tests it does nothing. */
export type Failpoint = (name: FailpointName) => void;

/** Never fails: what the server runs with outside tests. */
export const noFailpoints: Failpoint = () => undefined;

/**
 * Parses `CADRE_FAILPOINTS`, a comma-separated list of `name=kill` or `name=throw`, each with an optional `@N` for the
 * N-th hit (default: the first), for example `commit.after=kill@3`. `kill` sends SIGKILL to this process. Returns
 * {@link noFailpoints} for an empty or missing text. Throws an Error for a part of any other form.
 */
export function failpointsFrom(text: string | undefined): Failpoint {
  if (!text) return noFailpoints;
  const armed = new Map<string, { action: string; hits: number }>();
  for (const part of text.split(',')) {
    const match = /^([a-z.]+)=(kill|throw)(?:@(\d+))?$/.exec(part.trim());
    if (!match)
      throw new Error(`invalid entry "${part}" in CADRE_FAILPOINTS: expected name=kill|throw[@N]`);
    armed.set(match[1] ?? '', { action: match[2] ?? '', hits: Number(match[3] ?? 1) });
  }
  return (name) => {
    const point = armed.get(name);
    if (!point || --point.hits !== 0) return;
    if (point.action === 'kill') process.kill(process.pid, 'SIGKILL');
    throw new Error(`failpoint ${name}`);
  };
}
