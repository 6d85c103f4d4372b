import { type Command, Option } from 'commander';
import { type ProviderId, providerId } from '../api/provider-kinds.ts';

/** The options of the commands that open a session. */
export interface OpenOptions {
  provider: ProviderId;
  model?: string;
  cwd?: string;
  permissionMode?: string;
  title?: string;
}

/** Adds these options to a command. */
export function withOpenOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--provider <provider>', 'whose agent').choices(providerId.options).default('acp'),
    )
    .option('--model <model>', 'a model of the provider')
    .option('--cwd <directory>', 'where the agent works (default: here)')
    .option('--permission-mode <mode>', 'what the agent may do; require_approval: it asks you')
    .option('--title <title>', 'a name for people');
}

/** The request for these options. Without `--cwd` the agent works in the directory of the command, not the server's. */
export function openBody({ provider, model, cwd, permissionMode, title }: OpenOptions) {
  return { provider, model, cwd: cwd ?? process.cwd(), permission_mode: permissionMode, title };
}
