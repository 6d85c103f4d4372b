import { type Command, Option } from 'commander';
import { type ProviderId, providerId } from '../api/provider-kinds.ts';

/** The options that open a session. */
export interface OpenOptions {
  provider: ProviderId;
  model?: string;
  cwd?: string;
  permissionMode?: string;
  title?: string;
}

/** Adds the options that open a session. */
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

/** The request that the options mean. The agent works where the command was called, not where the server was. */
export function openBody({ provider, model, cwd, permissionMode, title }: OpenOptions) {
  return { provider, model, cwd: cwd ?? process.cwd(), permission_mode: permissionMode, title };
}
