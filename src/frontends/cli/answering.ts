import { endpoints } from '../../api/index.ts';
import { HttpClient } from '../../client/client.ts';
import { findRegistration, type Found } from '../../core/config/registration.ts';
import { AppError } from '../../api/errors.ts';
import type { Clock } from '../../core/lib/clock.ts';

/** Whether a server is there is looked at this often. */
const LOOK_MS = 50;

/** Returns the health that the server at an address reports; null if no server answers. */
export async function healthAt(url: string, signal: AbortSignal): Promise<string | null> {
  const client = new HttpClient({ url, token: '' });
  try {
    return (await client.call(endpoints.getPublicHealth, {}, signal)).status;
  } catch (error) {
    if (error instanceof AppError && !signal.aborted) return null;
    throw error;
  } finally {
    client.close();
  }
}

/**
 * The server of a directory once it answers; null where none does within `limitMs`. `look` is called each time before it is
 * asked, and throws where there is nothing to wait for.
 */
export async function serverOnceItAnswers(
  directory: string,
  {
    clock,
    signal,
    limitMs,
    look = () => undefined,
  }: { clock: Clock; signal: AbortSignal; limitMs: number; look?: () => void },
): Promise<Found['server'] | null> {
  const deadline = clock.monotonic() + limitMs;
  for (;;) {
    const found = findRegistration(directory);
    if (found?.runs && (await healthAt(found.server.url, signal)) !== null) return found.server;
    look();
    if (clock.monotonic() > deadline) return null;
    await clock.sleep(LOOK_MS, signal);
  }
}
