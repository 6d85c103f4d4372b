import fs from 'node:fs';
import path from 'node:path';
import { defaultConfigFile, expandHome } from '../../../core/config/paths.ts';
import { readAsset } from '../../../core/lib/self.ts';
import type { CommandIo } from '../command-io.ts';
import { isRecord, type Offer, recordOffers, type Get } from './records.ts';
import { type CommandTree, type CompletionTable, tableAsset, type CommandValue } from './table.ts';
import type { HttpClient } from '../../../client/client.ts';
import { AppError, notFoundError } from '../../../api/errors.ts';
import { askedServers, clientConfiguration, connectOne, type GlobalOptions } from '../context.ts';
import { isFleetAddress } from '../../../bundles/choose.ts';

type Surroundings = Pick<CommandIo, 'env' | 'stdout' | 'clock' | 'cwd'>;

/** A server that is slower than this, in milliseconds, gives no completions. */
const PATIENCE_MS = 1000;

/**
 * `cadre __complete -- WORDS…`: prints what the last word may become, as lines `word<tab>about`, or `<file>` or
 * `<directory>` for names that the shell completes itself. Words before `__complete`, which an alias has put there,
 * count as well. A shell waits for this at each key, so nothing is loaded that is not needed, and errors are silent.
 */
export async function complete(argv: readonly string[], io: Surroundings): Promise<void> {
  const at = argv.indexOf('__complete');
  const words = [...argv.slice(0, at), ...argv.slice(at + 2)];
  const table = JSON.parse(new TextDecoder().decode(readAsset(tableAsset))) as CompletionTable;
  const offers = await offersFor(table, words, io).catch(() => []);
  io.stdout.write(offers.map(({ word, about }) => `${word}\t${about}`.trimEnd() + '\n').join(''));
}

async function offersFor(
  { tree, values }: CompletionTable,
  words: readonly string[],
  io: Surroundings,
): Promise<readonly Offer[]> {
  const context = cursorContextOf(tree, words);
  const typed = words.at(-1) ?? '';
  if (context.flag === null && typed.startsWith('-')) return flagsOf(context);
  const commands = context.takesCommand
    ? (context.path.at(-1)?.commands ?? [])
    : helpedBy(context, words);
  const named = commands.map(({ name, description }) => ({ word: name, about: description }));
  return [...named, ...(await valuesFor(context, values, typed.replace(/^=/, ''), io))];
}

/** The commands that may follow `help` and the words behind it. */
function helpedBy({ path, flag }: CursorContext, words: readonly string[]): readonly CommandTree[] {
  const [above, help] = path.slice(-2);
  if (help?.name !== 'help' || flag !== null) return [];
  let at = above;
  for (const word of words.slice(words.lastIndexOf('help') + 1, -1))
    at = at?.commands.find(({ name, aliases }) => name === word || aliases.includes(word));
  return at?.commands.filter(({ name }) => name !== 'help') ?? [];
}

function flagsOf({ path }: CursorContext): Offer[] {
  return path
    .toReversed()
    .flatMap(({ options }) => options)
    .flatMap(({ flags, description }) => flags.map((word) => ({ word, about: description })));
}

async function valuesFor(
  { value, flag, values }: CursorContext,
  known: CompletionTable['values'],
  typed: string,
  { env, clock, cwd }: Surroundings,
): Promise<readonly Offer[]> {
  if (!value) return [];
  const placeholder = (flag === null ? undefined : byFlag[flag]) ?? value.name;
  const words = value.choices.length > 0 ? value.choices : known[placeholder];
  if (words) return words.map((word) => ({ word, about: '' }));
  if (/^(file|directory)$/.test(value.name)) return [{ word: `<${value.name}>`, about: '' }];
  if (flag === '--on' || flag === '--node') return serverNames(withoutConfig(env));
  if (placeholder === 'template')
    return templateNames(path.resolve(cwd(), values.get('--repo') ?? values.get('--cwd') ?? ''));
  if (!isRecord(placeholder)) return [];
  const only = (flag: string) => {
    const found = values.get(flag);
    return found === undefined ? undefined : [found];
  };
  // The shell has not replaced ~ in the words that it completes.
  const file = (flag: string) => only(flag)?.map((one) => expandHome(one, env));
  const options = {
    url: only('--url'),
    tokenFile: file('--token-file'),
    dataDir: file('--data-dir')?.[0],
    on: only('--on'),
  };
  const clients = await clientsOf(options, withoutConfig(env));
  try {
    const late = new AbortController();
    using _limit = clock.after(PATIENCE_MS, () => late.abort());
    return await recordOffers(placeholder, typed, values, getFrom(clients, late.signal));
  } finally {
    for (const client of clients) client.close();
  }
}

/** The kinds of values of flags with a less specific placeholder. */
const byFlag: Readonly<Record<string, string>> = {
  '--agent-mode': 'agent-mode',
  '--worktree': 'worktree',
};

