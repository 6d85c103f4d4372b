import { findRegistration } from '../../config/registration.ts';
import { healthAt } from '../answering.ts';
import type { Manager, ServiceState } from './manager.ts';
import { sealIn } from './install.ts';

/** Who started a server: a service manager, `cadre serve --detach` or the screen, or a person who sees its log. */
export type StartedBy = 'systemd' | 'launchd' | 'detached' | 'foreground';

/** The server that runs on a data directory, and the service that is installed. */
export interface ServiceStatus {
  data_dir: string;
  server: {
    started_by: StartedBy;
    url: string;
    pid: number;
    version: string;
    /** What it says of itself; null where it does not answer. */
    health: string | null;
    /** The file of its log; null where the service manager or the terminal has it. */
    log: string | null;
  } | null;
  service:
    | ({
        manager: string;
        file: string;
        /** Whether somebody has changed the file since it was written. */
        edited: boolean;
        remark: string | null;
      } & ServiceState)
    | null;
}

/** Looks what runs and what is installed. */
export async function statusOf(
  directory: string,
  manager: Manager | null,
  signal: AbortSignal,
): Promise<ServiceStatus> {
  const state = manager === null ? null : await manager.state();
  const found = findRegistration(directory);
  const server = found?.runs ? found.server : null;
  return {
    data_dir: directory,
    server: server && {
      started_by: startedBy(server, manager, state),
      url: server.url,
      pid: server.pid,
      version: server.version,
      health: await healthAt(server.url, signal),
      log: server.log,
    },
    service:
      manager && state
        ? {
            manager: manager.name,
            file: manager.file,
            edited: sealIn(manager.file) !== 'ours',
            ...state,
            remark: manager.remark(),
          }
        : null,
  };
}

function startedBy(
  { pid, log }: { pid: number; log: string | null },
  manager: Manager | null,
  state: ServiceState | null,
): StartedBy {
  if (manager && state?.pid === pid) return manager.name;
  return log === null ? 'foreground' : 'detached';
}
