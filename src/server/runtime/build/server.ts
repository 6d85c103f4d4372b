import { hostName } from '../../../core/access/admit.ts';
import type { TokenService } from '../../../core/access/tokens.ts';
import { linkOrigin } from '../../../core/config/hooks-section.ts';
import type { Config } from '../../../core/config/schema.ts';
import { type HttpServer, createHttpServer } from '../../http/server.ts';
import { commit, readAsset, version } from '../../../core/lib/self.ts';
import type { Base } from '../base.ts';
import type { ServerDiagnostics } from './diagnostics.ts';
import type { Components } from '../build.ts';
import type { Providers } from './providers.ts';
import type { Limits } from '../../conversations/usage/limits/service.ts';
import type { AgentLogin, Login } from '../../../agents/provider.ts';

/** Builds the HTTP server, not listening yet. */
export function buildServer(
  base: Base,
  components: Components,
  { tokens, diagnostics }: { tokens: TokenService; diagnostics: ServerDiagnostics },
): HttpServer {
  const { db, config } = base;
  const { storage, gateway, worktrees, teams } = components;
  const { registry } = components.providers;
  return createHttpServer({
    ...base,
    ...components,
    ...teams,
    access: {
      holderOf: (secret) => tokens.holderOf(secret),
      sessionOf: (secret) => gateway.sessionTokens.sessionOf(secret),
      allowedHosts: () => allowedHosts(config.now),
      linkOrigin: () => linkOrigin(config.now.approvals),
      allowedOrigins: () => config.now.server.allowed_origins,
    },
    self: {
      ...diagnostics,
      version,
      commit,
      epoch: db.epoch,
      openApi: () => Buffer.from(readAsset('openapi.yaml')).toString('utf8'),
      async backUp(signal) {
        const { file, bytes, seq } = await storage.backups.make(signal);
        return { read: () => file.createReadStream(), bytes, seq };
      },
    },
    feed: storage.feed,
    streamLimits: () => ({
      all: config.now.server.max_streams,
      ofOneToken: config.now.server.max_streams_per_token,
    }),
    maxConnections: config.now.server.max_connections,
    requestTimeoutMs: config.now.server.request_timeout_ms,
    sessions: components.sessions.service,
    opening: worktrees.opening,
    goals: components.goals,
    watches: components.watches,
    races: components.races.service,
    imports: components.sessions.imports.service,
    processes: components.processes.service,
    worktrees: worktrees.service,
    initScripts: worktrees.initScripts,
    snapshots: components.snapshots.service,
    teams: teams.service,
    providers: {
      list: () => registry.list(),
      diagnostics: () =>
        registry.diagnostics((id, agent) => components.sessions.pool.count(id, agent)),
      models: (id, agent) => registry.models(id, agent),
      authStatus: (id, agent) => registry.authStatus(id, agent),
      ...buildLogins(components.providers, components.sessions.limits),
    },
    rules: components.sessions.rules,
    usage: components.sessions.budgets.usage,
    budgets: components.sessions.budgets.service,
    tokens,
    gateway: gateway.service,
    idempotencyStore: storage.idempotencyStore,
  });
}

function allowedHosts({ server, public_base_url: base }: Config): string[] {
  const bound = hostName(server.bind_address);
  return [
    ...server.allowed_hosts,
    ...(bound ? [bound] : []),
    ...(base ? [new URL(base).hostname] : []),
  ];
}

/** The logins of agents, as clients change them: after a new one, no session waits for a usage limit of the one before. */
function buildLogins({ registry }: Providers, limits: Limits) {
  type LoginId = Parameters<typeof registry.login>[0];
  return {
    login(id: LoginId): Required<Login> {
      const login = registry.login(id);
      const changed = async <T>(work: Promise<T>) => {
        const status = await work;
        await limits.loginChanged({ provider: id, agent: null });
        return status;
      };
      return {
        setKey: (key) => changed(login.setKey(key)),
        import: (auth) => changed(login.import(auth)),
        end: () => login.end(),
      };
    },
    agentLogin(agent: string): AgentLogin {
      const login = registry.agentLogin('acp', agent);
      return {
        ...login,
        async authenticate(methodId, signal) {
          const status = await login.authenticate(methodId, signal);
          await limits.loginChanged({ provider: 'acp', agent });
          return status;
        },
      };
    },
  };
}