/** The environment, without the configuration where that cannot say where the server is: to read it takes too long. */
function withoutConfig(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  try {
    const text = fs.readFileSync(defaultConfigFile(env), 'utf8');
    return /root_dir|token|servers/.test(text) ? env : { ...env, CADRE_CONFIG: '/dev/null/none' };
  } catch {
    return env;
  }
}

async function clientsOf(options: GlobalOptions, env: NodeJS.ProcessEnv): Promise<HttpClient[]> {
  const asked = await askedServers(options, env);
  // A fleet would take too long to answer.
  if (asked.kind === 'fleet') return [];
  if (asked.kind !== 'named') return [await connectOne(options, env)];
  const { addressesFor } = await import('../named-servers.ts');
  const addresses = await addressesFor(asked.servers, options, env);
  return addresses.flatMap(({ client }) => (client instanceof AppError ? [] : [client]));
}

/** Reads a path: lists of records from all servers, and anything else from the first that has it. */
function getFrom(clients: readonly HttpClient[], signal: AbortSignal): Get {
  return async (path) => {
    const answers = await Promise.allSettled(clients.map((client) => client.get(path, signal)));
    const found = answers.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    if (found.length === 0) throw notFoundError(`no server answered the request for ${path}`);
    return LISTS.test(path) ? found.flat() : found[0];
  };
}

const LISTS = /^\/v1\/(sessions|processes|approvals|worktrees|teams|queue|races|budgets)\?/;

/** The templates in the checkout of a directory: a server would have to read the commit, which takes too long. */
function templateNames(directory: string): Offer[] {
  const files = path.join(directory, '.cadre', 'templates');
  const above = path.dirname(directory);
  if (!fs.existsSync(files)) return above === directory ? [] : templateNames(above);
  return fs
    .readdirSync(files)
    .filter((file) => /^[\w-]+\.toml$/.test(file))
    .map((file) => ({ word: path.basename(file, '.toml'), about: '' }));
}

async function serverNames(env: NodeJS.ProcessEnv): Promise<Offer[]> {
  const servers = (await clientConfiguration({}, env))?.servers ?? [];
  return servers.map(({ name, url }) => ({ word: name, about: url ?? 'this machine' }));
}

/** Where on the command line the last word is. */
interface CursorContext {
  /** The commands from the root to the one that the words name. */
  path: readonly CommandTree[];
  /** The value that the last word is part of; null for the name of a command or flag. */
  value: CommandValue | null;
  /** The flag whose value the last word is; null for an argument. */
  flag: string | null;
  /** Whether a name of a command may stand here. */
  takesCommand: boolean;
  /** The values that are on the line already, by their placeholder (arguments) or flag (options). */
  values: ReadonlyMap<string, string>;
}

/** Reads the words before the last one, of which the first is the first argument of the program. */
export function cursorContextOf(tree: CommandTree, words: readonly string[]): CursorContext {
  const path = [tree];
  const values = new Map<string, string>();
  let count = 0;
  let waiting: { flag: string; value: CommandValue } | null = null;
  for (const word of words.slice(0, -1)) {
    // bash cuts --flag=value in three.
    if (word === '=') continue;
    const here = path.at(-1) ?? tree;
    const next = here.commands.find(({ name, aliases }) => name === word || aliases.includes(word));
    if (waiting && !isOther(waiting.flag, word)) {
      values.set(waiting.flag, word);
      waiting = null;
      continue;
    }
    waiting = null;
    if (word.startsWith('-')) waiting = valueOf(path, word, values);
    else if (count === 0 && next) path.push(next);
    else {
      const operand = operandAt(here, count);
      if (operand) values.set(operand.name, word);
      count += 1;
    }
  }
  if (waiting && isOther(waiting.flag, words.at(-1) ?? '')) waiting = null;
  const here = path.at(-1) ?? tree;
  return {
    path,
    value: waiting?.value ?? operandAt(here, count),
    flag: waiting?.flag ?? null,
    takesCommand: waiting === null && count === 0 && here.commands.length > 0,
    values,
  };
}

/** Whether the word behind a flag is not its value, but stands for itself: an address is optional behind `--fleet`. */
function isOther(flag: string, word: string): boolean {
  return flag === '--fleet' && !isFleetAddress(word);
}

/** The flag that a word names and the value that it still wants. `--flag=value` has its value. */
function valueOf(
  path: readonly CommandTree[],
  word: string,
  values: Map<string, string>,
): { flag: string; value: CommandValue } | null {
  const [name = '', ...text] = word.split('=');
  const options = path.flatMap((command) => command.options);
  const option = options.find(({ flags }) => flags.includes(name));
  if (!option?.value) return null;
  const flag = option.flags.at(-1) ?? name;
  if (text.length === 0) return { flag, value: option.value };
  values.set(flag, text.join('='));
  return null;
}

/** The argument at a position; the last one if it takes any number of words. */
function operandAt({ operands }: CommandTree, position: number): CommandValue | null {
  const last = operands.at(-1);
  return operands[position] ?? (last?.variadic ? last : null);
}
