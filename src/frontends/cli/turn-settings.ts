import type { Command } from 'commander';

/** The options of the commands that send or queue a turn of a session. */
export interface TurnSettingOptions {
  permissionMode?: string;
  agentMode?: string;
  model?: string;
  effort?: string;
}

/** Adds these options to a command. */
export function withTurnSettings(command: Command): Command {
  return command
    .option(
      '--permission-mode <mode>',
      'Permission mode for this turn: which agent actions need your approval',
    )
    .option(
      '--agent-mode <mode>',
      'Name of a mode that the agent itself defines, such as plan, for this turn',
    )
    .option('--model <model>', 'Model of the agent for this turn')
    .option('--effort <effort>', 'Reasoning effort of the model for this turn');
}

/** The fields of a request for these options. */
export function turnSettings({ permissionMode, agentMode, model, effort }: TurnSettingOptions) {
  return { permission_mode: permissionMode, agent_mode: agentMode, model, thinking_effort: effort };
}
