import { dataDirectory, findConfig, type FoundConfig } from '../../../core/config/load.ts';
import { type Config, configSchema } from '../../../core/config/schema.ts';
import type { GlobalOptions } from '../context.ts';
import type { World } from '../world.ts';

/** The result of a check. `detail` says what to do, unless the status is ok. */
export interface Finding {
  check: string;
  status: 'ok' | 'warn' | 'fail';
  detail: string;
}

export type Verdict = Omit<Finding, 'check'>;

/** One check of `cadre doctor`. An error that it throws counts as a failure. */
export type Check = (input: CheckInput) => Verdict | Promise<Verdict>;

export interface CheckInput {
  world: World;
  options: GlobalOptions;
  found: FoundConfig;
  /** The defaults, where the configuration has problems. */
  config: Config;
  directory: string;
}

export function checkInput(world: World, options: GlobalOptions): CheckInput {
  const found = findConfig(options, world.env);
  const config = found.config ?? configSchema.parse({ data: { root_dir: options.dataDir } });
  return { world, options, found, config, directory: dataDirectory(config, world.env) };
}

const verdict =
  (status: Finding['status']) =>
  (detail: string): Verdict => ({ status, detail });
export const ok = verdict('ok');
export const warn = verdict('warn');
export const fail = verdict('fail');
