import { dataDirectory, findConfig, type FoundConfig } from '../../../core/config/load.ts';
import { type Config, configSchema } from '../../../core/config/schema.ts';
import type { GlobalOptions } from '../context.ts';
import type { CommandIo } from '../command-io.ts';

/** The result of a check. `detail` says what to do, unless the status is ok. */
export interface Finding {
  check: string;
  status: 'ok' | 'warn' | 'fail';
  detail: string;
}

export type CheckResult = Omit<Finding, 'check'>;

/** One check of `cadre doctor`. An error that it throws counts as a failure. */
export type Check = (input: CheckInput) => CheckResult | Promise<CheckResult>;

export interface CheckInput {
  io: CommandIo;
  options: GlobalOptions;
  found: FoundConfig;
  /** The defaults, where the configuration has problems. */
  config: Config;
  directory: string;
}

export function checkInput(io: CommandIo, options: GlobalOptions): CheckInput {
  const found = findConfig(options, io.env);
  const config = found.config ?? configSchema.parse({ data: { root_dir: options.dataDir } });
  return { io, options, found, config, directory: dataDirectory(config, io.env) };
}

const withStatus =
  (status: Finding['status']) =>
  (detail: string): CheckResult => ({ status, detail });
export const ok = withStatus('ok');
export const warn = withStatus('warn');
export const fail = withStatus('fail');
