import { endpoints } from '../../api/index.ts';
import type { Diagnostics, Health, RecoverySummary } from '../../api/runtime.ts';
import type { Mount } from '../mount.ts';

/** What the server knows of itself. */
export interface SelfKnowledge {
  version: string;
  commit: string;
  epoch: string;
  openApi: () => string;
  health: () => Health;
  recovery: () => RecoverySummary;
  diagnostics: () => Diagnostics;
}

/** Health, version, description and diagnostics. */
export function runtimeRoutes(mount: Mount, self: SelfKnowledge): void {
  mount(endpoints.getPublicHealth, () => ({ status: self.health().status }));
  mount(endpoints.getOpenApi, async ({ setHeader }) => {
    setHeader('content-type', 'application/yaml; charset=utf-8');
    return self.openApi();
  });
  mount(endpoints.getHealth, () => self.health());
  mount(endpoints.getVersion, () => ({
    name: 'cadre' as const,
    version: self.version,
    api_version: 'v1' as const,
    epoch: self.epoch,
    node: process.version,
    commit: self.commit,
  }));
  mount(endpoints.getRecovery, () => self.recovery());
  mount(endpoints.getDiagnostics, () => self.diagnostics());
}
