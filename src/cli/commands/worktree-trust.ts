import path from 'node:path';
import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { endpoints } from '../../api/index.ts';
import type { Brought, Trusted } from '../../api/worktree-trust.ts';
import { AppError } from '../../errors.ts';
import { ago, plain, table } from '../output.ts';
import { clientAction, type CommandContext, type World } from '../world.ts';

interface TrustOptions {
  repo: string;
  sha256?: string;
  yes?: boolean;
}

/** `cadre worktrees trust | untrust | list-trusted`. */
export function trustCommands(worktrees: Command, world: World): void {
  worktrees
    .command('trust')
    .description(
      'show the init script and the filters of a repository, and allow them by their content',
    )
    .option('--repo <directory>', 'the repository', '.')
    .option('--sha256 <digest>', 'allow this content, which was read elsewhere, without asking')
    .option('--yes', 'allow all that is shown, without asking')
    .action(clientAction(world, trust));

  worktrees
    .command('untrust')
    .description('allow content of a repository no more')
    .argument('[sha256]', 'of the content (default: all of the repository)')
    .option('--repo <directory>', 'the repository', '.')
    .action(
      clientAction(
        world,
        async ({ client, show }, sha256: string | undefined, { repo }: { repo: string }) => {
          const body = { repo_root: path.resolve(repo), sha256 };
          const done = await client.call(endpoints.untrustContent, { body });
          show(done, () => `${done.withdrawn.length} withdrawn for ${plain(done.repo_root)}\n`);
        },
      ),
    );

  worktrees
    .command('list-trusted')
    .description('list what repositories bring and may run here, newest first')
    .option('--repo <directory>', 'only of this repository')
    .action(
      clientAction(world, async ({ client, show }, { repo }: { repo?: string }) => {
        const repo_root = repo === undefined ? undefined : path.resolve(repo);
        const query = { repo_root, limit: 500 };
        const found = await client.call(endpoints.listTrusted, { query });
        const now = world.clock.now();
        const rows = found.map((one) => [
          one.sha256,
          ago(one.trusted_at, now),
          one.trusted_by,
          one.repo_root,
        ]);
        show(found, () => table(['SHA-256', 'AGE', 'BY', 'REPOSITORY'], rows));
      }),
    );
}

async function trust(context: CommandContext, options: TrustOptions): Promise<void> {
  const { client, show } = context;
  const repo_root = path.resolve(options.repo);
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
    if (trusted.length === 0) return 'nothing was allowed\n';
    return trusted.map((one) => `${one.sha256} may run for ${plain(one.repo_root)}\n`).join('');
  });
}

/** Shows what there is, and asks for each on the terminal. Throws `usage` where there is none, and nobody has said yes. */
async function chosen(
  { world, client }: CommandContext,
  repo_root: string,
  { yes }: TrustOptions,
): Promise<string[]> {
  const { brings } = await client.call(endpoints.lookAtBrought, { body: { repo_root } });
  if (brings.length === 0)
    throw new AppError('not_found', `${repo_root} brings no init script and no filters`);
  const canAsk = world.stdin.isTTY && world.stderr.isTTY;
  const wanted: string[] = [];
  for (const one of brings) {
    world.stderr.write(shown(one));
    if (one.trusted) world.stderr.write('  it is allowed already\n');
    else if (yes || (canAsk && (await isAllowed(world)))) wanted.push(one.sha256);
    else if (!canAsk)
      throw new AppError(
        'usage',
        'nobody can be asked, since this is no terminal: read it, then say --yes or --sha256',
      );
  }
  return wanted;
}

/** Each line with a mark before it, so that none passes for one of ours. */
function shown({ kind, name, sha256, text }: Brought): string {
  const what = kind === 'init_script' ? 'init script, as committed at HEAD' : 'filters';
  const lines = text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => `  | ${plain(line)}\n`);
  return `\n${plain(name)} (${what})\n${lines.join('')}  sha256 ${sha256}\n`;
}

async function isAllowed({ stdin, stderr }: World): Promise<boolean> {
  const lines = createInterface({ input: stdin, output: stderr });
  try {
    const answer = await lines.question('  may this run for worktrees of the repository? [y/N] ');
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}
