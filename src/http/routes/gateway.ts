import { endpoints } from '../../api/index.ts';
import type { ToolGateway } from '../../gateway/service.ts';
import type { Bearer } from '../auth.ts';
import type { Mount } from '../mount.ts';

/** The tools that sessions call. */
export function gatewayRoutes(mount: Mount, gateway: ToolGateway): void {
  mount(endpoints.getCapabilities, ({ bearer }) => gateway.capabilitiesFor(sessionOf(bearer)));
  mount(endpoints.invokeTool, ({ body, bearer, left }) =>
    gateway.invoke(body, sessionOf(bearer), left),
  );
}

/** The session whose agent sends a request; null for the operator's own token. */
function sessionOf(bearer: Bearer | null): string | null {
  return bearer?.scope === 'agent' ? bearer.id : null;
}
