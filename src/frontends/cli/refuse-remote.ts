import { AppError } from '../../api/errors.ts';
import type { World } from './world.ts';

/** Throws `invalid` for an address beyond loopback without --allow-remote, because the server speaks plain HTTP. */
export function refuseRemote(address: string, isAllowed: boolean, { stderr }: World): void {
  if (/^(127\.\d+\.\d+\.\d+|localhost|\[::1\]):\d+$/.test(address)) return;
  if (!isAllowed) {
    throw new AppError(
      'invalid',
      `${address} can be reached by other machines: pass --allow-remote if that is meant`,
    );
  }
  stderr.write(
    `cadre: ${address} can be reached by other machines, and traffic is plain HTTP: put TLS in front of it\n`,
  );
}
