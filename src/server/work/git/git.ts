import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import type { EventEmitter } from 'node:events';
import fs from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '../../../api/errors.ts';
import { GitPluginError, simpleGit } from 'simple-git';
import { killCarriers, MARKER_VARIABLE } from '../../../core/children/identity.ts';
import type { Keeper } from '../../../core/children/keeper.ts';
import type { Sandbox } from '../../../core/children/sandbox/sandbox.ts';
import { newUuid } from '../../../core/lib/ids.ts';
import { cleanEnvironment } from '../../../core/children/environment.ts';
import { shellWord } from '../../../core/lib/shell-word.ts';
import { failureOf, GitFailure, NOT_FOUND, orNull } from './git-failure.ts';

/** A git process without output for this long hangs: on a lock, a filter, or a disk that no longer responds. */
const SILENT_MS = 10 * 60_000;
/** The oldest version of git that has every option used here. */
const OLDEST = [2, 31] as const;
/** Marks the processes of one call, so that all of them can be killed when it ends early. */
const CALL_VARIABLE = 'CADRE_GIT_CALL';

/**
 * Settings that override the settings of the repository: no hooks, no daemon, no bare repository that git merely came across,
 * no submodules, no background maintenance; and writes are synced to the disk.
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

/** Variables of the server's environment that would change what git does. */
const REMOVED = /^(GIT_.*|EDITOR|VISUAL|PAGER|PREFIX|SSH_ASKPASS)$/i;
const IDENTITY_VARIABLES = [
  'GIT_AUTHOR_NAME',
  'GIT_AUTHOR_EMAIL',
  'GIT_COMMITTER_NAME',
  'GIT_COMMITTER_EMAIL',
];
/**
 * Variables that each call sets. Nothing is fetched, so an object that only a remote has counts as missing. Replace refs
 * and grafts are ignored: with them, a shown commit would differ from the merged or pushed one.
 */
const FIXED_VARIABLES = {
  LC_ALL: 'C',
  GIT_TERMINAL_PROMPT: '0',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_LITERAL_PATHSPECS: '1',
  GIT_NO_LAZY_FETCH: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_GRAFT_FILE: '/dev/null/none',
  GIT_ALLOW_PROTOCOL: 'none',
  ...Object.fromEntries(
    IDENTITY_VARIABLES.map((name) => [name, name.endsWith('NAME') ? 'cadre' : 'cadre@localhost']),
  ),
};
const LOCATION_VARIABLES = ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_OBJECT_DIRECTORY'];

/** The call in which simple-git starts a process. */
const calls = new AsyncLocalStorage<{ startFailure: Error | undefined }>();

// Without a free descriptor, Node reports the failed start by an event for which simple-git does not listen yet, and an
// error without a listener would end the server.
subscribe('child_process', (message) => {
  const call = calls.getStore();
  if (!call) return;
  const { process } = message as { process: EventEmitter };
  process.once('error', (error: Error) => (call.startFailure = error));
});

/** The directories and files that git works on; without them it would derive them from the directory. */
export interface GitLocation {
  directory: string;
  gitDir?: string | undefined;
  workTree?: string | undefined;
  index?: string | undefined;
  /** Whether the directory may itself be a bare repository, because a person or a record named it. */
  mayBeBare?: boolean | undefined;
  /** Whether git may reach another repository, because a person has asked for that. */
  mayConnect?: boolean | undefined;
  /** The directory of its objects, if that is not in `gitDir`. */
  objects?: string | undefined;
  /**
   * Whether git writes only below the work tree and beside its index, if the server has a sandbox: a process in a sandbox may
   * replace a directory by a link to another directory at any time.
   */
  isConfined?: boolean | undefined;
}

interface GitDependencies {
  /** The marker of the run, which every process carries. */
  marker: string;
  /** Running commands end when it aborts. */
  signal: AbortSignal;
  /** Aborts when the server stops; absent: `signal` does. */
  stopping?: AbortSignal;
  /** The maximum output of a command that is read as a whole, in bytes. */
  maxOutputBytes?: number;
  /** Kills the processes with the marker when the server dies; absent for commands that belong to no server. */
  keeper?: Pick<Keeper, 'ensure'>;
  /** Confines git where a location asks for it. */
  sandbox?: Pick<Sandbox, 'wordsForWriter'>;
}

/**
 * Runs every git command at one location. The processes are short-lived, and the supervisor does not start them; they
 * carry the run's marker, by which the keeper and the next start find them.
 */
export class Git {
  readonly location: GitLocation;
  readonly #deps: GitDependencies;

  constructor(deps: GitDependencies, location: GitLocation = { directory: '/' }) {
    this.#deps = deps;
    this.location = location;
  }

