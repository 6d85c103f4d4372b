import type { FastifyInstance } from 'fastify';
import { endpoints } from '../../api/index.ts';
import type { Diagnostics, Health, RecoverySummary } from '../../api/runtime.ts';
import { mount } from '../mount.ts';

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
export function runtimeRoutes(app: FastifyInstance, self: SelfKnowledge): void {
  mount(app, endpoints.getPublicHealth, () => ({ status: self.health().status }));
  mount(app, endpoints.getOpenApi, async ({ setHeader }) => {
    setHeader('content-type', 'application/yaml; charset=utf-8');
    return self.openApi();
  });
  mount(app, endpoints.getHealth, () => self.health());
  mount(app, endpoints.getVersion, () => ({
    name: 'cadre' as const,
    version: self.version,
    api_version: 'v1' as const,
    epoch: self.epoch,
    node: process.version,
    commit: self.commit,
  }));
  mount(app, endpoints.getRecovery, () => self.recovery());
  mount(app, endpoints.getDiagnostics, () => self.diagnostics());
}
