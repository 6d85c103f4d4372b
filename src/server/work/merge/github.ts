import { cleanEnvironment } from '../../../core/children/environment.ts';
import type { Supervisor } from '../../../core/children/supervisor.ts';
import { AppError } from '../../../api/errors.ts';
import type { Clock } from '../../../core/lib/clock.ts';
import { findProgram } from '../../../core/lib/find-program.ts';

const LIMIT_MS = 2 * 60_000;
const GRACE_MS = 2000;
/** How much of what `gh` prints is read, in characters. */
const OUTPUT_CHARS = 64 * 1024;

export const NO_GH =
  'gh, the GitHub command line, is not installed on the machine of the server: install it, and log in with gh auth login';

/** Returns the path of `gh`; null if it is not installed. */
export function findGh(): string | null {
  return findProgram('gh', process.env.PATH);
}

/** What a pull request is made of. */
export interface Proposal {
  /** Where the remote is. */
  address: string;
  branch: string;
  into: string;
  title: string;
  body: string;
  draft: boolean;
}

/**
 * Opens a pull request with `gh`, with the login of the user who runs the server. It runs in an empty directory and is
 * told the repository, so no configuration of a repository is read. Returns the URL. Throws `conflict` with what `gh`
 * says if it fails, or takes longer than two minutes.
 */
export async function createPullRequest(
  { address, branch, into, title, body, draft }: Proposal,
  options: { supervisor: Supervisor; clock: Clock; scratch: string; signal: AbortSignal },
): Promise<string> {
  const { supervisor, clock, scratch, signal } = options;
  const what = ['pr', 'create', '--repo', nameOf(address), '--head', branch, '--base', into];
  const child = await supervisor.start({
    command: findGh() ?? 'gh',
    args: [...what, '--title', title, '--body', body, ...(draft ? ['--draft'] : [])],
    cwd: scratch,
    env: {
      ...cleanEnvironment(process.env, new Set()),
      GH_PROMPT_DISABLED: '1',
      GH_NO_UPDATE_NOTIFIER: '1',
      NO_COLOR: '1',
    },
    what: `gh pr create for ${branch}`,
    stdin: 'none',
  });
  const [printed, problems] = [textOf(child.stdout), textOf(child.stderr)];
  using _limit = clock.after(LIMIT_MS, () => void child.end(GRACE_MS));
  const stop = () => void child.end(GRACE_MS);
  signal.addEventListener('abort', stop, { once: true });
  const { code } = await child.exited;
  signal.removeEventListener('abort', stop);
  await child.end(0);
  const found = /^https?:\/\/\S+$/m.exec((await printed).trim())?.[0];
  if (code === 0 && found !== undefined) return found;
  const why = (await problems).trim().split('\n').slice(-5).join('\n');
  throw new AppError('conflict', `gh did not create a pull request: ${why || `exit code ${code}`}`);
}

/** Returns the name of a repository as `gh` takes it: HOST/OWNER/NAME; what looks otherwise is left as it is. */
export function nameOf(address: string): string {
  const found =
    /^(?:[a-z+]+:\/\/)?(?:[^@/]*@)?([^/:]+)(?::\d+)?[:/]+([^/]+\/[^/]+?)(?:\.git)?\/?$/i.exec(
      address,
    );
  return found ? `${found[1]}/${found[2]}` : address;
}

/** Leaves out what a URL has before "@": it may be a password. */
export function withoutPassword(url: string): string {
  return url.replace(/^([a-z+]+:\/\/)[^@/]*@/i, '$1');
}

async function textOf(stream: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  for await (const chunk of stream) text = (text + String(chunk)).slice(-OUTPUT_CHARS);
  return text;
}
