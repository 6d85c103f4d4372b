import path from 'node:path';
import type { Approval, ApprovalDetail } from '../../../../api/approvals.ts';
import type { Session } from '../../../../api/sessions.ts';
import type { AgentRequest } from '../../../../agents/provider.ts';
import { commandsIn } from './command-forms.ts';
import { type CommandNames, MAX_PATH, type RealPath } from './real-paths.ts';
import { readCommand, type Words } from './shell-words.ts';
import type { StarContext } from './command-pattern.ts';

export interface RequestedAction {
  /** Null if it is not known: rules for one provider do not fit then. */
  provider: Session['provider'] | null;
  tool: string | null;
  kind: Approval['kind'];
  /** The real directory of the session. */
  cwd: string;
  commands: readonly RequestedCommand[];
  /** The names of each file that would change: as it was named, and its real path. Empty names fit nothing. */
  files: readonly { names: readonly string[]; isCertain: boolean }[];
  /** Why the action is more than these commands or files; null if it is not. */
  rest: string | null;
}

export interface RequestedCommand {
  words: Words;
  /** The command and the commands that it runs, for rules that deny or ask. */
  forms: readonly (readonly string[])[];
  /** The real directory that it would run in; null if that is not certain. */
  cwd: string | null;
  /** All directories that it may run in; null among them: any. */
  cwds: readonly (string | null)[];
  leadsOut: StarContext['leadsOut'];
}

export interface Lookups {
  realPath: RealPath;
  names: CommandNames;
}

export async function requestedActionOf(
  request: AgentRequest,
  { provider, cwd }: Pick<Session, 'provider' | 'cwd'>,
  { realPath, names }: Lookups,
): Promise<RequestedAction> {
  const { kind, tool = null, details } = request;
  // An agent of acp shows what the model wrote: it may run the command in its own directory all the same.
  const isNamedByModel = provider === 'acp' && tool === null;
  const commands: RequestedCommand[] = [];
  for (const one of details) {
    if (one.type !== 'command') continue;
    const real = await realOrNull(one.cwd, cwd, realPath);
    const command = commandIn(one.command, real, { sessionCwd: cwd, names });
    commands.push(
      isNamedByModel && real !== cwd ? { ...command, cwd: null, cwds: [real, cwd] } : command,
    );
  }
  const diffs = details.flatMap((one) => (one.type === 'diff' ? [one] : []));
  const named = diffs.flatMap(filesOf);
  const looked = withinLimit(named);
  const files: RequestedAction['files'][number][] = [];
  for (const file of looked) files.push(await fileIn(file, cwd, realPath));
  const rest =
    looked.length < named.length
      ? 'the request has more files than rules can check'
      : (details.map((one) => moreIn(one, request, diffs)).find((why) => why !== null) ?? null);
  return { provider, tool, kind, cwd, commands, files, rest };
}

/** A command, as {@link RequestedAction} has it. */
export function commandIn(
  text: string,
  cwd: string | null,
  { sessionCwd, names }: { sessionCwd: string; names: CommandNames },
): RequestedCommand {
  const words = readCommand(text);
  return {
    words,
    forms: 'words' in words ? commandsIn(words.words) : [],
    cwd,
    cwds: [cwd],
    leadsOut: (name, outer = '') => names.leadsOut({ name, outer, cwd: cwd ?? sessionCwd }),
  };
}

/** A file by its name, as {@link RequestedAction} has it. */
export async function fileIn(
  file: string,
  cwd: string,
  realPath: RealPath,
): Promise<RequestedAction['files'][number]> {
  const absolute = path.resolve(cwd, file);
  const real = await realPath(absolute);
  // Agents resolve a relative name in a directory that is not always the session's, read `~`, and drop blanks. After a
  // symbolic link, the program that opens the file decides the meaning of `..`.
  const isExact = file.startsWith('/') && !/[\p{Cc}\p{Zl}\p{Zp}]|\s$/u.test(file);
  const isCertain =
    isExact && real !== null && (absolute === real || !file.split('/').includes('..'));
  return { names: [...new Set([absolute, real ?? absolute])], isCertain };
}

/** The names in the header of a diff, which may be two if a file is moved, and the name that the agent gave. */
function filesOf({ path: file, diff }: Extract<ApprovalDetail, { type: 'diff' }>): string[] {
  const header = diff.split(/(?:^|\n)@@/, 1)[0] ?? '';
  const named = [...header.matchAll(/^(?:---|\+\+\+) ([^\n]+)/gm)].map(([, name = '']) => name);
  return [...new Set([file, ...named])].filter((name) => name !== '/dev/null');
}

/** The most names of files and directories that are looked up for one request. */
const MAX_LOOKED_UP = 20_000;

function withinLimit(files: readonly string[]): readonly string[] {
  let room = MAX_LOOKED_UP;
  const end = files.findIndex((file) => {
    room -= file.length > MAX_PATH ? 1 : file.split('/').length;
    return room < 0;
  });
  return end < 0 ? files : files.slice(0, end);
}

/** Fields that change nothing about what a command does, by the type of their value. */
const BESIDE: Readonly<Record<string, 'string' | 'number' | 'boolean'>> = {
  description: 'string',
  is_background: 'boolean',
  reason: 'string',
  run_in_background: 'boolean',
  timeout: 'number',
  timeout_ms: 'number',
  title: 'string',
};

/** Returns why a detail is neither a command nor a file; null if it is one, or does not describe an action. */
function moreIn(
  detail: ApprovalDetail,
  { kind, tool }: AgentRequest,
  diffs: readonly { path: string }[],
): string | null {
  if (detail.type === 'omitted') return 'a part of the request is too large for rules to check';
  if (detail.type !== 'input') return null;
  const { name, value } = detail;
  if (Object.hasOwn(BESIDE, name) && typeof value === BESIDE[name]) return null;
  // Tools of cadre are named beside their arguments.
  if (name === 'tool' && value === tool) return null;
  // Agents name the file again beside the diff that they have made of their input.
  if (kind === 'file_change' && diffs.some((one) => one.path === value)) return null;
  return `the request has a field that rules cannot check: ${JSON.stringify(name)}`;
}

/** The real path of a directory; null where it is not certain which one is meant. */
async function realOrNull(
  directory: string | null,
  cwd: string,
  realPath: RealPath,
): Promise<string | null> {
  if (directory === null) return null;
  if (directory === cwd) return cwd;
  const { names, isCertain } = await fileIn(directory, cwd, realPath);
  return isCertain ? (names.at(-1) ?? null) : null;
}
