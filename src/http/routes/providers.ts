import { endpoints } from '../../api/index.ts';
import type {
  AuthStatus,
  Model,
  ProviderDiagnostics,
  ProviderRecord,
} from '../../api/providers.ts';
import type { ProviderId } from '../../api/sessions.ts';
import type { Mount } from '../mount.ts';

/** What is known of the providers. Throws `not_found` for one that this server does not have. */
export interface ProviderKnowledge {
  list: () => ProviderRecord[];
  diagnostics: () => ProviderDiagnostics[];
  models: (id: ProviderId) => Promise<Model[]>;
  authStatus: (id: ProviderId) => Promise<AuthStatus>;
  /** Throws `provider_managed` where there is none that may be changed. */
  login: (id: ProviderId) => {
    setKey(key: string): Promise<AuthStatus>;
    import(auth: object): Promise<AuthStatus>;
    end(): Promise<AuthStatus>;
  };
}

/** Providers, their models and their logins. */
export function providerRoutes(mount: Mount, providers: ProviderKnowledge): void {
  mount(endpoints.listProviders, () => providers.list());
  mount(endpoints.getProviderDiagnostics, () => providers.diagnostics());
  mount(endpoints.listModels, ({ params }) => providers.models(params.provider));
  mount(endpoints.getAcpAuthStatus, () => providers.authStatus('acp'));
  mount(endpoints.getCodexAuthStatus, () => providers.authStatus('codex'));
  mount(endpoints.setCodexApiKey, ({ body }) => providers.login('codex').setKey(body.api_key));
  mount(endpoints.importCodexLogin, ({ body }) => providers.login('codex').import(body.auth_json));
  mount(endpoints.endCodexLogin, () => providers.login('codex').end());
  mount(endpoints.getClaudeAuthStatus, () => providers.authStatus('claude'));
  mount(endpoints.setClaudeApiKey, ({ body }) => providers.login('claude').setKey(body.api_key));
  mount(endpoints.endClaudeLogin, () => providers.login('claude').end());
}
