import { readCaller } from '../../../core/config/caller-file.ts';
import { findRegistration } from '../../../core/config/registration.ts';
import { AppError } from '../../../api/errors.ts';
import type { ToolAccess } from '../../sidecar/sidecar.ts';

/**
 * The access of an installed caller, read anew each time: the token may have been replaced, and the server started on
 * another address. Throws `unauthorized` where the caller is not installed any more.
 */
export function accessOfCaller(directory: string, name: string): ToolAccess {
  const caller = readCaller(directory, name);
  if (!caller)
    throw new AppError(
      'unauthorized',
      `agent "${name}" is not set up in ${directory}: run cadre mcp install ${name}`,
    );
  const { token, token_id, session_id } = caller;
  const found = caller.url === null ? findRegistration(directory) : null;
  const url = caller.url ?? (found?.runs ? found.server.url : null);
  return { url, token, callerId: session_id ?? token_id, isExternal: session_id === null };
}
