import { GitPluginError, simpleGit } from 'simple-git';
import { killCarriers } from '../children/identity.ts';
import { MARKER_VARIABLE } from '../children/marker.ts';
import { newUuid } from '../lib/ids.ts';
import { cleanEnvironment } from '../children/process-environment.ts';

/** A git that says nothing for so long hangs: on a lock, a filter, a disk that is gone. */
const SILENT_MS = 10 * 60_000;
/** The oldest git that knows all we ask of it. */
const OLDEST = [2, 31] as const;
/** Tells the processes of one call from others, so that none of them outlives it. */
const CALL_VARIABLE = 'CADRE_GIT_CALL';

/**
 * What the settings of a repository cannot undo: no hooks and no daemon, no bare repository that was merely found, no
 * submodules, nothing in the background; and what is written is on the disk.
 */
const CONFIG = [
  'safe.bareRepository=explicit',
  'protocol.allow=never',
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.untrackedCache=false',
  'core.fsync=objects,reference',
  'core.filesRefLockTimeout=5000',
  'core.packedRefsTimeout=5000',
  'submodule.recurse=false',
  'gc.auto=0',
  'maintenance.auto=false',
  'advice.detachedHead=false',
];

/** Variables of the server that would tell git what to do. */
const REMOVED = /^(GIT_.*|EDITOR|VISUAL|PAGER|PREFIX|SSH_ASKPASS)$/i;
const WHO = ['GIT_AUTHOR_NAME', 'GIT_AUTHOR_EMAIL', 'GIT_COMMITTER_NAME', 'GIT_COMMITTER_EMAIL'];
/** The same for every call. Nothing is fetched: a missing object is missing, whatever remote promises it. */
const SET = {
  LC_ALL: 'C',
  GIT_TERMINAL_PROMPT: '0',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_LITERAL_PATHSPECS: '1',
  GIT_NO_LAZY_FETCH: '1',
  GIT_ALLOW_PROTOCOL: 'none',
  ...Object.fromEntries(
    WHO.map((name) => [name, name.endsWith('NAME') ? 'cadre' : 'cadre@localhost']),
  ),
};
const WHERE = ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_OBJECT_DIRECTORY'];

/** Where git works: a directory, and what it would otherwise find out from that. */
export interface GitLocation {
  directory: string;
  gitDir?: string | undefined;
  workTree?: string | undefined;
  index?: string | undefined;
  /** Whether the directory may be a bare repository itself, since somebody named it. */
  mayBeBare?: boolean | undefined;
  /** Where its objects are, if not in `gitDir`. */
  objects?: string | undefined;
}

/** A git command that failed; the message is git's own. */
export class GitFailure extends Error {
  override readonly name = 'GitFailure';
  readonly exitCode: number;

  constructor(exitCode: number, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}

/**
 * The one door to git. Its processes are short-lived and not started by the supervisor; they carry the run's marker,
 * by which the keeper and the next start find them.
 */
export class Git {
  readonly #marker: string;
  readonly #signal: AbortSignal;

  /** Ends what it does when `signal` aborts. */
  constructor({ marker, signal }: { marker: string; signal: AbortSignal }) {
    this.#marker = marker;
    this.#signal = signal;
  }

  /** What git prints, without the end of its last line. */
  async text(place: GitLocation, args: readonly string[], input?: string): Promise<string> {
    return Buffer.from(await this.bytes(place, args, input), 'latin1')
      .toString('utf8')
      .trimEnd();
  }

  /** The same; null where git exits with an error. */
  async maybe(place: GitLocation, args: readonly string[]): Promise<string | null> {
    try {
      return await this.text(place, args);
    } catch (error) {
      if (error instanceof GitFailure && error.exitCode > 0) return null;
      throw error;
    }
  }

