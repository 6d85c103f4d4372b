import { endpoints } from '../../api/index.ts';
import type { ToolGateway } from '../../gateway/service.ts';
import type { Mount } from '../mount.ts';

/** The tools that sessions call. */
export function gatewayRoutes(mount: Mount, gateway: ToolGateway): void {
  mount(endpoints.getCapabilities, () => gateway.capabilities());
  mount(endpoints.invokeTool, ({ body, bearer, left }) =>
    gateway.invoke(body, bearer?.scope === 'agent' ? bearer.id : null, left),
  );
}
