import { signal } from '../../../core/children/identity.ts';
import { findRegistration, serverRuns } from '../../../core/config/registration.ts';
import { AppError } from '../../../api/errors.ts';
import type { World } from '../world.ts';
import type { Manager } from './manager.ts';

const LOOK_MS = 50;
/** A stop waits for turns, and may have to end what does not want to. */
const STOP_MS = 2 * 60_000;

/**
 * Stops the server of a directory in order, however it was started; resolves with its pid once it has ended, and with null
 * where none runs. Throws `timeout` after two minutes, with the server still stopping, and `usage` where another user
 * has started it.
 */
export async function stopServer(
  world: World,
  directory: string,
  manager: Manager | null,
): Promise<number | null> {
  const found = findRegistration(directory);
  if (!found?.runs) return null;
  const { pid } = found.server;
  // What a manager has started, it would take for failed and start again.
  if (manager && (await manager.state())?.pid === pid) await manager.stop();
  else if (signal(pid, 'SIGTERM') === 'refused')
    throw new AppError(
      'usage',
      `the server (pid ${pid}) runs as another user: stop it as that user`,
    );
  const { clock } = world;
  const deadline = clock.monotonic() + STOP_MS;
  // Its registration goes a moment before it does.
  while (serverRuns(found.server)) {
    if (clock.monotonic() > deadline)
      throw new AppError(
        'timeout',
        `the server (pid ${pid}) is still stopping: see cadre service logs`,
      );
    await clock.sleep(LOOK_MS, world.interrupted());
  }
  return pid;
}
