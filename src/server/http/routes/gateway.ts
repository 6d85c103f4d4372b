import { endpoints } from '../../../api/index.ts';
import type { GatewayBearer, ToolGateway } from '../../teams/gateway/service.ts';
import type { Bearer } from '../../../core/access/admit.ts';
import type { Mount } from '../mount.ts';

/** The tools that sessions call. */
export function gatewayRoutes(mount: Mount, gateway: ToolGateway): void {
  mount(endpoints.getCapabilities, ({ bearer }) => gateway.capabilitiesFor(gatewayBearer(bearer)));
  mount(endpoints.invokeTool, ({ body, bearer, disconnected }) =>
    gateway.invoke(body, gatewayBearer(bearer), disconnected),
  );
}

/**
 * Returns what a token allows: an agent's token is valid for its own session; of the others, one with the scope admin
 * is the operator's, and one with the scope tools an external caller's.
 */
function gatewayBearer(bearer: Bearer | null): GatewayBearer {
  return {
    sessionId: bearer?.scope === 'agent' ? bearer.id : null,
    isOperator: bearer?.scope === 'admin',
    external: bearer?.scope === 'tools' ? { id: bearer.id, mode: bearer.permissionMode } : null,
  };
}
