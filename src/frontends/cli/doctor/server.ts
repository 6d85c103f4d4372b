import { endpoints } from '../../../api/index.ts';
import { loginProviderIds } from '../../../api/provider-kinds.ts';
import type { ProviderRecord } from '../../../api/providers.ts';
import type { Client } from '../../../client/client.ts';
import { recordsOf } from '../../../client/records-of.ts';
import { AppError, isUnreachable } from '../../../api/errors.ts';
import { version } from '../../../core/lib/self.ts';
import { commandOn } from '../command-on.ts';
import { withCommand } from '../hints.ts';
import { providersNow } from '../login-text.ts';
import {
  type Check,
  fail,
  type CheckInput,
  type Finding,
  ok,
  type CheckResult,
  warn,
} from './check.ts';
import { labelledId } from '../../../core/lib/labelled-id.ts';
import type { TriedAgent } from '../../../server/runtime/try-agents.ts';

/** A server that has not answered after this time is taken for stuck. */
const ANSWER_MS = 3000;
const UNKNOWN = 'unknown until the configuration is fixed';

export const server: Check = async (input) => {
  if (!input.found.config) return warn(UNKNOWN);
  const found = await asked(input, async (client) => ({
    url: client.url,
    version: (await client.call(endpoints.getVersion, {})).version,
    health: await client.call(endpoints.getHealth, {}),
  }));
  if (!found)
    return warn(
      `no server is running: start one with ${commandOn('serve --detach', input.options)}`,
    );
  if (found.version !== version)
    return warn(
      `${found.url} runs version ${found.version}, but this is ${version}: restart the server`,
    );
  const failing = Object.entries(found.health.checks).filter(
    ([, check]) => (check as { status: string }).status !== 'ok',
  );
  const { fleet } = found.health;
  if (fleet?.detail !== undefined)
    return warn(
      `${found.url} and its fleet (${fleet.state.replaceAll('_', ' ')}): ${fleet.detail}`,
    );
  if (failing.length === 0) return ok(`${found.url} is healthy`);
  const parts = failing.map(([name, check]) => {
    const { detail } = check as { detail?: string };
    // The problems of providers are a check of their own.
    return detail === undefined || name === 'providers' ? name : `${name}: ${detail}`;
  });
  return warn(
    `${found.url} is degraded (${parts.join('; ')}): see ${commandOn('status', input.options)}`,
  );
};

/** One finding for each provider that is enabled; where none is, for each that could be. */
export async function providerFindings(input: CheckInput): Promise<Finding[]> {
  if (!input.found.config) return [{ check: 'providers', ...warn(UNKNOWN) }];
  // Where the server does not answer, the check `server` says so, and this one reads the configuration.
  const listed = (client: Client) => client.call(endpoints.listProviders, {});
  const running = await asked(input, providersNow)
    // A program that does not report its login in time leaves what the server saw last.
    .catch(() => asked(input, listed))
    .catch(() => null);
  const found =
    running ?? (await import('../../../agents/configured.ts')).describeProviders(input.config);
  const enabled = found.filter((one) => one.enabled);
  const shown = enabled.length > 0 ? enabled : found;
  return shown.map((one) => ({
    check: `provider ${one.id}`,
    ...providerVerdict(one, running !== null, input.options),
  }));
}

function providerVerdict(
  { id, enabled, healthy, logged_in, detail }: ProviderRecord,
  isRunning: boolean,
  options: CheckInput['options'],
): CheckResult {
  const text = withCommand(`${id}: ${detail}`, options).slice(`${id}: `.length);
  if (!enabled) return warn(text);
  if (!healthy) return fail(text);
  if (logged_in === false) return warn(text);
  const isSeen = isRunning || loginProviderIds.every((one) => one !== id);
  return ok(isSeen ? text : 'installed; cadre doctor --agents shows whether it is logged in');
}

/** The rules for approvals of an earlier version that could not be added now. */
export const rules: Check = async (input) => {
  if (!input.found.config) return warn(UNKNOWN);
  // Where the server does not answer, the check `server` says so.
  const found = await asked(input, (client) =>
    Array.fromAsync(recordsOf((query) => client.ask(endpoints.listApprovalRules, { query }))),
  ).catch(() => null);
  if (!found) return ok('not checked: no server answers');
  const refused = found.filter((one) => one.refused !== null);
  if (refused.length === 0) return ok(`${found.length} rules are valid`);
  const parts = refused.map(
    ({ id, command, path, refused: why }) => `${id} (${command ?? path}): ${why}`,
  );
  return warn(
    `remove these rules with ${commandOn('approvals rules remove', input.options)}, and add valid ones: ${parts.join('; ')}`,
  );
};

/** The server's answer; null where no server runs. Throws the server's refusal, and `timeout` without an answer. */
async function asked<T>(
  { options, io }: CheckInput,
  ask: (client: Client) => Promise<T>,
): Promise<T | null> {
  let client: Client | undefined;
  const late = new AbortController();
  try {
    client = await io.connect(options);
    return await Promise.race([ask(client), tooLate(io, client.url, late.signal)]);
  } catch (error) {
    if (!client && isUnreachable(error)) return null;
    throw error;
  } finally {
    late.abort();
    client?.close();
  }
}

async function tooLate(
  { clock }: CheckInput['io'],
  url: string,
  signal: AbortSignal,
): Promise<never> {
  await clock.sleep(ANSWER_MS, signal);
  throw new AppError(
    'timeout',
    `the server at ${url} has not answered for ${ANSWER_MS / 1000} s: stop the process of the server, and start the server again`,
  );
}

/** Starts each agent. Reports which are logged in, open a session and have the modes that they are said to have. */
export async function agentFindings({ found, config, io }: CheckInput): Promise<Finding[]> {
  const none = { check: 'agents' };
  if (!found.config) return [{ ...none, ...warn('unknown until the configuration is fixed') }];
  const { tryAgents } = await import('../../../server/runtime/try-agents.ts');
  const tried = await tryAgents(config, io.interrupted());
  if (tried.length === 0)
    return [
      { ...none, ...warn('no agents are installed or configured: see cadre providers discover') },
    ];
  return tried.map((one) => ({ check: `agent ${one.name}`, ...verdictOn(one) }));
}

/** A problem of an agent that is installed but not configured is only a warning. */
function verdictOn(tried: TriedAgent) {
  const { name, version, problem, configured, opens_session, modes, missing_modes } = tried;
  if (problem !== null) return configured ? fail(problem) : warn(problem);
  const who = version ?? 'the agent';
  if (!opens_session) return ok(`${who} started and is logged in`);
  const opens = `${who} opened a session`;
  if (missing_modes.length === 0) return ok(opens);
  const offered = modes.map(({ id, name }) => (name === id ? id : labelledId(id, name))).join(', ');
  const missing = missing_modes.map(([mode, mode_name]) => `"${mode_name}" (${mode})`).join(', ');
  return warn(
    `${opens}, but lacks the modes ${missing}; its modes are ${offered}: ` +
      `set modes of providers.acp.agents.${name}`,
  );
}
