import { labelledId } from '../../../core/lib/labelled-id.ts';
import type { TriedAgent } from '../../../server/runtime/try-agents.ts';
import { type CheckInput, fail, type Finding, ok, warn } from './check.ts';

/** Starts each agent. Reports which are logged in, open a session and have the modes that they are said to have. */
export async function agentFindings({ found, config, world }: CheckInput): Promise<Finding[]> {
  const none = { check: 'agents' };
  if (!found.config) return [{ ...none, ...warn('unknown until the configuration is fixed') }];
  const { tryAgents } = await import('../../../server/runtime/try-agents.ts');
  const tried = await tryAgents(config, world.interrupted());
  if (tried.length === 0)
    return [
      { ...none, ...warn('no agents are installed or configured: see cadre providers discover') },
    ];
  return tried.map((one) => ({ check: `agent ${one.name}`, ...verdictOn(one) }));
}

/** An agent that nobody has configured is only installed: what it lacks is no failure. */
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
