import { stringify } from 'smol-toml';
import { agentStart } from './install.ts';
import { opencodeEnvironment, type OpencodeRule } from './opencode-env.ts';

/** The configuration of a server whose agent is such an opencode, in which tools may do as `rule` says. */
export function opencodeConfig(home: string, model: { url: string }, rule: OpencodeRule): string {
  const { command, args } = agentStart('opencode');
  const permission = { bash: rule, edit: rule };
  const env = opencodeEnvironment({ home, modelUrl: model.url, permission });
  return stringify({ providers: { acp: { command, args, env } } });
}
