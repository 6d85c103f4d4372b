import { TokenService } from '../../../core/access/tokens.ts';
import type { RecoverySummary } from '../../../api/runtime.ts';
import type { Undo } from '../../../core/lib/undo.ts';
import type { Base } from '../base.ts';
import type { Components } from '../build.ts';
import { fleetMembership } from '../fleet.ts';
import { buildDiagnostics } from './diagnostics.ts';
import { buildServer } from './server.ts';

export type HttpLayer = ReturnType<typeof buildHttpLayer>;

/** Builds the parts that admit requests. It must follow recovery, because tokens begin to expire here. */
export function buildHttpLayer(
  base: Base,
  components: Components,
  recovery: RecoverySummary,
  undo: Undo,
) {
  const { config } = base;
  const tokens = undo.use(
    new TokenService({
      ...base,
      apiToken: () => config.now.auth.token,
      onRevoked: (tx, id) =>
        components.processes.service.killAllOf(tx, { caller_id: id }, 'token_revoked'),
    }),
  );
  const fleet = fleetMembership(base);
  const diagnostics = buildDiagnostics(base, { ...components, fleet }, recovery, undo);
  const server = buildServer(base, components, { tokens, diagnostics });
  undo.defer(() => server.close());
  return { tokens, diagnostics, server, fleet };
}
