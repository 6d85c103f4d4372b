import type { AgentLoginRecord, LoginPage } from '../../../api/agent-logins.ts';
import { endpoints } from '../../../api/index.ts';
import type {
  AuthStatus,
  Model,
  ProviderDiagnostics,
  ProviderRecord,
} from '../../../api/providers.ts';
import { loginProviderIds, type ProviderId, providerIds } from '../../../api/provider-kinds.ts';
import { authStatusEndpoints, loginEndpoints } from '../../../api/provider-logins.ts';
import type { Mount } from '../mount.ts';

/** The operations on providers. Each throws `not_found` for an unknown provider. */
export interface ProviderOperations {
  list: () => ProviderRecord[];
  diagnostics: () => ProviderDiagnostics[];
  models: (id: ProviderId, agent: string | null) => Promise<Model[]>;
  authStatus: (id: ProviderId, agent: string | null) => Promise<AuthStatus>;
  /** Returns the login of an agent of acp. Throws `not_found` and `provider_unavailable`. */
  agentLogin: (agent: string) => {
    look(signal: AbortSignal): Promise<AgentLoginRecord>;
    pages(): readonly LoginPage[];
    authenticate(methodId: string | null, signal: AbortSignal): Promise<AuthStatus>;
    check(signal: AbortSignal): Promise<AuthStatus>;
    end(signal: AbortSignal): Promise<AuthStatus>;
  };
  /** Returns the login operations. Throws `provider_managed` if the provider's login cannot be changed here. */
  login: (id: ProviderId) => {
    setKey(key: string): Promise<AuthStatus>;
    import(auth: object): Promise<AuthStatus>;
    end(): Promise<AuthStatus>;
  };
}

export function providerRoutes(mount: Mount, providers: ProviderOperations): void {
  mount(endpoints.listProviders, () => providers.list());
  mount(endpoints.getProviderDiagnostics, () => providers.diagnostics());
  mount(endpoints.listModels, ({ params, query }) =>
    providers.models(params.provider, query.agent ?? null),
  );
  for (const id of providerIds)
    mount(authStatusEndpoints[id], ({ query }) => providers.authStatus(id, query.agent ?? null));
  for (const id of loginProviderIds) {
    const { setKey, importLogin, end } = loginEndpoints[id];
    mount(setKey, ({ body }) => providers.login(id).setKey(body.api_key));
    if (importLogin) mount(importLogin, ({ body }) => providers.login(id).import(body.auth_json));
    mount(end, () => providers.login(id).end());
  }
  mount(endpoints.getAgentLogin, ({ params, disconnected }) =>
    providers.agentLogin(params.agent).look(disconnected),
  );
  mount(endpoints.listLoginPages, ({ params }) => [...providers.agentLogin(params.agent).pages()]);
  mount(endpoints.authenticateAgent, ({ params, body, disconnected }) =>
    providers.agentLogin(params.agent).authenticate(body.method_id ?? null, disconnected),
  );
  mount(endpoints.checkAgentLogin, ({ params, disconnected }) =>
    providers.agentLogin(params.agent).check(disconnected),
  );
  mount(endpoints.logOutAgent, ({ params, disconnected }) =>
    providers.agentLogin(params.agent).end(disconnected),
  );
}
