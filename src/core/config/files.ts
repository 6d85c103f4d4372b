import { configuredFile } from './paths.ts';
import type { Config } from './schema.ts';

/** The configuration with the files of servers, hooks and the fleet as absolute paths. `file`: the configuration file. */
export function withAbsoluteFiles(config: Config, file: string, env: NodeJS.ProcessEnv): Config {
  const at = (name: string | null) => (name === null ? null : configuredFile(name, file, env));
  const { servers, fleet, hooks } = config;
  const { credentials, person, tls } = fleet;
  return {
    ...config,
    servers: servers.map((one) => ({ ...one, token_file: at(one.token_file) })),
    hooks: hooks.map((one) => ({ ...one, secret_file: at(one.secret_file) })),
    fleet: {
      ...fleet,
      credentials: at(credentials),
      person: { ...person, credentials: at(person.credentials) },
      tls: { ca: at(tls.ca), cert: at(tls.cert), key: at(tls.key) },
    },
  };
}
