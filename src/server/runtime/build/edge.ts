import { TokenService } from '../../../core/access/tokens.ts';
import type { RecoverySummary } from '../../../api/runtime.ts';
import type { Undo } from '../../../core/lib/undo.ts';
import type { Base } from '../base.ts';
import type { Nouns } from '../build.ts';
import { fleetMembership } from '../fleet.ts';
import { buildDiagnostics } from './diagnostics.ts';
import { buildServer } from './server.ts';

export type Edge = ReturnType<typeof buildEdge>;

/** Builds the parts that admit requests. It must follow recovery, because tokens begin to expire here. */
export function buildEdge(base: Base, nouns: Nouns, recovery: RecoverySummary, undo: Undo) {
  const { config } = base;
  const tokens = undo.use(
    new TokenService({
      ...base,
      apiToken: () => config.now.auth.token,
      onRevoked: (tx, id) =>
        nouns.processes.service.killAllOf(tx, { caller_id: id }, 'token_revoked'),
    }),
  );
  const fleet = fleetMembership(base);
  const diagnostics = buildDiagnostics(base, { ...nouns, fleet }, recovery, undo);
  const server = buildServer(base, nouns, { tokens, diagnostics });
  undo.defer(() => server.close());
  return { tokens, diagnostics, server, fleet };
}
