import path from 'node:path';
import type { z } from 'zod';
import { AppError } from '../errors.ts';
import { issueInWords } from '../lib/explain.ts';
import { nearest } from '../lib/nearest.ts';
import { emptyTree, keys, namesIn, put } from './keys.ts';
import { defaultDataDirectory } from './paths.ts';
import { type Config, configSchema } from './schema.ts';
import { type ConfigFlags, fromEnvironment, fromFile, fromFlags, type Setting } from './sources.ts';

/** The configuration as it was found. */
export interface FoundConfig {
  /** Null where there are problems. */
  config: Config | null;
  /** All that is wrong, each with its place and what to write instead. */
  problems: string[];
  /** Where the value of a key comes from. */
  originOf: (name: string) => string;
}

/**
 * The configuration: flags over environment over file over defaults. Throws `invalid`, naming the place and
 * what to write instead; a file that was named has to be there.
 */
export function loadConfig(flags: ConfigFlags, env: NodeJS.ProcessEnv): Config {
  return usable(findConfig(flags, env));
}

/** What was found, where nothing is wrong with it. Throws `invalid`, as `loadConfig` does. */
export function usable({ config, problems }: FoundConfig): Config {
  if (config) return config;
  const [first, ...others] = problems;
  const more = others.length > 0 ? `; ${others.length} more, see cadre config check` : '';
  throw new AppError('invalid', `configuration: ${first}${more}`);
}

/** The configuration with all that is wrong with it, and where each value comes from. */
export function findConfig(flags: ConfigFlags, env: NodeJS.ProcessEnv): FoundConfig {
  const problems: string[] = [];
  const settings: Setting[] = [];
  // What is wrong with the environment is told of beside a file that cannot be read.
  try {
    settings.push(...fromFile(flags, env));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    problems.push(error.message);
  }
  settings.push(...fromEnvironment(env), ...fromFlags(flags));
  const tree = emptyTree();
  for (const { path, value } of settings) put(tree, path, value);
  const result = configSchema.safeParse(tree, { error: issueInWords });
  for (const issue of result.error?.issues ?? []) problems.push(...explain(issue, settings));
  return {
    config: problems.length === 0 ? (result.data ?? null) : null,
    problems,
    originOf: (name) =>
      settings.findLast(({ path }) => path.join('.') === name)?.origin.text ?? 'default',
  };
}

/** Where everything is kept: the configured directory, else `$XDG_DATA_HOME/cadre`. */
export function dataDirectory(config: Config, env: NodeJS.ProcessEnv): string {
  return path.resolve(config.data.root_dir ?? defaultDataDirectory(env));
}

function explain(issue: z.core.$ZodIssue, settings: readonly Setting[]): string[] {
  const at = (path: readonly PropertyKey[]) => {
    const place = settingOf(path, settings)?.origin.placeOf(path);
    return place ? ` (${place})` : '';
  };
  if (issue.code !== 'unrecognized_keys')
    return [`${issue.path.join('.')}: ${issue.message}${at(issue.path)}`];
  return issue.keys.map((name) => {
    const path = [...issue.path.map(String), name];
    return `unknown key "${path.join('.')}"; ${suggestion(path)}${at(path)}`;
  });
}

/** The setting of a value: the last one of the value itself, of something in it, or of what it is in. */
function settingOf(
  path: readonly PropertyKey[],
  settings: readonly Setting[],
): Setting | undefined {
  return settings.findLast((setting) =>
    setting.path.every((part, at) => at >= path.length || part === String(path[at])),
  );
}

/** What may have been meant: a name of that section, else one of that name elsewhere. */
function suggestion(path: readonly string[]): string {
  const unknown = path.at(-1) ?? '';
  const names = namesIn(path.slice(0, -1));
  const [beside] = nearest(names, unknown, (name) => name);
  const [elsewhere] = nearest(keys, unknown, (key) => key.path.at(-1) ?? '');
  const meant = beside ?? elsewhere?.name;
  return meant ? `did you mean "${meant}"?` : `known here are ${names.join(', ')}`;
}
