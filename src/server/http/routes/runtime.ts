import type { Readable } from 'node:stream';
import { endpoints } from '../../../api/index.ts';
import type {
  Diagnostics,
  Health,
  RecoverySummary,
  StorageDiagnostics,
} from '../../../api/runtime.ts';
import { EXPOSITION_TYPE } from '../../maintenance/diagnostics/prometheus.ts';
import { type Figures, metricsText } from '../../maintenance/diagnostics/metrics.ts';
import type { RequestCounts } from '../../maintenance/diagnostics/requests.ts';
import { type Mount, senderOf } from '../mount.ts';
import type { TokenService } from '../../../core/access/tokens.ts';
import type { ApprovalLink, Hook, HookSkip, HookTest } from '../../../api/hooks.ts';
import type { SaveResponse } from '../../../core/store/idempotency-store.ts';

export interface BackupFile {
  /** Opens a stream of the file; the file is closed when the stream has ended or is destroyed. */
  read: () => Readable;
  bytes: number;
  seq: number;
}

export interface ServerInfo {
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
export function runtimeRoutes(mount: Mount, self: ServerInfo, requests: RequestCounts): void {
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

/** The tokens in addition to the API token. */
export function tokenRoutes(mount: Mount, tokens: TokenService): void {
  mount.page(endpoints.listTokens, ({ query }) => tokens.list(query));
  mount(endpoints.createToken, ({ body }) => tokens.create(body));
  mount(endpoints.deleteToken, ({ params }) => tokens.delete(params.token_id));
}

export interface Hooks {
  list(): Promise<Hook[]>;
  test(name: string): Promise<HookTest>;
  skip(
    name: string,
    request: { all: boolean; seq: number | null; by: string },
    saveResponse?: SaveResponse,
  ): Promise<HookSkip>;
  link(
    approvalId: string,
    made: { by: string; sessionId: string; lifetimeMs: number | null },
  ): Promise<ApprovalLink>;
}

export function hookRoutes(mount: Mount, hooks: Hooks): void {
  mount(endpoints.listHooks, () => hooks.list());
  mount(endpoints.testHook, ({ params }) => hooks.test(params.hook_name));
  mount(endpoints.skipHook, ({ params, body, bearer, saveResponse }) => {
    const by = senderOf({ bearer });
    const request = { all: body.all ?? false, seq: body.event_seq ?? null, by };
    return hooks.skip(params.hook_name, request, saveResponse);
  });
  mount(endpoints.linkApproval, ({ params, body, bearer }) =>
    hooks.link(params.approval_id, {
      by: senderOf({ bearer }),
      sessionId: params.session_id,
      lifetimeMs: body.expires_in_ms ?? null,
    }),
  );
}
