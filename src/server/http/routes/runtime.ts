import type { Readable } from 'node:stream';
import { endpoints } from '../../../api/index.ts';
import type {
  Diagnostics,
  Health,
  RecoverySummary,
  StorageDiagnostics,
} from '../../../api/runtime.ts';
import { EXPOSITION_TYPE } from '../../upkeep/diagnostics/prometheus.ts';
import type { Figures } from '../../upkeep/diagnostics/figures.ts';
import { metricsText } from '../../upkeep/diagnostics/metrics.ts';
import type { RequestCounts } from '../../upkeep/diagnostics/requests.ts';
import type { Mount } from '../mount.ts';

/** A file to send. */
export interface BackupFile {
  /** Opens a stream of the file; the file is closed when the stream has ended or is destroyed. */
  read: () => Readable;
  bytes: number;
  seq: number;
}

/** The server's facts about itself. */
export interface SelfKnowledge {
  version: string;
  commit: string;
  epoch: string;
  openApi: () => string;
  health: () => Health;
  recovery: () => RecoverySummary;
  diagnostics: () => Diagnostics;
  storage: () => Promise<StorageDiagnostics>;
  figures: () => Promise<Figures>;
  /** Makes a backup, unless the signal aborts. */
  backUp: (signal: AbortSignal) => Promise<BackupFile>;
}

/** Health, version, description and diagnostics. */
export function runtimeRoutes(mount: Mount, self: SelfKnowledge, requests: RequestCounts): void {
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
  mount(endpoints.getStorageDiagnostics, () => self.storage());
  mount(endpoints.getMetrics, async ({ setHeader }) => {
    setHeader('content-type', EXPOSITION_TYPE);
    return metricsText(await self.figures(), requests);
  });
  mount(endpoints.backUpStorage, async ({ setHeader, disconnected }) => {
    const backup = await self.backUp(disconnected);
    setHeader('X-Seq', String(backup.seq));
    setHeader('content-length', String(backup.bytes));
    return backup.read();
  });
}
