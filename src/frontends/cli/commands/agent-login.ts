import type {
  AgentLoginRecord,
  AuthMethodRecord,
  LoginProgram,
} from '../../../api/agent-logins.ts';
import { endpoints } from '../../../api/index.ts';
import type { AuthStatus } from '../../../api/providers.ts';
import type { Client } from '../../../client/client.ts';
import { defaultConfigFile } from '../../../core/config/paths.ts';
import { AppError, usageError } from '../../../api/errors.ts';
import { plain } from '../../../core/lib/plain.ts';
import { choose } from '../choose.ts';
import { details } from '../output.ts';
import type { CommandContext } from '../command-io.ts';

/** How often the pages of a login under way are looked for. */
const LOOK_MS = 500;

/** The variables of the terminal that a login program gets in addition to the variables of the agent. */
const TERMINAL_VARIABLES = [
  'BROWSER',
  'COLORTERM',
  'DBUS_SESSION_BUS_ADDRESS',
  'DISPLAY',
  'NO_COLOR',
  'SSH_CONNECTION',
  'SSH_TTY',
  'TERM',
  'WAYLAND_DISPLAY',
  'XAUTHORITY',
  'XDG_RUNTIME_DIR',
];

/** `cadre providers login acp --agent NAME`. */
export async function logInToAgent(
  context: CommandContext,
  agent: string,
  methodId: string | undefined,
): Promise<void> {
  const { client, show, layout } = context;
  const login = await client.call(endpoints.getAgentLogin, { params: { agent } });
  const method = await methodOf(context, login, methodId);
  const status = await logInWith(context, agent, method);
  show(status, () => details(status, { layout }));
}

/** `cadre providers logout acp --agent NAME`. */
export async function logOutOfAgent(
  { client, show, layout }: CommandContext,
  agent: string,
): Promise<void> {
  const status = await client.call(endpoints.logOutAgent, { params: { agent } });
  show(status, () => details(status, { layout }));
}

async function methodOf(
  { io }: CommandContext,
  { agent, methods }: AgentLoginRecord,
  asked: string | undefined,
): Promise<AuthMethodRecord> {
  const [first, ...others] = methods;
  if (!first)
    throw new AppError(
      'provider_managed',
      `agent ${agent} offers no login method: log in with the command of the agent`,
    );
  const ids = methods.map(({ id }) => plain(id)).join(', ');
  if (asked !== undefined) {
    const found = methods.find(({ id }) => id === asked);
    if (found) return found;
    throw usageError(`invalid --method "${asked}": agent ${agent} offers ${ids}`);
  }
  if (others.length === 0) return first;
  const question = `how do you want to log in to ${agent}?`;
  const found = await choose(io, question, methods, lineOf);
  if (found) return found;
  throw usageError(
    `agent ${agent} offers several login methods: choose one with --method (${ids})`,
  );
}

function lineOf({ id, name, description, type, variables }: AuthMethodRecord): string {
  const needs = variables.map((one) => `${one.name}${one.set ? ' is set' : ' is not set'}`);
  const where = type === 'terminal' ? ['in this terminal'] : [];
  const more = [...(description ? [description] : []), ...where, ...needs].join('; ');
  return plain(`${id}  ${name}${more === '' ? '' : `: ${more}`}`);
}

function logInWith(
  context: CommandContext,
  agent: string,
  method: AuthMethodRecord,
): Promise<AuthStatus> {
  const { type, program } = method;
  if (type === 'terminal' && program) return logInHere(context, agent, program);
  if (type === 'env_var' && method.needs_person) throw missing(context, agent, method);
  if (method.needs_person)
    context.note(
      `waiting for the login to ${agent}: a browser may open on the machine of the server`,
    );
  return logInByAgent(context, agent, method.id);
}

/** Has the agent log in by itself, and shows the pages that it asks the user to open. */
async function logInByAgent(
  context: CommandContext,
  agent: string,
  methodId: string,
): Promise<AuthStatus> {
  const over = new AbortController();
  const shown = showPages(context, agent, over.signal).catch(() => undefined);
  try {
    return await context.client.call(
      endpoints.authenticateAgent,
      { params: { agent }, body: { method_id: methodId } },
      context.io.interrupted(),
    );
  } finally {
    over.abort();
    await shown;
  }
}

/** Shows each page that the agent asks the user to open, once, until `over` aborts. */
async function showPages(
  { io, client }: CommandContext,
  agent: string,
  over: AbortSignal,
): Promise<void> {
  const shown = new Set<string>();
  while (!over.aborted) {
    const pages = await client.call(endpoints.listLoginPages, { params: { agent } }, over);
    for (const { message, url } of pages) {
      if (shown.has(url)) continue;
      shown.add(url);
      io.stderr.write(`cadre: ${plain(`${message} Open ${url}`)}\n`);
    }
    await io.clock.sleep(LOOK_MS, over);
  }
}

/** Runs the agent's login program in the user's terminal, and then asks the server whether the agent works. */
async function logInHere(
  { io, client, global }: CommandContext,
  agent: string,
  { command, args, env }: LoginProgram,
): Promise<AuthStatus> {
  assertLocal(client);
  const { runHere } = await import('../run-program.ts');
  io.stderr.write(`cadre: running ${plain([command, ...args].join(' '))}\n`);
  // Ctrl-C is for the program.
  const interrupted = io.interrupted();
  const { code } = await runHere(
    { command, args, env: { ...env, ...terminalOf(io.env) } },
    global.json === true,
  );
  interrupted.throwIfAborted();
  if (code === 0) return client.call(endpoints.checkAgentLogin, { params: { agent } });
  const how = code === null ? 'was stopped by a signal' : `exited with code ${code}`;
  throw new AppError(
    'provider_unavailable',
    `the login of agent ${agent} did not change, because its login program ${how}`,
  );
}

function terminalOf(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    TERMINAL_VARIABLES.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
  );
}

/** The program writes the login into the home of the agent, which is on the machine of the server. */
function assertLocal({ url }: Client): void {
  // The address of a fleet is not a URL.
  const hostname = URL.canParse(url) ? new URL(url).hostname : url;
  if (['127.0.0.1', 'localhost', '[::1]'].includes(hostname)) return;
  throw usageError(
    `this login method needs a terminal on the machine of the server (${hostname}): run cadre providers login on that machine`,
  );
}

function missing(
  { io, global }: CommandContext,
  agent: string,
  { variables, link }: AuthMethodRecord,
): AppError {
  const names = variables.filter(({ optional, set }) => !optional && !set).map(({ name }) => name);
  const file = global.config ?? defaultConfigFile(io.env);
  const section =
    agent === 'default' ? '[providers.acp.env]' : `[providers.acp.agents.${agent}.env]`;
  const first = names[0] ?? 'NAME';
  const source = link ? ` (see ${plain(link)})` : '';
  return usageError(
    `agent ${agent} needs the environment variable ${plain(names.join(' and '))}${source}: set the variable under ${section} in ${file}, or set the variable for the server and add pass_env = [${JSON.stringify(first)}], then restart the server`,
  );
}
