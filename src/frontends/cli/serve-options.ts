import { configOption } from './output-options.ts';
import path from 'node:path';
import { keys } from '../../core/config/keys.ts';
import { choicesOf } from './choices.ts';
import type { GlobalOptions } from './context.ts';
import { milliseconds } from './option-values.ts';
import { invalidError } from '../../api/errors.ts';
import type { CommandIo } from './command-io.ts';

/** The options of `cadre serve`, and of the commands that start it later. */
export interface ServeOptions extends GlobalOptions {
  bind?: string;
  port?: string;
  logLevel?: string;
  demo?: boolean;
  allowRemote?: boolean;
  freePort?: boolean;
  /** In milliseconds. */
  stopAfterIdle?: number;
}

/** The options that say how a server runs. */
export const serveOptions = [
  configOption,
  '--bind <host:port>  Address and port on which the server listens',
  '--port <port>  Port on 127.0.0.1 on which the server listens (0: any free port)',
  {
    line: '--log-level <level>  Minimum level of the log messages that the server writes',
    choices: choicesOf(keys.find(({ name }) => name === 'log.level')?.schema),
  },
  '--free-port  Use any free port if the port is already in use',
  {
    line: '--stop-after-idle <duration>  Stop the server after this time without work and without clients, such as 1h (default: never)',
    parse: milliseconds,
  },
  '--allow-remote  Allow --bind to use an address that other machines can reach',
  '--demo  Use the built-in demo agent, which needs no account and no model (as the provider acp)',
];

/** The words that start such a server from any directory. */
export function serveWords(options: ServeOptions, cwd: string): string[] {
  const { dataDir, config, bind, port, logLevel, allowRemote, demo, freePort, stopAfterIdle } =
    options;
  const value = (flag: string, text: string | undefined) =>
    text === undefined ? [] : [flag, text];
  const file = (text: string | undefined) => text && path.resolve(cwd, text);
  return [
    ...value('--data-dir', file(dataDir)),
    'serve',
    ...value('--config', file(config)),
    ...value('--bind', bind),
    ...value('--port', port),
    ...value('--log-level', logLevel),
    ...value('--stop-after-idle', stopAfterIdle === undefined ? undefined : `${stopAfterIdle}ms`),
    ...(freePort ? ['--free-port'] : []),
    ...(allowRemote ? ['--allow-remote'] : []),
    ...(demo ? ['--demo'] : []),
  ];
}

/** Throws `invalid` for an address beyond loopback without --allow-remote, because the server speaks plain HTTP. */
export function refuseRemote(address: string, isAllowed: boolean, { stderr }: CommandIo): void {
  if (/^(127\.\d+\.\d+\.\d+|localhost|\[::1\]):\d+$/.test(address)) return;
  if (!isAllowed) {
    throw invalidError(
      `other machines can reach the address ${address}: pass --allow-remote to allow access from other machines`,
    );
  }
  stderr.write(
    `cadre: other machines can reach ${address}, and traffic is plain HTTP: put a TLS proxy in front of the server\n`,
  );
}
