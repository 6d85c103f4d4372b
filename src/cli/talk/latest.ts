import path from 'node:path';
import type { Session } from '../../api/sessions.ts';
import type { Client } from '../../client/client.ts';
import { AppError } from '../../errors.ts';
import { sessions } from '../nouns.ts';

/** The session of a directory in which something happened last, of those that take a turn. Throws `not_found`. */
export async function latestHere(client: Client, directory: string): Promise<Session> {
  const here = path.resolve(directory);
  let latest: Session | undefined;
  for await (const page of sessions.all(client))
    for (const one of page) {
      if (one.cwd !== here || one.status === 'closed' || one.status === 'failed') continue;
      if (!latest || one.last_activity_at > latest.last_activity_at) latest = one;
    }
  if (latest) return latest;
  throw new AppError(
    'not_found',
    `no session works in ${here} yet: start one with cadre run, or name one of cadre sessions list with --session`,
  );
}
