import path from 'node:path';
import { type Command, Option } from 'commander';
import { endpoints } from '../../api/index.ts';
import type { CleanupResult, Worktree } from '../../api/worktrees.ts';
import { exitCodes } from '../exit.ts';
import { sessionId, worktreeArgument, worktreeId } from '../find.ts';
import { ago, details, mebibytes, plain, shortId, table } from '../output.ts';
import { clientAction, type CommandContext, type World } from '../world.ts';
import { trustCommands } from './worktree-trust.ts';

const policies = ['delete_on_last_claim', 'retain_on_last_claim', 'delete_if_clean'] as const;
const statuses = ['active', 'retained', 'cleaned', 'missing'] as const;

interface CreateOptions {
  session: string;
  repo?: string;
  base?: string;
  branchPrefix?: string;
  policy?: Worktree['deletion_policy'];
  init: boolean;
  initIfTrusted?: boolean;
}

/** `cadre worktrees …`. */
export function worktreeCommands(program: Command, world: World): void {
  const worktrees = program
    .command('worktrees')
    .description('git worktrees of sessions; what work they hold is archived before they go');

  worktrees
    .command('list')
    .description('list worktrees, newest first')
    .option('--repo <directory>', 'only of this repository')
    .addOption(new Option('--status <status>', 'only with this status').choices(statuses))
    .option('--limit <n>', 'how many at most', Number, 100)
    .action(clientAction(world, list));

  worktrees
    .command('get')
    .description('show a worktree and its claims')
    .argument(...worktreeArgument)
    .action(
      clientAction(world, async ({ client, show }, end: string) => {
        const params = { worktree_id: await worktreeId(client, end) };
        const worktree = await client.call(endpoints.getWorktree, { params });
        show(worktree, () => details(worktree));
      }),
    );

  worktrees
    .command('create')
    .description('make a worktree for a session, or claim the one of that name; shows its path')
    .argument('<name>', 'of the worktree; its branch is PREFIX/NAME')
    .requiredOption('--session <session>', 'whose it is')
    .option('--repo <directory>', "the repository (default: the session's)")
    .option('--base <ref>', 'where it begins (default: what is checked out)')
    .option('--branch-prefix <prefix>', 'of its branch (default: cadre)')
    .addOption(new Option('--policy <policy>', 'what becomes of it').choices(policies))
    .option('--no-init', 'do not run the init script')
    .option('--init-if-trusted', 'run the init script only where its content is allowed')
    .action(clientAction(world, create));

  trustCommands(worktrees, world);

  worktrees
    .command('claim')
    .description('claim a worktree for a session: while it is claimed, it stays')
    .argument(...worktreeArgument)
    .requiredOption('--session <session>', 'who claims it')
    .addOption(new Option('--role <role>', 'as what').choices(['owner', 'consumer']))
    .action(
      clientAction(
        world,
        async (
          { client, show },
          end: string,
          options: { session: string; role?: 'owner' | 'consumer' },
        ) => {
          const claim = await client.call(endpoints.claimWorktree, {
            params: { worktree_id: await worktreeId(client, end) },
            body: {
              session_id: await sessionId(client, options.session),
              claim_role: options.role,
            },
          });
          show(claim, () => `${claim.worktree_id} is claimed as ${claim.claim_role}\n`);
        },
      ),
    );

  worktrees
    .command('release')
    .description('release the claim of a session; with the last one the worktree is cleaned up')
    .argument(...worktreeArgument)
    .requiredOption('--session <session>', 'whose claim')
    .option('--keep', 'do not clean it up, even if this was the last claim')
    .action(clientAction(world, release));

  worktrees
    .command('cleanup')
    .description('remove a worktree that nobody claims, its work archived')
    .argument(...worktreeArgument)
    .option('--reason <text>', 'why, for the record')
    .action(
      clientAction(world, async ({ client, show }, end: string, body: { reason?: string }) => {
        const params = { worktree_id: await worktreeId(client, end) };
        const result = await client.call(endpoints.cleanUpWorktree, { params, body });
        show(result, () => saidOf(result));
        if (result.status !== 'cleaned') world.exit(exitCodes.refused);
      }),
    );

  worktrees
    .command('restore')
    .description('bring back what was archived: branch, commits, and what was not committed')
    .argument(...worktreeArgument)
    .option('--name <name>', 'another name, where its own is taken')
    .action(
      clientAction(world, async ({ client, show }, end: string, body: { name?: string }) => {
        const params = { worktree_id: await worktreeId(client, end) };
        const restored = await client.call(endpoints.restoreWorktree, { params, body });
        show(restored, () => `${plain(restored.path)}\n`);
      }),
    );

  worktrees
    .command('gc')
    .description('show what nobody claims, or clean it up')
    .option('--remove', 'clean it up, its work archived')
    .action(
      clientAction(world, async ({ client, show }, { remove }: { remove?: boolean }) => {
        const body = { dry_run: remove !== true };
        const found = await client.call(endpoints.collectWorktrees, { body });
        const rows = found.worktrees.map(({ id, status, bytes, reason }) => [
          shortId(id),
          status,
          mebibytes(bytes),
          reason,
        ]);
        show(found, () => table(['ID', 'STATUS', 'SIZE', 'WHY'], rows));
      }),
    );
}

