import { endpoints } from '../../../api/index.ts';
import type { CleanupResult, Worktree } from '../../../api/worktrees.ts';
import { commandGroup, endpointCommand } from '../endpoint-command.ts';
import { exitCodes } from '../exit.ts';
import { ago, details, listOf, mebibytes, plain, shortId, table } from '../output.ts';
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
  description: 'make a worktree for a session, or claim the one of that name; shows its path',
  endpoint: endpoints.createWorktree,
  operands: [
    {
      flags: '<name>',
      description: 'of the worktree; its branch is PREFIX/NAME',
      field: 'worktree_name',
    },
  ],
  options: [
    { ...sessionAs('source_session_id', '--session <session>', 'whose it is'), required: true },
    repositoryOption("the repository (default: the session's)"),
    {
      flags: '--base <ref>',
      description: 'where it begins (default: what is checked out)',
      field: 'base_ref',
    },
    {
      flags: '--branch-prefix <prefix>',
      description: 'of its branch (default: cadre)',
      field: 'branch_prefix',
    },
    { flags: '--policy <policy>', description: 'what becomes of it', field: 'deletion_policy' },
    { flags: '--no-init', description: 'do not run the init script' },
    {
      flags: '--init-if-trusted',
      description: 'run the init script only where its content is allowed',
    },
    { flags: '--no-include', description: 'do not copy the files that .worktreeinclude names' },
    {
      flags: '--include-if-trusted',
      description: 'copy those files only where .worktreeinclude is allowed',
    },
  ],
  // The person who runs this command consents by that to the script and the copies, unless an option says otherwise.
  fields: ({ init, initIfTrusted, include, includeIfTrusted }: ConsentOptions) => ({
    run_init_script: init && initIfTrusted ? null : init,
    copy_included: include && includeIfTrusted ? null : include,
  }),
  print: (made) => `${plain(made.path)}\n`,
  after({ id, worktree_name, init_script, included, port_base }, { stderr }) {
    if (stderr.isTTY) stderr.write(`cadre: worktree ${worktree_name}, id ${shortId(id)}\n`);
    const { how_to_allow } = init_script;
    if (how_to_allow) stderr.write(`the init script did not run: ${plain(how_to_allow)}\n`);
    if (port_base === null)
      stderr.write(
        'it has no ports of its own: no block of worktrees.port_first to port_last is free\n',
      );
    if (included.how_to_allow)
      stderr.write(
        `the files that .worktreeinclude names were not copied: ${plain(included.how_to_allow)}\n`,
      );
  },
});

/** `cadre worktrees …`. */
export const worktreeCommands = commandGroup('worktrees', 'git worktrees of sessions', [
  endpointCommand({
    name: 'list',
    description: 'list worktrees, newest first',
    endpoint: endpoints.listWorktrees,
    options: [
      repositoryOption('only of this repository'),
      { flags: '-s, --status <status>', description: 'only with this status', field: 'status' },
      limit,
    ],
    empty: 'no worktrees: make one with cadre worktrees create NAME --session SESSION',
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
    description: 'show a worktree and its claims',
    endpoint: endpoints.getWorktree,
    operands: [worktree],
    print: details,
  }),
  create,
  ...mergeCommands,
  ...trustCommands,
  endpointCommand({
    name: 'claim',
    description: 'claim a worktree for a session: while it is claimed, it stays',
    endpoint: endpoints.claimWorktree,
    operands: [worktree],
    options: [
      { ...sessionAs('session_id', '--session <session>', 'who claims it'), required: true },
      { flags: '--role <role>', description: 'as what', field: 'claim_role' },
    ],
    print: ({ worktree_id, claim_role }) => `${worktree_id} is claimed as ${claim_role}\n`,
  }),
  endpointCommand({
    name: 'release',
    description: 'release the claim of a session; with the last one the worktree is cleaned up',
    endpoint: endpoints.releaseWorktree,
    operands: [worktree],
    options: [
      { ...sessionAs('session_id', '--session <session>', 'whose claim'), required: true },
      {
        flags: '--keep',
        description: 'do not clean it up, even if this was the last claim',
        read: () => ({ cleanup_if_last_claim: false }),
      },
    ],
    print: ({ worktree, cleanup, active_claims }) =>
      cleanup
        ? cleanupText(cleanup)
        : `${worktree.id} is ${worktree.status}, with ${active_claims} claims\n`,
  }),
  endpointCommand({
    name: 'cleanup',
    description: 'remove a worktree that nobody claims, its work archived',
    endpoint: endpoints.cleanUpWorktree,
    operands: [worktree],
    options: [reason],
    print: cleanupText,
    after({ status }, world) {
      if (status !== 'cleaned') world.exit(exitCodes.refused);
    },
  }),
  endpointCommand({
    name: 'restore',
    description: 'bring back what was archived: branch, commits, and what was not committed',
    endpoint: endpoints.restoreWorktree,
    operands: [worktree],
    options: [
      {
        flags: '--name <name>',
        description: 'another name, where its own is taken',
        field: 'name',
      },
    ],
    print: (restored) => `${plain(restored.path)}\n`,
  }),
  endpointCommand({
    name: 'gc',
    description: 'show what nobody claims, or clean it up',
    endpoint: endpoints.collectWorktrees,
    options: [
      {
        flags: '--remove',
        description: 'clean it up, its work archived',
        read: () => ({ dry_run: false }),
      },
    ],
    print: ({ worktrees }, { layout }) =>
      table(
        ['ID', 'STATUS', 'SIZE', 'WHY'],
        worktrees.map((one) => [shortId(one.id), one.status, mebibytes(one.bytes), one.reason]),
        layout,
      ),
  }),
]);

/** The outcome of a cleanup, and its notes. */
function cleanupText({ worktree, status, archive_ref, diagnostics }: CleanupResult): string {
  const archived = status === 'cleaned' && archive_ref !== null ? [`archived: ${archive_ref}`] : [];
  const notes = [...archived, ...diagnostics].map((line) => `  ${plain(line)}\n`);
  return `${worktree.id}: ${status}\n${notes.join('')}`;
}
