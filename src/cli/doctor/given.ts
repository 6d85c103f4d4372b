import { dataDirectory, findConfig, type FoundConfig } from '../../config/load.ts';
import { type Config, configSchema } from '../../config/schema.ts';
import type { GlobalOptions } from '../context.ts';
import type { World } from '../world.ts';

/** What a check found; `detail` says what to do unless it is ok. */
export interface Finding {
  check: string;
  status: 'ok' | 'warn' | 'fail';
  detail: string;
}

export type Verdict = Omit<Finding, 'check'>;

/** One thing that is looked at, by itself: what it finds, or what it throws, is what `cadre doctor` says of it. */
export type Check = (given: Given) => Verdict | Promise<Verdict>;

/** What checks go by. */
export interface Given {
  world: World;
  options: GlobalOptions;
  found: FoundConfig;
  /** The defaults where the configuration cannot be used. */
  config: Config;
  directory: string;
}

export function givenBy(world: World, options: GlobalOptions): Given {
  const found = findConfig(options, world.env);
  const config = found.config ?? configSchema.parse({ data: { root_dir: options.dataDir } });
  return { world, options, found, config, directory: dataDirectory(config, world.env) };
}

export function ok(detail: string): Verdict {
  return { status: 'ok', detail };
}

export function warn(detail: string): Verdict {
  return { status: 'warn', detail };
}

export function fail(detail: string): Verdict {
  return { status: 'fail', detail };
}