  /** What git prints, a character a byte: names of files need not be UTF-8. The input is of that kind, too. */
  async bytes(place: GitLocation, args: readonly string[], input?: string): Promise<string> {
    const call = newUuid();
    const chunks: Buffer[] = [];
    let failure: GitFailure | undefined;
    try {
      const git = simpleGit({
        baseDir: place.directory,
        config: place.mayBeBare ? [...CONFIG, 'safe.bareRepository=all'] : CONFIG,
        timeout: { block: SILENT_MS },
        completion: { onClose: true, onExit: false },
        abort: this.#signal,
        allowEnvironment: [...Object.keys(SET), ...WHERE],
        unsafe: {
          allowUnsafeHooksPath: true,
          allowUnsafeFsMonitor: true,
          allowUnsafeProtocolOverride: true,
        },
        input: () => Buffer.from(input ?? '', 'latin1'),
        errors: (error, { exitCode, stdErr }) => {
          const wasEnded = error instanceof GitPluginError;
          if (!wasEnded && exitCode !== 0) failure = failureOf(exitCode, Buffer.concat(stdErr));
          return error ?? failure;
        },
      });
      git.env(this.#environment(place, call));
      git.outputHandler((_command, stdout) => {
        stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
        // simple-git waits another 50 ms for a command that printed nothing: half the time of a worktree's cleanup.
        stdout.once('end', () => stdout.emit('data', Buffer.alloc(0)));
      });
      await git.raw([...args]);
      return Buffer.concat(chunks).toString('latin1');
    } catch (error) {
      if (failure) throw failure;
      // It was ended before its time: what it had started goes, too.
      killCarriers(`${CALL_VARIABLE}=${call}`);
      throw new GitFailure(-1, firstLine((error as Error).message));
    }
  }

  #environment(place: GitLocation, call: string): Record<string, string> {
    const { gitDir, workTree, index, objects } = place;
    const passed = Object.entries(cleanEnvironment(process.env, new Set())).filter(
      ([name]) => !REMOVED.test(name),
    );
    const where = [gitDir, workTree, index, objects].flatMap((value, at) =>
      value === undefined ? [] : [[WHERE[at] ?? '', value] as const],
    );
    return {
      ...Object.fromEntries(passed),
      ...SET,
      ...Object.fromEntries(where),
      [MARKER_VARIABLE]: this.#marker,
      [CALL_VARIABLE]: call,
    };
  }
}

/** What is wrong with the git of this machine; its version where it will do. */
export async function findGit(): Promise<{ version: string } | { problem: string }> {
  const git = new Git({ marker: '', signal: new AbortController().signal });
  const said = await git.text({ directory: '/' }, ['--version']).catch(() => null);
  const [version = '', major, minor] = /(\d+)\.(\d+)[\d.]*/.exec(said ?? '') ?? [];
  if (said === null)
    return { problem: 'git cannot be found: install it, and see that PATH has it' };
  const isOld =
    Number(major) < OLDEST[0] || (Number(major) === OLDEST[0] && Number(minor) < OLDEST[1]);
  if (isOld)
    return {
      problem: `git ${version} is too old for worktrees: install ${OLDEST.join('.')} or newer`,
    };
  return { version };
}

function failureOf(exitCode: number, stderr: Buffer): GitFailure {
  const text = stderr.toString('utf8');
  if (/ENOENT/.test(text) && exitCode < 0)
    return new GitFailure(exitCode, 'git cannot be found: install it, and see that PATH has it');
  // What it is sorry for comes last, and below it what to do about that; hints and progress stand before it.
  const lines = text.trim().split('\n');
  const at = lines.findLastIndex((line) => /^(fatal|error): /.test(line));
  const said = at < 0 ? lines.slice(0, 1) : lines.slice(at);
  const line = said.map((one) => one.replace(/^(fatal|error): /, '').trim()).filter(Boolean);
  return new GitFailure(exitCode, line.join(' ') || `git exited with ${exitCode}`);
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0] ?? '';
}
