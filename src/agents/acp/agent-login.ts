import type {
  AgentLoginRecord,
  AuthMethodRecord,
  LoginPage,
  LoginProgram,
} from '../../api/agent-logins.ts';
import type { AuthStatus } from '../../api/providers.ts';
import { AppError, invalidError } from '../../api/errors.ts';
import { findProgram } from '../../core/lib/find-program.ts';
import { type AgentLogin, ProviderError } from '../provider.ts';
import type { AcpAgent } from './agent.ts';
import { type AuthMethod, methodInWords, needsPerson } from './auth-methods.ts';
import { agentError } from './connection.ts';
import { askAgent, openProbeSession } from './open.ts';
import type { StartOptions } from './process.ts';

/** Runs `ask` with the way to start a process of the agent for that alone. */
type Starting = <T>(signal: AbortSignal, ask: (start: StartOptions) => Promise<T>) => Promise<T>;

/** How people log in to an agent. Each call starts a process of the agent and ends it. */
export function agentLogin(starting: Starting): AgentLogin {
  const asking = <T>(signal: AbortSignal, question: Question<T>, onPage?: PageListener) =>
    starting(signal, (start) =>
      askAgent(start, (agent) => question(agent, start), onPage && { onPage }),
    );
  const statusAfter = (signal: AbortSignal, act: Question<void>, onPage?: PageListener) => {
    const question: Question<AuthStatus> = async (agent, start) => {
      await act(agent, start);
      return start.lastSeen.auth.status();
    };
    return asking(signal, question, onPage);
  };
  const pages = new Set<LoginPage>();
  return {
    pages: () => [...pages],
    look: (signal) => asking(signal, async (agent, start) => recordOf(agent, start)),
    async authenticate(methodId, signal) {
      const own: LoginPage[] = [];
      const logIn: Question<void> = (agent, start) => authenticate(agent, start, methodId);
      try {
        return await statusAfter(signal, logIn, (page) => {
          own.push(page);
          pages.add(page);
        });
      } finally {
        for (const page of own) pages.delete(page);
      }
    },
    check: (signal) => statusAfter(signal, openProbeSession),
    end: (signal) => statusAfter(signal, logOut),
  };
}

type Question<T> = (agent: AcpAgent, start: StartOptions) => Promise<T>;
type PageListener = (page: LoginPage) => void;

function recordOf({ process }: AcpAgent, start: StartOptions): AgentLoginRecord {
  return {
    agent: start.agent.name,
    auth: start.lastSeen.auth.status(),
    can_log_out: process.can.logOut,
    methods: process.login.methods.map((one) => methodRecord(one, start)),
  };
}

function methodRecord(method: AuthMethod, start: StartOptions): AuthMethodRecord {
  const { id, name, description, type, variables, link } = method;
  const { env } = start;
  return {
    id,
    name,
    description,
    type,
    variables: variables.map((one) => ({
      name: one.name,
      optional: one.isOptional,
      set: Boolean(env[one.name]),
    })),
    needs_person: needsPerson(method, env),
    link,
    program: programOf(method, start),
  };
}

/** The login program as it is started: with the agent's own command unless the method names another. */
function programOf({ program }: AuthMethod, start: StartOptions): LoginProgram | null {
  if (!program) return null;
  const env = { ...start.env, ...program.env };
  const command = program.command ?? start.command;
  return {
    command: findProgram(command, env.PATH) ?? command,
    args: [...(program.command === null ? start.args : []), ...program.args],
    env,
  };
}

/** Logs in, with a person or without, however long that takes. */
async function authenticate(
  { process }: AcpAgent,
  { agent }: StartOptions,
  methodId: string | null,
): Promise<void> {
  const method = chosen(
    process.login.methods,
    methodId,
    agent.authMethod,
    () => process.login.methodWithoutPerson,
  );
  if (method === null)
    throw new AppError(
      'provider_managed',
      `agent ${agent.name} offers no login method: log in with the agent's own command`,
    );
  try {
    await process.login.authenticate(method, (name, params) => process.request(name, params));
  } catch (error) {
    const why = agentError(error)?.message ?? (await process.describeLoss());
    throw new ProviderError(
      'auth_required',
      `acp: login with method "${method.id}" failed: ${why}`,
      {
        cause: error,
      },
    );
  }
}

/** The method to call; null where the agent offers none at all. Throws `invalid`, which names those that there are. */
function chosen(
  methods: readonly AuthMethod[],
  asked: string | null,
  configured: string | null,
  withoutPerson: () => AuthMethod | null,
): AuthMethod | null {
  if (methods.length === 0) return null;
  const id = asked ?? (configured === '' ? null : configured);
  const callable = methods.filter(({ type }) => type !== 'terminal');
  const found =
    id === null
      ? (withoutPerson() ?? (callable.length === 1 ? callable[0] : undefined))
      : methods.find((one) => one.id === id);
  const all = methods.map(methodInWords).join(', ');
  if (!found) {
    const wrong = id === null ? 'no login method is given' : `unknown login method "${id}"`;
    throw invalidError(`body.method_id: ${wrong}: choose from ${all}`);
  }
  if (found.type !== 'terminal') return found;
  throw invalidError(
    `body.method_id: login method "${found.id}" needs a terminal: run cadre providers login acp in a terminal`,
  );
}

async function logOut({ process }: AcpAgent, { agent, lastSeen }: StartOptions): Promise<void> {
  if (!process.can.logOut)
    throw new AppError(
      'provider_managed',
      `agent ${agent.name} does not support logout over ACP: log out with the agent's own command`,
    );
  await process.ask('logout', {});
  lastSeen.auth.loggedOut();
}
