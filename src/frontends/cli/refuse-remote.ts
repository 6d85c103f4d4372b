import { invalidError } from '../../api/errors.ts';
import type { World } from './world.ts';

/** Throws `invalid` for an address beyond loopback without --allow-remote, because the server speaks plain HTTP. */
export function refuseRemote(address: string, isAllowed: boolean, { stderr }: World): void {
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
