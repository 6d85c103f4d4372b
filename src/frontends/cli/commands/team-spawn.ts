import { endpoints } from '../../../api/index.ts';
import { AppError } from '../../../api/errors.ts';
import { endpointCommand } from '../endpoint-command.ts';
import { parseMetadata } from '../metadata.ts';
import { imagesOption, sessionAs, team } from '../parameters.ts';
import { readPrompt } from '../prompt.ts';

const source = 'the member that wants it: what is not said is as there';

/** `cadre teams spawn`. */
export const teamSpawn = endpointCommand({
  name: 'spawn',
  description: 'open a session as a member of a team',
  endpoint: endpoints.spawnMember,
  operands: [
    team,
    {
      flags: '[prompt]',
      description: 'its first message; - reads it from stdin',
      read: async (text: string, { world }) => ({ prompt: await readPrompt(text, world.stdin) }),
    },
  ],
  options: [
    { ...sessionAs('source_session_id', '--source <session>', source), required: true },
    { flags: '--title <title>', description: 'what it is there for', field: 'title' },
    { flags: '--provider <provider>', description: 'whose agent', field: 'provider' },
    {
      flags: '--agent <agent>',
      description: 'an agent of acp by its name; see cadre providers discover',
      field: 'agent',
    },
    { flags: '--model <model>', description: 'a model of the provider', field: 'model' },
    {
      flags: '--preset <name>',
      description: 'one of teams.model_presets, instead of provider, agent and model',
      field: 'model_preset',
    },
    {
      flags: '--permission-mode <mode>',
      description: 'what the agent may do',
      field: 'permission_mode',
    },
    {
      flags: '--agent-mode <mode>',
      description: "the agent's own mode, by its own name; for agents of acp",
      field: 'agent_mode',
    },
    {
      flags: '--worktree <name>',
      description: 'let it work in a git worktree, made where there is none',
    },
    {
      flags: '--branch-prefix <prefix>',
      description: 'what the branch of that worktree begins with',
    },
    { flags: '--base <ref>', description: 'what that branch starts from' },
    { flags: '--no-init', description: 'do not run the init script of the repository' },
    { flags: '--no-include', description: 'do not copy the files that .worktreeinclude names' },
    {
      flags: '--metadata <json>',
      description: 'any JSON, stored with the session',
      read: (json: string) => ({ metadata: parseMetadata(json) }),
    },
    imagesOption('an image to show the agent'),
  ],
  fields(options: SpawnOptions) {
    const { preset, provider, agent, model } = options;
    if (preset !== undefined && (provider ?? agent ?? model) !== undefined)
      throw new AppError('usage', 'give --preset, or --provider, --agent and --model, not both');
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
    throw new AppError(
      'usage',
      '--branch-prefix, --base, --no-init and --no-include apply to a worktree: pass --worktree, too',
    );
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
