import type { Command } from 'commander';
import { type Layout, layoutOf } from './layout.ts';

/** The options that say in which form a command prints lists and records. */
export interface OutputOptions {
  output?: 'name' | 'wide' | 'json';
  quiet?: true;
  padded?: true;
}

/** The option of the commands that read the configuration without a server. */
export const configOption =
  '--config <file>  Configuration file to read (or set the environment variable CADRE_CONFIG)';

const quietOption = '-q, --quiet  Print only ids, one per line (same as --output name)';

/** The options of a command that prints a list. In a pipe its table has tabs between the cells, and no heading. */
export const listOptions = [
  {
    line: '-o, --output <form>  Output format: only ids (name), a table without shortened values (wide), or JSON',
    choices: ['name', 'wide', 'json'],
  },
  quietOption,
  '--padded  Print a header and aligned columns even if the output is piped (a pipe gets tab-separated rows by default)',
];

/** The options of a command that prints one record. */
export const recordOptions = [
  {
    line: '-o, --output <form>  Output format: only the id (name), or JSON',
    choices: ['name', 'json'],
  },
  quietOption,
];

export function layoutFor(
  { stdout, env }: { stdout: Parameters<typeof layoutOf>[0]; env: NodeJS.ProcessEnv },
  command: Command,
): Layout {
  const layout = layoutOf(stdout, env);
  const { output, padded } = command.opts<OutputOptions>();
  const isList = command.options.some(({ long }) => long === '--padded');
  return {
    ...layout,
    ...(output === 'wide' ? { columns: Number.POSITIVE_INFINITY, isWide: true } : {}),
    hasTabs: isList && !layout.isTerminal && padded !== true,
  };
}

export function isQuiet({ output, quiet }: OutputOptions): boolean {
  return quiet === true || output === 'name';
}

/** The fields that have the id of a record, the most specific first. */
const idFields = [
  'id',
  'item_id',
  'process_id',
  'turn_id',
  'agent_id',
  'name',
  'key',
  'sha256',
  'node',
  'session_id',
] as const;

/** The ids in a document: of a record, of each record in a list, or of each in the only list of a record without an id. */
export function idsIn(document: unknown): string[] {
  if (Array.isArray(document)) return document.flatMap((one) => idOf(one) ?? []);
  const id = idOf(document);
  if (id !== null) return [id];
  const lists = Object.values(document ?? {}).filter((one) => Array.isArray(one));
  return lists.length === 1 ? idsIn(lists[0]) : [];
}

function idOf(record: unknown): string | null {
  const fields = (record ?? {}) as Record<string, unknown>;
  const id = idFields.map((name) => fields[name]).find((one) => typeof one === 'string');
  return typeof id === 'string' ? id : null;
}
