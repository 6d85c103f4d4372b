import { endpoints } from '../../api/index.ts';
import { loginProviderIds } from '../../api/provider-kinds.ts';
import { authStatusEndpoints } from '../../api/provider-logins.ts';
import type { ProviderRecord } from '../../api/providers.ts';
import type { Client } from '../../client/client.ts';

/** A login state as one word; `-` if it is unknown. */
export function loginText(isLoggedIn: boolean | null | undefined): string {
  return isLoggedIn === undefined || isLoggedIn === null ? '-' : isLoggedIn ? 'yes' : 'no';
}

/**
 * Lists the providers. The server keeps a login state for a minute, so a provider that was not logged in is asked again: a
 * user who has just logged in sees that.
 */
export async function providersNow(client: Client): Promise<ProviderRecord[]> {
  const listed = await client.call(endpoints.listProviders, {});
  const loggedOut = loginProviderIds.filter((id) =>
    listed.some((one) => one.id === id && one.logged_in === false),
  );
  if (loggedOut.length === 0) return listed;
  // A program that does not answer stays as it was listed.
  await Promise.allSettled(
    loggedOut.map((id) => client.call(authStatusEndpoints[id], { query: {} })),
  );
  return client.call(endpoints.listProviders, {});
}
