import { endpoints } from '../../api/index.ts';
import type { GatewayBearer, ToolGateway } from '../../gateway/service.ts';
import type { Bearer } from '../../access/admit.ts';
import type { Mount } from '../mount.ts';

/** The tools that sessions call. */
export function gatewayRoutes(mount: Mount, gateway: ToolGateway): void {
  mount(endpoints.getCapabilities, ({ bearer }) => gateway.capabilitiesFor(gatewayBearer(bearer)));
  mount(endpoints.invokeTool, ({ body, bearer, left }) =>
    gateway.invoke(body, gatewayBearer(bearer), left),
  );
}

/** An agent's token is good for its own session. Of the others, an admin's alone is the operator's own. */
function gatewayBearer(bearer: Bearer | null): GatewayBearer {
  return {
    sessionId: bearer?.scope === 'agent' ? bearer.id : null,
    isOperator: bearer?.scope === 'admin',
  };
}
