import fs from 'node:fs';
import path from 'node:path';
import type { Approval, ApprovalDetail } from '../api/approvals.ts';
import type { Session } from '../api/sessions.ts';
import type { AgentRequest } from '../providers/provider.ts';
import { readCommand, type Words } from './shell-words.ts';

/** What an agent wishes to do, as far as rules can judge it. */
export interface Wish {
  /** Null if it is not known: rules for one provider do not fit then. */
  provider: Session['provider'] | null;
  tool: string | null;
  kind: Approval['kind'];
  /** The real directory of the session. */
  cwd: string;
  commands: readonly { words: Words; cwd: string | null }[];
  /** The names of each file that would change: as it was named, and its real path. Empty names fit nothing. */
  files: readonly { names: readonly string[]; isCertain: boolean }[];
  /** Why the wish is more than these commands or files; null if it is not. */
  rest: string | null;
}

/** Reads a request of an agent of the session. */
export function wishOf(
  request: AgentRequest,
  { provider, cwd }: Pick<Session, 'provider' | 'cwd'>,
): Wish {
  const { kind, tool = null, details } = request;
  const commands = details.flatMap((one) =>
    one.type === 'command'
      ? [{ words: readCommand(one.command), cwd: realOrNull(one.cwd, cwd) }]
      : [],
  );
  const diffs = details.flatMap((one) => (one.type === 'diff' ? [one] : []));
  const files = diffs.flatMap((one) => filesOf(one).map((file) => fileIn(file, cwd)));
  const rest = details.map((one) => moreIn(one, kind, diffs)).find((why) => why !== null) ?? null;
  return { provider, tool, kind, cwd, commands, files, rest };
}

/** A file by its name, as {@link Wish} has it. */
export function fileIn(file: string, cwd: string): Wish['files'][number] {
  const absolute = path.resolve(cwd, file);
  const real = realPathOf(absolute);
  // What `..` means after a symbolic link is up to the program that opens the file.
  const isCertain = real !== null && (absolute === real || !file.split('/').includes('..'));
  return { names: [absolute, ...(real === null ? [] : [real])], isCertain };
}

/** The names in the header of a diff, which may be two if a file is moved, and the name that the agent gave. */
function filesOf({ path: file, diff }: Extract<ApprovalDetail, { type: 'diff' }>): string[] {
  const header = diff.split(/^@@/m, 1)[0] ?? '';
  const named = [...header.matchAll(/^(?:---|\+\+\+) ([^\t\n]+)/gm)].map(([, name = '']) => name);
  return [...new Set([file, ...named])].filter((name) => name !== '/dev/null');
}

/** Fields that change nothing about what a command does. */
const BESIDE = new Set([
  'description',
  'reason',
  'run_in_background',
  'timeout',
  'timeout_ms',
  'title',
  'tool',
  'wait_ms',
]);

/** Why a detail is no command and no file; null where it is one, or says nothing of what would be done. */
function moreIn(
  detail: ApprovalDetail,
  kind: Approval['kind'],
  diffs: readonly { path: string }[],
): string | null {
  if (detail.type === 'omitted') return 'a part of it is too large to be judged';
  if (detail.type !== 'input' || BESIDE.has(detail.name)) return null;
  // Agents name the file again beside the diff that they have made of their input.
  if (kind === 'file_change' && diffs.some((one) => one.path === detail.value)) return null;
  return `it says more than rules can judge: ${JSON.stringify(detail.name)}`;
}

/** The real path of a directory; null where it is not certain which one is meant. */
function realOrNull(directory: string | null, cwd: string): string | null {
  if (directory === null) return null;
  const { names, isCertain } = fileIn(directory, cwd);
  return isCertain ? (names.at(-1) ?? null) : null;
}

/**
 * The path with all symbolic links resolved; what does not exist keeps its name. Null if a link leads to nothing: what is
 * written there comes into being elsewhere.
 */
function realPathOf(absolute: string): string | null {
  const missing: string[] = [];
  for (let existing = absolute; ; existing = path.dirname(existing)) {
    try {
      return path.join(fs.realpathSync.native(existing), ...missing);
    } catch {
      if (existing === '/' || isLink(existing)) return null;
      missing.unshift(path.basename(existing));
    }
  }
}

function isLink(file: string): boolean {
  try {
    return fs.lstatSync(file).isSymbolicLink();
  } catch {
    return false;
  }
}
