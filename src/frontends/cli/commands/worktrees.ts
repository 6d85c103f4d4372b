import { endpoints } from '../../../api/index.ts';
import type { CleanupResult, Worktree } from '../../../api/worktrees.ts';
import { commandGroup } from '../command.ts';
import { endpointCommand, type Reading } from '../endpoint-command.ts';
import { exitCodes } from '../exit.ts';
import { ago, details, labelOf, listOf, mebibytes, plain, shortId, table } from '../output.ts';
import {
  limit,
  noIncludeOption,
  noInitOption,
  reason,
  repositoryOption,
  required,
  sessionAs,
  unsent,
  valueOf,
  worktree,
} from '../parameters.ts';
import { mergeCommands } from './worktree-merge.ts';
import { askForWorktree, trustCommands } from './worktree-trust.ts';

// A type alias, because options are matched by an index signature.
type ConsentOptions = {
  init: boolean;
  initIfTrusted?: boolean;
  include: boolean;
  includeIfTrusted?: boolean;
};

const create = endpointCommand({
  name: 'create',
  description:
    'Create a git worktree for a session, or claim an existing worktree, and print its path',
  endpoint: endpoints.createWorktree,
  parameters: [
    valueOf(
      'worktree_name',
      '<name>  Name of the worktree (the branch of the worktree is PREFIX/NAME)',
    ),
    required(sessionAs('source_session_id', '--session <session>  Session that owns the worktree')),
    repositoryOption('Directory of the repository (default: repository of the session)'),
    valueOf(
      'base_ref',
      '--base <ref>  Commit or branch that the worktree starts from (default: the commit that is checked out in the repository)',
    ),
    '--branch-prefix <prefix>  Prefix of the branch name of the worktree (default: cadre)',
    valueOf(
      'deletion_policy',
      '--policy <policy>  Removal when the last session releases the worktree: always (delete_on_last_claim), without changes and new commits (delete_if_clean) or never (retain_on_last_claim) (default: from the configuration)',
    ),
    noInitOption,
    unsent(
      "--init-if-trusted  Run the repository's init script only if you have trusted its content with cadre worktrees trust",
    ),
    noIncludeOption,
    {
      ...unsent(
        '--include-if-trusted  Copy the files listed in .worktreeinclude only if you have trusted its content with cadre worktrees trust',
      ),
      read: (_, reading) => askForContent(reading),
      absent: askForContent,
    },
  ],
  // The server uses only trusted content. A sandboxed process may have moved the branch that has the content.
  fields: ({ init, include }: ConsentOptions) => ({
    run_init_script: init ? null : false,
    copy_included: include ? null : false,
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

/** Asks about untrusted content of the repository, unless an option says what happens to it. Sets no field. */
async function askForContent({ io, client, options, fields }: Reading): Promise<object> {
  const { init, initIfTrusted, include, includeIfTrusted } = options as ConsentOptions;
  const kinds = [
    ...(init && !initIfTrusted ? (['init_script'] as const) : []),
    ...(include && !includeIfTrusted ? (['included_files'] as const) : []),
  ];
  if (!io.stdin.isTTY || kinds.length === 0) return {};
  const { repo_root, source_session_id, worktree_name } = fields as Record<string, string>;
  const params = { session_id: source_session_id ?? '' };
  const directory = repo_root ?? (await client.call(endpoints.getSession, { params })).cwd;
  await askForWorktree({ io, client }, { directory, name: worktree_name ?? '', kinds });
  return {};
}

export const worktreeCommands = commandGroup(
  'worktrees',
  'Create, merge and remove git worktrees of sessions',
  [
    endpointCommand({
      name: 'list',
      description: 'List worktrees, newest first',
      endpoint: endpoints.listWorktrees,
      parameters: [
        repositoryOption('Show only worktrees of this repository'),
        '-s, --status <status>  Show only worktrees with this status',
        limit,
      ],
      empty: 'no worktrees: create a worktree with cadre worktrees create NAME --session SESSION',
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
      description: 'Show a worktree and its claims (the sessions that use the worktree)',
      endpoint: endpoints.getWorktree,
      parameters: [worktree],
      print: details,
    }),
    create,
    ...mergeCommands,
    ...trustCommands,
    endpointCommand({
      name: 'claim',
      description: 'Claim a worktree for a session (a claim prevents the removal of the worktree)',
      endpoint: endpoints.claimWorktree,
      parameters: [
        worktree,
        required(
          sessionAs('session_id', '--session <session>  Session that claims (uses) the worktree'),
        ),
        valueOf('claim_role', '--role <role>  Role of the session that claims the worktree'),
      ],
      print: ({ worktree_id, claim_role }) => `Claimed worktree ${worktree_id} as ${claim_role}\n`,
    }),
    endpointCommand({
      name: 'release',
      description:
        'Release the claim of a session on a worktree (the worktree is removed when no claims are left)',
      endpoint: endpoints.releaseWorktree,
      parameters: [
        worktree,
        required(
          sessionAs(
            'session_id',
            '--session <session>  Session whose claim on the worktree is released',
          ),
        ),
        {
          line: '--keep  Keep the worktree even if no session claims the worktree after the release',
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
      description: 'Archive and remove a worktree that no session claims',
      endpoint: endpoints.cleanUpWorktree,
      parameters: [worktree, reason],
      confirm: (reference) => `archive and remove worktree "${reference}"?`,
      print: cleanupText,
      after({ status }, io) {
        if (status !== 'cleaned') io.exit(exitCodes.conflict);
      },
    }),
    endpointCommand({
      name: 'restore',
      description: 'Restore an archived worktree with its branch, commits and uncommitted changes',
      endpoint: endpoints.restoreWorktree,
      parameters: [
        worktree,
        '--name <name>  New name of the worktree, if the original name is taken',
      ],
      print: (restored) => `${plain(restored.path)}\n`,
    }),
    endpointCommand({
      name: 'gc',
      description: 'Show or remove worktrees that no session claims',
      endpoint: endpoints.collectWorktrees,
      parameters: [
        {
          line: '--remove  Archive and remove all worktrees that no session claims',
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

export function cleanupText({ worktree, status, archive_ref, diagnostics }: CleanupResult): string {
  const archived = status === 'cleaned' && archive_ref !== null ? [`archived: ${archive_ref}`] : [];
  const name = plain(worktree.worktree_name);
  const remedy = `close each session, or release its claim with cadre worktrees release ${name} --session SESSION`;
  const remedies = status === 'skipped_active_claims' ? [remedy] : [];
  const notes = [...archived, ...diagnostics, ...remedies].map((line) => `  ${plain(line)}\n`);
  return `Worktree ${labelOf(worktree.id, worktree.worktree_name)}: ${status}\n${notes.join('')}`;
}
