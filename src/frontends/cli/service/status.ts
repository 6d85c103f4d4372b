import { findRegistration } from '../../../core/config/registration.ts';
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
    /** The health that the server reports; null if the server does not answer. */
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

/** Finds out whether a server runs and whether a service is installed. */
export async function statusOf(
  directory: string,
  manager: Manager | null,
  signal: AbortSignal,
): Promise<ServiceStatus> {
  const { server, state } = await whatRuns(directory, manager);
  const service = manager &&
    state && {
      manager: manager.name,
      file: manager.file,
      edited: sealIn(manager.file) !== 'ours',
      ...state,
      remark: manager.remark(),
    };
  return {
    data_dir: directory,
    server: server && { ...server, health: await healthAt(server.url, signal) },
    service,
  };
}

/** The server of a directory, and what the manager knows of the service, without asking the server. */
export async function whatRuns(
  directory: string,
  manager: Manager | null,
): Promise<{
  server: Omit<NonNullable<ServiceStatus['server']>, 'health'> | null;
  state: ServiceState | null;
}> {
  const state = manager === null ? null : await manager.state();
  const found = findRegistration(directory);
  if (!found?.runs) return { server: null, state };
  const { url, pid, version, log } = found.server;
  const started_by = startedBy(found.server, manager, state);
  return { server: { started_by, url, pid, version, log }, state };
}

function startedBy(
  { pid, log }: { pid: number; log: string | null },
  manager: Manager | null,
  state: ServiceState | null,
): StartedBy {
  if (manager && state?.pid === pid) return manager.name;
  return log === null ? 'foreground' : 'detached';
}
