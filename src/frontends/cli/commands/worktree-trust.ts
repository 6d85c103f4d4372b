import path from 'node:path';
import { endpoints } from '../../../api/index.ts';
import type { Brought, Trusted } from '../../../api/worktree-trust.ts';
import type { Worktree } from '../../../api/worktrees.ts';
import { isAppError, notFoundError, usageError } from '../../../api/errors.ts';
import { askYes } from '../choose.ts';
import { clientCommand, type Register } from '../command.ts';
import { endpointCommand } from '../endpoint-command.ts';
import { ago, listOf, plain } from '../output.ts';
import { repositoryOption } from '../parameters.ts';
import { canAsk, type CommandContext, type CommandIo } from '../command-io.ts';
import { counted } from '../../../core/lib/counted.ts';

export const trustCommands: readonly Register[] = [
  clientCommand({
    name: 'trust',
    description:
      'Trust the current init script, .worktreeinclude file and git filters of a repository',
    parameters: [
      { line: '-R, --repo <directory>  Directory of the repository', default: '.' },
      '--handoff <agent>  Let this provider or agent continue sessions of the repository at a usage limit, instead of trusting content',
      '--sha256 <digest>  Trust only the content with this SHA-256 digest, without asking for confirmation',
      '--yes  Trust all content that the command shows, without asking for confirmation',
    ],
    async run(context, options: TrustOptions) {
      const { client, show } = context;
      const repo_root = path.resolve(context.io.cwd(), options.repo);
      const wanted =
        options.sha256 === undefined
          ? await chosen(context, repo_root, options)
          : [options.sha256.toLowerCase()];
      const trusted: Trusted[] = [];
      for (const sha256 of wanted) {
        const body = { repo_root, sha256 };
        trusted.push(await client.call(endpoints.trustContent, { body }));
      }
      show(trusted, () => {
        if (trusted.length === 0) return 'Nothing was trusted\n';
        return trusted.map((one) => `Trusted ${one.sha256} for ${plain(one.repo_root)}\n`).join('');
      });
    },
  }),
  endpointCommand({
    name: 'untrust',
    description:
      'Stop trusting scripts and other content of a repository (undoes cadre worktrees trust)',
    endpoint: endpoints.untrustContent,
    parameters: [
      '[sha256]  SHA-256 digest of the content to stop trusting (default: all trusted content of the repository)',
      { ...repositoryOption('Directory of the repository'), default: '.' },
    ],
    print: (done) =>
      `Withdrew ${counted(done.withdrawn.length, 'permission')} for ${plain(done.repo_root)}\n`,
  }),
  endpointCommand({
    name: 'list-trusted',
    description:
      'List the trusted content of repositories, such as init scripts and git filters, newest first',
    endpoint: endpoints.listTrusted,
    parameters: [repositoryOption('Show only trusted content of this repository')],
    fields: () => ({ limit: 500 }),
    empty:
      'no trusted content: show and trust the content of a repository with cadre worktrees trust',
    print: listOf<Trusted>(['SHA-256', 'AGE', 'BY', 'REPOSITORY'], (one, now) => [
      one.sha256,
      ago(one.trusted_at, now),
      one.trusted_by,
      one.repo_root,
    ]),
  }),
];

interface TrustOptions {
  repo: string;
  handoff?: string;
  sha256?: string;
  yes?: boolean;
}

/** Shows each content and asks whether it may be used. Throws `usage` without terminal and `--yes`. */
async function chosen(
  { io, client }: CommandContext,
  repo_root: string,
  { yes, handoff }: TrustOptions,
): Promise<string[]> {
  const body = { repo_root, handoff };
  const { brings } = await client.call(endpoints.lookAtBrought, { body });
  if (brings.length === 0)
    throw notFoundError(
      `nothing to trust: the repository ${repo_root} has no init script, no .worktreeinclude and no git filters`,
    );
  const wanted: string[] = [];
  for (const one of brings) {
    io.stderr.write(broughtText(one));
    if (one.trusted) io.stderr.write('  already trusted\n');
    else if (yes || (canAsk(io) && (await isAllowed(io, one)))) wanted.push(one.sha256);
    else if (!canAsk(io))
      throw usageError('not a terminal: read the printed content, then pass --yes or --sha256');
  }
  return wanted;
}

function isAllowed(io: CommandIo, { kind }: Brought): Promise<boolean> {
  return askYes(io, `  allow ${words[kind].use} of the repository? [y/N] `);
}

/**
 * Shows the untrusted content of these kinds that a new worktree would use, and trusts it if the user allows it. Without a
 * terminal nothing is trusted, and the server then leaves the content out. `directory` is in the repository; `name` is the
 * name of the worktree.
 */
export async function askForWorktree(
  { io, client }: Pick<CommandContext, 'io' | 'client'>,
  about: { directory: string; name: string; kinds: readonly Brought['kind'][] },
): Promise<void> {
  const { directory, name, kinds } = about;
  if (kinds.length === 0 || !canAsk(io)) return;
  const found = await client
    .call(endpoints.lookAtBrought, { body: { repo_root: directory } })
    .catch((error: unknown) => {
      // The request for the worktree then says the same.
      if (isAppError(error, 'invalid')) return null;
      throw error;
    });
  const untrusted = found?.brings.filter((one) => !one.trusted && kinds.includes(one.kind)) ?? [];
  if (found === null || untrusted.length === 0) return;
  const { repo_root } = found;
  const worktrees = await client.call(endpoints.listWorktrees, { query: { repo_root } });
  const isThere = (one: Worktree) => one.status === 'active' || one.status === 'retained';
  if (worktrees.some((one) => one.worktree_name === name && isThere(one))) return;
  for (const one of untrusted) {
    io.stderr.write(broughtText(one));
    if (await isAllowed(io, one))
      await client.call(endpoints.trustContent, { body: { repo_root, sha256: one.sha256 } });
  }
}

/** The words for each kind of content, and for what a user allows by trusting it. */
const words: Record<Brought['kind'], { what: string; use: string }> = {
  init_script: { what: 'init script, as committed at HEAD', use: 'running this for worktrees' },
  included_files: {
    what: 'ignored files to copy, as committed at HEAD',
    use: 'copying these ignored files into worktrees',
  },
  filters: { what: 'filters', use: 'running this for worktrees' },
  template: { what: 'template, as committed at HEAD', use: 'this template' },
  handoff: { what: 'handoffs at a usage limit', use: 'these handoffs' },
};

/** Returns content with a mark before each line, so that no line of it looks like one of this command. */
export function broughtText({ kind, name, sha256, text }: Brought): string {
  const lines = text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => `  | ${plain(line)}\n`);
  return `\n${plain(name)} (${words[kind].what})\n${lines.join('')}  sha256 ${sha256}\n`;
}