  /** Returns one that works at another location. */
  at(location: GitLocation): Git {
    return new Git(this.#deps, location);
  }

  /** Returns one with a part of the location changed. */
  with(changes: Partial<GitLocation>): Git {
    return this.at({ ...this.location, ...changes });
  }

  /** Returns one whose commands end when `signal` aborts, too. */
  within(signal: AbortSignal): Git {
    const { signal: own, stopping = own } = this.#deps;
    const deps = { ...this.#deps, stopping, signal: AbortSignal.any([own, signal]) };
    return new Git(deps, this.location);
  }

  /** Returns the output of a command, without trailing whitespace. Throws GitFailure, or AppError if the server stops. */
  async text(args: readonly string[], input?: string): Promise<string> {
    return toText(await this.bytes(args, input)).trimEnd();
  }

  /** Does the same, but returns null if git exits with an error. */
  maybe(args: readonly string[], input?: string): Promise<string | null> {
    return orNull(this.text(args, input));
  }

  /** Returns the entries of an output, each of which ends with a NUL, with one character for each byte. */
  async entries(args: readonly string[], input?: string): Promise<string[]> {
    return (await this.bytes(args, input)).split('\0').filter(Boolean);
  }

  /**
   * Returns the output of a command with one character for each byte, because file names need not be UTF-8; `input` has
   * the same encoding.
   */
  async bytes(args: readonly string[], input?: string): Promise<string> {
    const { maxOutputBytes = MAX_OUTPUT_BYTES } = this.#deps;
    const { text, isCut } = await this.upTo(maxOutputBytes, args, input);
    if (!isCut) return text;
    throw new GitFailure(
      -1,
      `git ${args[0]} printed more than ${maxOutputBytes} bytes, the maximum`,
    );
  }

  /** Returns the output in the same encoding, but not much more than so many bytes of it, and whether there was more. */
  async upTo(
    maxBytes: number,
    args: readonly string[],
    input?: string,
  ): Promise<{ text: string; isCut: boolean }> {
    const chunks: Buffer[] = [];
    const printed = () => Buffer.concat(chunks).toString('latin1');
    let bytes = 0;
    const take = (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      return bytes <= maxBytes;
    };
    try {
      const isCut = await this.pieces(args, take, input);
      return { text: printed(), isCut };
    } catch (error) {
      if (error instanceof GitFailure) error.output = printed();
      throw error;
    }
  }

  /**
   * Passes the output of a command to `take`, a piece at a time, until `take` returns false: then the command is ended.
   * Returns whether it was. Throws GitFailure.
   */
  async pieces(
    args: readonly string[],
    take: (chunk: Buffer) => boolean,
    input = '',
  ): Promise<boolean> {
    const { directory, mayBeBare } = this.location;
    const { signal, stopping = signal, keeper } = this.#deps;
    const enough = new AbortController();
    const call = newUuid();
    const started: { startFailure: Error | undefined } = { startFailure: undefined };
    let failure: GitFailure | undefined;
    // Outside of `try`, so that an error here does not become a GitFailure.
    if (!signal.aborted) keeper?.ensure();
    const binary = signal.aborted ? 'git' : await this.#program();
    try {
      signal.throwIfAborted();
      const git = simpleGit({
        baseDir: directory,
        binary,
        config: mayBeBare ? [...CONFIG, 'safe.bareRepository=all'] : CONFIG,
        timeout: { block: SILENT_MS },
        completion: { onClose: true, onExit: false },
        abort: AbortSignal.any([signal, enough.signal]),
        allowEnvironment: [...Object.keys(FIXED_VARIABLES), ...LOCATION_VARIABLES],
        unsafe: {
          allowUnsafeHooksPath: true,
          allowUnsafeFsMonitor: true,
          allowUnsafeProtocolOverride: true,
          allowUnsafePack: true,
          allowUnsafeCustomBinary: true,
        },
        input: () => Buffer.from(input, 'latin1'),
        errors: (error, { exitCode, stdErr }) => {
          const wasEnded = error instanceof GitPluginError;
          const stderr = Buffer.concat(stdErr).toString('utf8');
          if (!wasEnded && exitCode !== 0) failure = failureOf(exitCode, stderr);
          return error ?? failure;
        },
      });
      git.env(this.#environment(call));
      git.outputHandler((_command, stdout) => {
        stdout.on('data', (chunk: Buffer) => {
          if (!enough.signal.aborted && !take(chunk)) enough.abort();
        });
        // simple-git waits another 50 ms for a command that printed nothing, which is half the time of a worktree's
        // cleanup.
        stdout.once('end', () => stdout.emit('data', Buffer.alloc(0)));
      });
      await calls.run(started, () => git.raw([...args]));
      return enough.signal.aborted;
    } catch (error) {
      // The event of a failed start comes after the failure.
      if (!failure) await new Promise(setImmediate);
      const { startFailure } = started;
      // No caller may take it for a refusal of git, which would be stored as the answer of the request.
      if (!failure && startFailure)
        throw new Error(`cannot start git: ${startFailure.message}`, { cause: error });
      // The command was ended early, so the processes that it started are killed too.
      if (!failure) await killCarriers(`${CALL_VARIABLE}=${call}`);
      if (enough.signal.aborted && !signal.aborted) return true;
      await failure?.checkRoom(this.#writtenDirectories);
      if (failure) throw failure;
      const { message } = error as Error;
      const { reason } = stopping as { reason: unknown };
      // No caller may take the stop for a refusal of git, which would be stored as the answer of the request.
      if (reason instanceof AppError)
        throw new AppError(reason.code, reason.message, { cause: error });
      throw new GitFailure(-1, message.trim().split('\n')[0] ?? '', { cause: error });
    }
  }

  /** Returns the program that simple-git starts, which cannot have more than one argument of its own: git, or a script. */
  async #program(): Promise<'git' | ['/bin/sh', script: string]> {
    const { isConfined = false, gitDir, workTree, index } = this.location;
    if (!isConfined) return 'git';
    if (gitDir === undefined || workTree === undefined || index === undefined)
      throw new Error('git can be confined only with a git directory, a work tree and an index');
    const directories = [workTree, path.dirname(index)];
    const words = (await this.#deps.sandbox?.wordsForWriter(directories)) ?? [];
    if (words.length === 0) return 'git';
    const script = path.join(gitDir, 'confined-git');
    await fs.writeFile(script, `exec ${words.map(shellWord).join(' ')} git "$@"\n`);
    return ['/bin/sh', script];
  }

  get #writtenDirectories(): string[] {
    const { directory, gitDir, workTree, index, objects } = this.location;
    const indexDirectory = index === undefined ? undefined : path.dirname(index);
    return [directory, gitDir, workTree, indexDirectory, objects].filter(
      (one) => one !== undefined,
    );
  }

  #environment(call: string): Record<string, string> {
    const { gitDir, workTree, index, objects, mayConnect = false } = this.location;
    const passed = Object.entries(cleanEnvironment(process.env, new Set())).filter(
      ([name]) => !REMOVED.test(name),
    );
    const locations = [gitDir, workTree, index, objects].flatMap((value, at) =>
      value === undefined ? [] : [[LOCATION_VARIABLES[at] ?? '', value] as const],
    );
    return {
      ...Object.fromEntries(passed),
      ...FIXED_VARIABLES,
      ...(mayConnect ? { GIT_ALLOW_PROTOCOL: 'https:http:ssh:file' } : {}),
      ...Object.fromEntries(locations),
      [MARKER_VARIABLE]: this.#deps.marker,
      [CALL_VARIABLE]: call,
    };
  }
}

/** The names of a million files fit. */
const MAX_OUTPUT_BYTES = 128 * 1024 * 1024;

/** Returns the version of this machine's git, or the problem if it is missing or too old. */
export async function findGit(): Promise<{ version: string } | { problem: string }> {
  const git = new Git({ marker: '', signal: new AbortController().signal });
  const output = await git.text(['--version']).catch((error: unknown) => error as Error);
  if (output instanceof Error) return { problem: problemOf(output) };
  const [version = '', major, minor] = /(\d+)\.(\d+)[\d.]*/.exec(output) ?? [];
  const isOld =
    Number(major) < OLDEST[0] || (Number(major) === OLDEST[0] && Number(minor) < OLDEST[1]);
  const problem = `git ${version} is too old for worktrees: install ${OLDEST.join('.')} or newer`;
  return isOld ? { problem } : { version };
}

function problemOf({ message }: Error): string {
  if (message === NOT_FOUND || message.includes('ENOENT')) return NOT_FOUND;
  return `git does not work (${message}): correct the installation or the configuration of git`;
}

/** Returns the path of a name printed by git as bytes, because it need not be UTF-8. */
export function bytePath(files: string, name: string): Buffer {
  return Buffer.concat([Buffer.from(`${files}/`), Buffer.from(name, 'latin1')]);
}

/** Joins entries, each followed by the NUL that git expects. */
export function nulTerminated(entries: readonly string[]): string {
  return entries.map((entry) => `${entry}\0`).join('');
}

/** Quotes a path as git reads it from a line of its input. */
export function quotedPath(name: string): string {
  if (!/^"|[\n\r\\]/.test(name)) return name;
  const escaped = name.replaceAll(
    /["\\\n\r]/g,
    (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`,
  );
  return `"${escaped}"`;
}

/** Encodes a text with one character for each byte, as git reads and prints it here. */
export function toBytes(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** Decodes a text of git, which has one character for each byte. */
export function toText(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
