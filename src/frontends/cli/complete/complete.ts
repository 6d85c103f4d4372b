import fs from 'node:fs';
import { defaultConfigFile } from '../../../core/config/paths.ts';
import { readAsset } from '../../../core/lib/self.ts';
import { type Asked, clientsOf, getFrom, serverNames } from './clients.ts';
import type { World } from '../world.ts';
import { type CursorContext, cursorContextOf } from './cursor-context.ts';
import { isRecord, type Offer, recordOffers } from './records.ts';
import { type CommandTree, type CompletionTable, tableAsset } from './table.ts';

type Surroundings = Pick<World, 'env' | 'stdout' | 'clock'>;

/** A server that is slower than this, in milliseconds, gives no completions. */
const PATIENCE_MS = 1000;

/**
 * `cadre __complete -- WORDS…`: prints what the last word may become, as lines `word<tab>about`, or `<file>` or
 * `<directory>` for names that the shell completes itself. Words before `__complete`, which an alias has put there,
 * count as well. A shell waits for this at each key, so nothing is loaded that is not needed, and errors are silent.
 */
export async function complete(argv: readonly string[], world: Surroundings): Promise<void> {
  const at = argv.indexOf('__complete');
  const words = [...argv.slice(0, at), ...argv.slice(at + 2)];
  const table = JSON.parse(new TextDecoder().decode(readAsset(tableAsset))) as CompletionTable;
  const offers = await offersFor(table, words, world).catch(() => []);
  world.stdout.write(
    offers.map(({ word, about }) => `${word}\t${about}`.trimEnd() + '\n').join(''),
  );
}

async function offersFor(
  { tree, values }: CompletionTable,
  words: readonly string[],
  world: Surroundings,
): Promise<readonly Offer[]> {
  const place = cursorContextOf(tree, words);
  const typed = words.at(-1) ?? '';
  if (place.flag === null && typed.startsWith('-')) return flagsOf(place);
  const commands = place.takesCommand
    ? (place.path.at(-1)?.commands ?? [])
    : helpedBy(place, words);
  const named = commands.map(({ name, description }) => ({ word: name, about: description }));
  return [...named, ...(await valuesFor(place, values, typed.replace(/^=/, ''), world))];
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
  { env, clock }: Surroundings,
): Promise<readonly Offer[]> {
  if (!value) return [];
  const placeholder = (flag === null ? undefined : byFlag[flag]) ?? value.name;
  const words = value.choices.length > 0 ? value.choices : known[placeholder];
  if (words) return words.map((word) => ({ word, about: '' }));
  if (/^(file|directory)$/.test(value.name)) return [{ word: `<${value.name}>`, about: '' }];
  if (flag === '--on' || flag === '--node') return serverNames(withoutConfig(env));
  if (!isRecord(placeholder)) return [];
  const options: Asked = {
    url: values.get('--url'),
    tokenFile: values.get('--token-file'),
    dataDir: values.get('--data-dir'),
    on: values.get('--on'),
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

/** What the values of flags are, whose placeholders say less. */
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
