import { localCommand } from '../command.ts';
import { serverDirectory } from '../context.ts';
import { managerOf } from '../service/choose-manager.ts';
import type { LocalContext, CommandIo } from '../command-io.ts';
import { signal } from '../../../core/children/identity.ts';
import { counted } from '../../../core/lib/counted.ts';
import {
  allowStart,
  findRegistration,
  forbidStart,
  type Registration,
  serverRuns,
} from '../../../core/config/registration.ts';
import { AppError, usageError } from '../../../api/errors.ts';
import type { Manager } from '../service/manager.ts';

export const stopCommand = localCommand({
  name: 'stop',
  description: 'Stop the server',
  parameters: [
    '--now  Stop at once: interrupt running turns without waiting for their end (if no server runs: end the agents that continue without a server)',
  ],
  run: stop,
});

export async function stop(
  { io, global, show }: LocalContext,
  own: { now?: boolean },
): Promise<void> {
  const directory = await serverDirectory(global, io.env);
  const manager = managerOf(io.env);
  const pid = await stopServer(io, directory, { manager, isNow: own.now === true });
  if (pid === null && own.now) await endSurvivingAgents(io, directory);
  show({ stopped: pid !== null, pid }, () =>
    pid === null ? `No server is running on ${directory}\n` : `Stopped the server (pid ${pid})\n`,
  );
}

/** Ends the agents that an earlier server has left for the next one. */
async function endSurvivingAgents({ clock, stderr }: CommandIo, directory: string): Promise<void> {
  const { Shim } = await import('../../../core/children/shim/shim.ts');
  const log = { warn: () => undefined };
  const shim = new Shim({ directory, graceMs: 0, clock, log });
  if (!(await shim.find())) return;
  const count = shim.held.length;
  await shim.end();
  stderr.write(`cadre: stopped ${counted(count, 'agent')} that waited for another server\n`);
}

const LOOK_MS = 50;
/** A stop waits for turns, and may have to end what does not want to. */
const STOP_MS = 2 * 60_000;

/** Changes the note for commands, if the file system allows it: a server is stopped all the same. */
function noted(change: () => void): void {
  try {
    change();
  } catch {
    // Without the note, the next command may start a server.
  }
}

/**
 * Stops the server of a directory in order, however it was started, and keeps commands from starting another one. With
 * `isNow` it interrupts turns without waiting for their end. Resolves with the pid once the server has exited, and with
 * null if none runs. Throws `timeout` after two minutes, with the server still stopping, and `usage` if another user has
 * started it.
 */
async function stopServer(
  io: CommandIo,
  directory: string,
  { manager, isNow }: { manager: Manager | null; isNow: boolean },
): Promise<number | null> {
  const found = findRegistration(directory);
  if (!found?.runs) return null;
  const { pid } = found.server;
  // Written before the signal, because a command that finds no server must find this file.
  noted(() => forbidStart(directory));
  // A manager restarts a server that exits without the manager.
  const isManaged = manager !== null && (await manager.state())?.pid === pid;
  const stopping = isManaged ? manager.stop() : null;
  if (!isManaged && signal(pid, 'SIGTERM') === 'refused') {
    noted(() => allowStart(directory));
    throw otherUser(pid);
  }
  // The manager may fail before the last line waits for it.
  stopping?.catch(() => undefined);
  if (!isNow) await stopping;
  // At the second signal the server waits for nothing; signals that arrive together count as one.
  await untilEnded(io, found.server, () => isNow && signal(pid, 'SIGTERM'));
  await stopping;
  return pid;
}

/**
 * Ends the server of a directory, if one runs, and leaves its running turns to the next server. Throws as `stopServer`
 * does, and `usage` if a service manager would start the server again.
 */
export async function endForNext(io: CommandIo, directory: string): Promise<void> {
  const found = findRegistration(directory);
  if (!found?.runs) return;
  const { pid } = found.server;
  const manager = managerOf(io.env);
  if (manager !== null && (await manager.state())?.pid === pid)
    throw usageError(
      `the server (pid ${pid}) runs as a service, which would start it again: run ${manager.restartCommand}`,
    );
  if (signal(pid, 'SIGUSR2') === 'refused') throw otherUser(pid);
  await untilEnded(io, found.server);
}

function otherUser(pid: number): AppError {
  return usageError(`the server (pid ${pid}) runs as another user: stop the server as that user`);
}

/** Resolves once a server has exited. Its registration goes a moment before it does. */
async function untilEnded(
  io: CommandIo,
  server: Registration,
  onLook: () => void = () => undefined,
): Promise<void> {
  const { clock } = io;
  const deadline = clock.monotonic() + STOP_MS;
  while (serverRuns(server)) {
    if (clock.monotonic() > deadline)
      throw new AppError(
        'timeout',
        `the server (pid ${server.pid}) is still stopping: see cadre service logs`,
      );
    await clock.sleep(LOOK_MS, io.interrupted());
    onLook();
  }
}