async function list(
  { world, client, show }: CommandContext,
  options: { repo?: string; status?: Worktree['status']; limit: number },
): Promise<void> {
  const { repo, status, limit } = options;
  const repo_root = repo === undefined ? undefined : path.resolve(repo);
  const found = await client.call(endpoints.listWorktrees, { query: { repo_root, status, limit } });
  const now = world.clock.now();
  const rows = found.map((one) => [
    shortId(one.id),
    one.status,
    ago(one.updated_at, now),
    one.worktree_name,
    one.branch,
    one.path,
  ]);
  show(found, () => table(['ID', 'STATUS', 'AGE', 'NAME', 'BRANCH', 'PATH'], rows));
}

async function create(
  { world, client, show }: CommandContext,
  worktree_name: string,
  options: CreateOptions,
): Promise<void> {
  const made = await client.call(endpoints.createWorktree, {
    body: {
      source_session_id: await sessionId(client, options.session),
      worktree_name,
      repo_root: options.repo === undefined ? undefined : path.resolve(options.repo),
      base_ref: options.base,
      branch_prefix: options.branchPrefix,
      deletion_policy: options.policy,
      // A person asks for it here, and so says what runs.
      run_init_script: options.init && options.initIfTrusted ? null : options.init,
    },
  });
  show(made, () => `${plain(made.path)}\n`);
  const { how_to_allow } = made.init_script;
  if (how_to_allow) world.stderr.write(`the init script did not run: ${plain(how_to_allow)}\n`);
}

async function release(
  { client, show }: CommandContext,
  end: string,
  { session, keep }: { session: string; keep?: boolean },
): Promise<void> {
  const released = await client.call(endpoints.releaseWorktree, {
    params: { worktree_id: await worktreeId(client, end) },
    body: { session_id: await sessionId(client, session), cleanup_if_last_claim: keep !== true },
  });
  const { worktree, cleanup, active_claims } = released;
  show(released, () =>
    cleanup
      ? saidOf(cleanup)
      : `${worktree.id} is ${worktree.status}, with ${active_claims} claims\n`,
  );
}

/** What became of a worktree, and what there is to know of it. */
function saidOf({ worktree, status, archive_ref, diagnostics }: CleanupResult): string {
  const archived = status === 'cleaned' && archive_ref !== null ? [`archived: ${archive_ref}`] : [];
  const notes = [...archived, ...diagnostics].map((line) => `  ${plain(line)}\n`);
  return `${worktree.id}: ${status}\n${notes.join('')}`;
}
