import { endpoints } from '../../../api/index.ts';
import { usageError } from '../../../api/errors.ts';
import { endpointCommand } from '../endpoint-command.ts';
import { parseMetadata } from '../metadata.ts';
import { imagesOption, sessionAs, team, valueOf } from '../parameters.ts';
import { readPrompt } from '../prompt.ts';

const source = 'Team member that the new session copies its settings from by default';

/** `cadre teams spawn`. */
export const teamSpawn = endpointCommand({
  name: 'spawn',
  description: 'Create a session, and add the session to a team',
  endpoint: endpoints.spawnMember,
  operands: [
    team,
    {
      flags: '[prompt]',
      description: 'First prompt of the new session (- reads the prompt from stdin)',
      read: async (text: string, { world }) => ({ prompt: await readPrompt(text, world.stdin) }),
    },
  ],
  options: [
    { ...sessionAs('source_session_id', '--source <session>', source), required: true },
    valueOf('title', '--title <title>', 'Title of the new member in the team'),
    valueOf('provider', '--provider <provider>', 'Provider of the agent that the new member runs'),
    {
      flags: '--agent <agent>',
      description:
        'Name of the agent for the provider acp, such as gemini (list the names with cadre providers discover)',
      field: 'agent',
    },
    valueOf('model', '--model <model>', 'Model of the agent'),
    {
      flags: '--preset <name>',
      description:
        'Model preset from teams.model_presets in the configuration (instead of --provider, --agent and --model)',
      field: 'model_preset',
    },
    {
      flags: '--permission-mode <mode>',
      description: 'Permission mode: which agent actions need your approval',
      field: 'permission_mode',
    },
    {
      flags: '--agent-mode <mode>',
      description:
        'Name of a mode that the agent itself defines, such as plan (only for the provider acp)',
      field: 'agent_mode',
    },
    {
      flags: '--worktree <name>',
      description:
        'Name of the git worktree in which the new member works (cadre creates the worktree if it does not exist)',
    },
    {
      flags: '--branch-prefix <prefix>',
      description: 'Prefix of the branch name of the worktree (only with --worktree)',
    },
    {
      flags: '--base <ref>',
      description:
        'Commit or branch that the branch of the worktree starts from (only with --worktree)',
    },
    {
      flags: '--no-init',
      description: "Do not run the repository's init script (.cadre/worktree-init.sh)",
    },
    {
      flags: '--no-include',
      description: 'Do not copy the files listed in .worktreeinclude to the worktree',
    },
    {
      flags: '--metadata <json>',
      description: 'JSON value to store with the session',
      read: (json: string) => ({ metadata: parseMetadata(json) }),
    },
    imagesOption('prompt'),
  ],
  fields(options: SpawnOptions) {
    const { preset, provider, agent, model } = options;
    if (preset !== undefined && (provider ?? agent ?? model) !== undefined)
      throw usageError('--preset cannot be combined with --provider, --agent and --model');
    return { worktree: worktreeOf(options) };
  },
  print: ({ session }) => `${session.id}\n`,
});

type SpawnOptions = {
  provider?: string;
  agent?: string;
  model?: string;
  preset?: string;
  worktree?: string;
  branchPrefix?: string;
  base?: string;
  init: boolean;
  include: boolean;
};

/** The worktree that the options ask for. Throws `usage` where they describe one and do not name it. */
function worktreeOf({ worktree: name, branchPrefix, base, init, include }: SpawnOptions) {
  if (name === undefined) {
    if (branchPrefix === undefined && base === undefined && init && include) return undefined;
    throw usageError('--branch-prefix, --base, --no-init and --no-include require --worktree');
  }
  return {
    mode: 'reuse' as const,
    name,
    branch_prefix: branchPrefix,
    base_ref: base,
    run_init_script: init ? undefined : false,
    copy_included: include ? undefined : false,
  };
}
