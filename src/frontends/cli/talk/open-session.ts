import { type Command, Option } from 'commander';
import type { BodyInputOf } from '../../../api/endpoint.ts';
import type { endpoints } from '../../../api/index.ts';
import { agentProvider, type ProviderId, providerId } from '../../../api/provider-kinds.ts';
import { settingsFor } from '../../../client/defaults.ts';
import type { CommandContext } from '../world.ts';

/** The options of the commands that open a session. */
export interface OpenOptions {
  provider?: ProviderId;
  /** Without a provider, it is an agent of the one whose agents have names. */
  agent?: string;
  model?: string;
  effort?: string;
  cwd?: string;
  permissionMode?: string;
  agentMode?: string;
  title?: string;
  /** true: a worktree without a name of its own. */
  worktree?: string | true;
}

/** Adds these options to a command. */
export function withOpenOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--provider <provider>',
        'whose agent (default: [defaults], else the only one that is ready)',
      ).choices(providerId.options),
    )
    .option('--agent <agent>', 'an agent of acp by its name; see cadre providers discover')
    .option('--model <model>', 'a model of the provider')
    .option('--effort <effort>', 'how long the model thinks; see cadre providers models')
    .option('--cwd <directory>', 'where the agent works (default: here)')
    .option('--permission-mode <mode>', 'what the agent may do; require_approval: it asks you')
    .option('--agent-mode <mode>', "the agent's own mode, by its own name; for agents of acp")
    .option('--title <title>', 'a name for people (default: the first line of the prompt)')
    .option('--worktree [name]', 'work in a git worktree of its own');
}

type OpenBody = BodyInputOf<typeof endpoints.createSession>;

/**
 * The request for these options, with the defaults of the configuration. Without `--cwd` the agent works in the
 * directory of the command, not the server's. Throws as `chooseProvider` and `defaultsOf`.
 */
export async function openBody(
  context: Pick<CommandContext, 'world' | 'client' | 'global'>,
  options: OpenOptions,
): Promise<OpenBody> {
  const [{ defaultsOf }, { chooseProvider }] = await Promise.all([
    import('./defaults.ts'),
    import('./choose-provider.ts'),
  ]);
  const defaults = await defaultsOf(context);
  const named = options.agent === undefined ? undefined : agentProvider;
  const provider = options.provider ?? named ?? (await chooseProvider(context, defaults));
  const settings = settingsFor(provider, defaults, options.agent);
  const { worktree } = options;
  return {
    provider,
    agent: settings.agent,
    model: options.model ?? settings.model,
    thinking_effort: options.effort ?? settings.thinking_effort,
    cwd: options.cwd ?? context.world.cwd(),
    permission_mode: options.permissionMode ?? settings.permission_mode,
    agent_mode: options.agentMode,
    title: options.title,
    worktree: typeof worktree === 'string' ? { worktree_name: worktree } : worktree,
  };
}
