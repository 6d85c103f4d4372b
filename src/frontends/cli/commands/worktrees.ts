import { endpoints } from '../../../api/index.ts';
import type { CleanupResult, Worktree } from '../../../api/worktrees.ts';
import { commandGroup, endpointCommand } from '../endpoint-command.ts';
import { exitCodes } from '../exit.ts';
import { ago, details, labelOf, listOf, mebibytes, plain, shortId, table } from '../output.ts';
import { limit, reason, repositoryOption, sessionAs, worktree } from '../parameters.ts';
import { mergeCommands } from './worktree-merge.ts';
import { trustCommands } from './worktree-trust.ts';

// A type alias, because options are matched by an index signature.
type ConsentOptions = {
  init: boolean;
  initIfTrusted?: boolean;
  include: boolean;
  includeIfTrusted?: boolean;
};

const create = endpointCommand({
  name: 'create',
  description: 'Create a worktree for a session, or claim the existing one, and print its path',
  endpoint: endpoints.createWorktree,
  operands: [
    {
      flags: '<name>',
      description: 'Name of the worktree (its branch is PREFIX/NAME)',
      field: 'worktree_name',
    },
  ],
  options: [
    {
      ...sessionAs('source_session_id', '--session <session>', 'Session that owns the worktree'),
      required: true,
    },
    repositoryOption('Directory of the repository (default: repository of the session)'),
    {
      flags: '--base <ref>',
      description:
        'Commit or branch that the branch of the worktree starts from (default: the commit that is checked out)',
      field: 'base_ref',
    },
    {
      flags: '--branch-prefix <prefix>',
      description: 'Prefix of the branch (default: cadre)',
      field: 'branch_prefix',
    },
    {
      flags: '--policy <policy>',
      description: 'Cleanup policy when the last claim is released',
      field: 'deletion_policy',
    },
    { flags: '--no-init', description: 'Do not run the init script' },
    {
      flags: '--init-if-trusted',
      description: 'Run the init script only if the content of the script is allowed',
    },
    { flags: '--no-include', description: 'Do not copy the files listed in .worktreeinclude' },
    {
      flags: '--include-if-trusted',
      description:
        'Copy the files listed in .worktreeinclude only if the content of .worktreeinclude is allowed',
    },
  ],
  // The person who runs this command consents by that to the script and the copies, unless an option says otherwise.
  fields: ({ init, initIfTrusted, include, includeIfTrusted }: ConsentOptions) => ({
    run_init_script: init && initIfTrusted ? null : init,
    copy_included: include && includeIfTrusted ? null : include,
  }),
  print: (made) => `${plain(made.path)}\n`,
  after({ id, worktree_name, init_script, included, port_base }, { stderr }) {
    if (stderr.isTTY) stderr.write(`cadre: created worktree "${worktree_name}" (${shortId(id)})\n`);
    const { how_to_allow } = init_script;
    if (how_to_allow) stderr.write(`cadre: the init script did not run: ${plain(how_to_allow)}\n`);
    if (port_base === null)
      stderr.write(
        'cadre: the worktree has no ports: no block from worktrees.port_first to worktrees.port_last is free\n',
      );
    if (included.how_to_allow)
      stderr.write(
        `cadre: the files listed in .worktreeinclude were not copied: ${plain(included.how_to_allow)}\n`,
      );
  },
});

