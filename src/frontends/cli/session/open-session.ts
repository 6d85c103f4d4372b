import path from 'node:path';
import type { BodyInputOf } from '../../../api/endpoint.ts';
import type { endpoints } from '../../../api/index.ts';
import { isCommonMode, stricterMode } from '../../../api/permission-modes.ts';
import { agentProvider, type ProviderId, providerId } from '../../../api/provider-kinds.ts';
import { type Defaults, settingsFor } from '../../../client/defaults.ts';
import { agentModeOption, agentOption } from '../parameters.ts';
import { MODES } from '../turn-settings.ts';
import type { CommandContext } from '../command-io.ts';
import { type SandboxOptions, sandboxOf, sandboxOptions } from './sandbox-options.ts';

export interface AgentOptions {
  provider?: ProviderId;
  /** Without a provider, it is an agent of the one whose agents have names. */
  agent?: string;
  model?: string;
  effort?: string;
  permissionMode?: string;
  agentMode?: string;
  /** The permission mode of a template: without `permissionMode`, a session gets no mode that allows more. */
  modeLimit?: string;
  title?: string;
}

export interface OpenOptions extends AgentOptions, SandboxOptions {
  cwd?: string;
  /** true: a worktree without a name of its own. */
  worktree?: string | true;
}

export const openOptions = [
  {
    line: '--provider <provider>  Provider of the agent (default: defaults.provider in the configuration, or the only ready provider)',
    choices: providerId.options,
  },
  agentOption,
  '--model <model>  Model of the agent',
  '--effort <effort>  Reasoning effort of the model (list the levels with cadre providers models)',
  '--cwd <directory>  Working directory of the agent (default: current directory)',
  `--permission-mode <mode>  Permission mode: which agent actions need your approval (modes: ${MODES}; without the option: from the configuration, or require_approval on a terminal)`,
  agentModeOption,
  '--title <title>  Title of the session (default: first line of the prompt)',
  '--worktree [name]  Name of the git worktree in which the agent works (cadre creates the worktree if it does not exist)',
  ...sandboxOptions,
];

type OpenBody = BodyInputOf<typeof endpoints.createSession>;

/**
 * The request for these options, with the defaults of the configuration. Without `--cwd` the agent works in the
 * directory of the command, not the server's. `hasPerson`: somebody can be asked for approvals, so that a session asks
 * unless it was chosen otherwise. Throws as `chooseProvider` and `defaultsOf`, and `usage` for an unknown permission mode.
 */
export async function openBody(
  context: Pick<CommandContext, 'io' | 'client' | 'global'>,
  options: OpenOptions,
  hasPerson = context.io.stdin.isTTY === true,
): Promise<OpenBody> {
  const [{ defaultsOf }, { chooseProvider }] = await Promise.all([
    import('./defaults.ts'),
    import('./choose-provider.ts'),
  ]);
  const defaults = await defaultsOf(context);
  const named = options.agent === undefined ? undefined : agentProvider;
  const provider = options.provider ?? named ?? (await chooseProvider(context, defaults));
  const { worktree } = options;
  return {
    ...(await agentBody(context, provider, defaults, { ...options, hasPerson })),
    cwd: path.resolve(context.io.cwd(), options.cwd ?? '.'),
    worktree: typeof worktree === 'string' ? { worktree_name: worktree } : worktree,
    sandbox: sandboxOf(options, context.io.cwd()),
  };
}

/**
 * The agent of a new session and its settings in a request. `keepsMode`: the server selects the permission mode unless the
 * options name one. Throws `usage` for an unknown permission mode.
 */
export async function agentBody(
  context: Pick<CommandContext, 'client' | 'global'>,
  provider: ProviderId,
  defaults: Defaults,
  options: AgentOptions & { hasPerson: boolean; keepsMode?: boolean },
) {
  const { assertPermissionMode } = await import('./assert-mode.ts');
  const settings = settingsFor(provider, defaults, options.agent);
  const { agent } = settings;
  const personMode = options.hasPerson ? defaults.person_mode : null;
  const usualMode = options.keepsMode ? undefined : (settings.permission_mode ?? personMode);
  const permissionMode = options.permissionMode ?? limitedMode(usualMode, options.modeLimit);
  await assertPermissionMode(context, { provider, agent }, permissionMode);
  return {
    provider,
    agent,
    model: options.model ?? settings.model,
    thinking_effort: options.effort ?? settings.thinking_effort,
    permission_mode: permissionMode,
    agent_mode: options.agentMode,
    title: options.title,
  };
}

/** An agent's own mode stays, because its strictness is unknown. */
function limitedMode(
  mode: string | null | undefined,
  limit: string | undefined,
): string | null | undefined {
  if (limit === undefined || (typeof mode === 'string' && !isCommonMode(mode))) return mode;
  return stricterMode(limit, mode ?? null);
}
