import { usageError } from '../../../api/errors.ts';
import { findProgram } from '../../../core/lib/find-program.ts';
import { launchd } from './launchd.ts';
import type { Manager, ManagerName } from './manager.ts';
import { systemd } from './systemd.ts';

const managers = { systemd, launchd } satisfies Record<
  ManagerName,
  (env: NodeJS.ProcessEnv) => Manager
>;

/** The service manager of this machine; null where it has none that cadre knows. */
export function managerOf(env: NodeJS.ProcessEnv): Manager | null {
  if (findProgram('launchctl', env.PATH) !== null) return launchd(env);
  return findProgram('systemctl', env.PATH) === null ? null : systemd(env);
}

/** The manager that a file is printed for: of that name, else of this machine, else systemd, which other machines have. */
export function managerToPrint(name: ManagerName | undefined, env: NodeJS.ProcessEnv): Manager {
  return name === undefined ? (managerOf(env) ?? systemd(env)) : managers[name](env);
}

/** The manager of that name, else the one of this machine. Throws `usage` where it has none. */
export function managerFor(name: ManagerName | undefined, env: NodeJS.ProcessEnv): Manager {
  const manager = name === undefined ? managerOf(env) : managers[name](env);
  if (manager !== null) return manager;
  throw usageError(
    'this machine has neither systemd nor launchd: start a background server with cadre serve --detach',
  );
}