/** `cadre worktrees …`. */
export const worktreeCommands = commandGroup(
  'worktrees',
  'Give sessions their own git worktrees, and merge them',
  [
    endpointCommand({
      name: 'list',
      description: 'List worktrees, newest first',
      endpoint: endpoints.listWorktrees,
      options: [
        repositoryOption('Show only worktrees of this repository'),
        {
          flags: '-s, --status <status>',
          description: 'Show only worktrees with this status',
          field: 'status',
        },
        limit,
      ],
      empty: 'no worktrees: create one with cadre worktrees create NAME --session SESSION',
      print: listOf<Worktree>(
        ['ID', 'STATUS', 'AGE', 'CHANGED', 'NAME', 'BRANCH', 'PATH'],
        (one, now) => [
          shortId(one.id),
          one.status,
          ago(one.created_at, now),
          ago(one.updated_at, now),
          one.worktree_name,
          one.branch,
          one.path,
        ],
      ),
    }),
    endpointCommand({
      name: 'show',
      alias: 'get',
      description: 'Show a worktree and its claims',
      endpoint: endpoints.getWorktree,
      operands: [worktree],
      print: details,
    }),
    create,
    ...mergeCommands,
    ...trustCommands,
    endpointCommand({
      name: 'claim',
      description: 'Claim a worktree for a session (a claimed worktree is not removed)',
      endpoint: endpoints.claimWorktree,
      operands: [worktree],
      options: [
        {
          ...sessionAs('session_id', '--session <session>', 'Session that claims the worktree'),
          required: true,
        },
        { flags: '--role <role>', description: 'Role of the claim', field: 'claim_role' },
      ],
      print: ({ worktree_id, claim_role }) => `Claimed worktree ${worktree_id} as ${claim_role}\n`,
    }),
    endpointCommand({
      name: 'release',
      description: 'Release the claim of a session (after the last claim the worktree is removed)',
      endpoint: endpoints.releaseWorktree,
      operands: [worktree],
      options: [
        {
          ...sessionAs('session_id', '--session <session>', 'Session that holds the claim'),
          required: true,
        },
        {
          flags: '--keep',
          description: 'Keep the worktree even if the released claim was the last claim',
          read: () => ({ cleanup_if_last_claim: false }),
        },
      ],
      print: ({ worktree, cleanup, active_claims }) =>
        cleanup
          ? cleanupText(cleanup)
          : `Released worktree ${labelOf(worktree.id, worktree.worktree_name)}: ${worktree.status}, claims left: ${active_claims}\n`,
    }),
    endpointCommand({
      name: 'cleanup',
      description: 'Archive and remove a worktree that has no claims',
      endpoint: endpoints.cleanUpWorktree,
      operands: [worktree],
      options: [reason],
      confirm: (said) => `archive and remove worktree "${said}"?`,
      print: cleanupText,
      after({ status }, world) {
        if (status !== 'cleaned') world.exit(exitCodes.refused);
      },
    }),
    endpointCommand({
      name: 'restore',
      description: 'Restore an archived worktree: branch, commits and uncommitted changes',
      endpoint: endpoints.restoreWorktree,
      operands: [worktree],
      options: [
        {
          flags: '--name <name>',
          description: 'New name of the worktree, if the original name is taken',
          field: 'name',
        },
      ],
      print: (restored) => `${plain(restored.path)}\n`,
    }),
    endpointCommand({
      name: 'gc',
      description: 'Show worktrees without claims, or remove them',
      endpoint: endpoints.collectWorktrees,
      options: [
        {
          flags: '--remove',
          description: 'Archive and remove the worktrees without claims',
          read: () => ({ dry_run: false }),
        },
      ],
      isList: true,
      print: ({ worktrees }, { layout }) =>
        table(
          ['ID', 'STATUS', 'SIZE', 'REASON'],
          worktrees.map((one) => [shortId(one.id), one.status, mebibytes(one.bytes), one.reason]),
          layout,
        ),
    }),
  ],
);

/** The outcome of a cleanup, and its notes. */
function cleanupText({ worktree, status, archive_ref, diagnostics }: CleanupResult): string {
  const archived = status === 'cleaned' && archive_ref !== null ? [`archived: ${archive_ref}`] : [];
  const notes = [...archived, ...diagnostics].map((line) => `  ${plain(line)}\n`);
  return `Worktree ${labelOf(worktree.id, worktree.worktree_name)}: ${status}\n${notes.join('')}`;
}
