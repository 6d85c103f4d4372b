import type { Limits } from '../../conversations/usage/limits/service.ts';
import type { AgentLogin, Login } from '../../../agents/provider.ts';
import type { Providers } from './providers.ts';

/** The logins of agents, as clients change them: after a new one, no session waits for a usage limit of the one before. */
export function buildLogins({ registry }: Providers, limits: Limits) {
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
