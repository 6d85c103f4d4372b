import { permissionModes } from '../../api/permission-modes.ts';

/** The options of the commands that send or queue a turn of a session. */
export interface TurnSettingOptions {
  permissionMode?: string;
  agentMode?: string;
  model?: string;
  effort?: string;
}

/** The permission modes that every agent has. */
export const MODES = `${permissionModes.filter((mode) => mode !== 'bypass').join(', ')}, or a mode of the agent`;

export const turnSettingOptions = [
  `--permission-mode <mode>  Permission mode for this turn: which agent actions need your approval (modes: ${MODES})`,
  '--agent-mode <mode>  Name of a mode that the agent itself defines, such as plan, for this turn',
  '--model <model>  Model of the agent for this turn',
  '--effort <effort>  Reasoning effort of the model for this turn',
];

export function turnSettings({ permissionMode, agentMode, model, effort }: TurnSettingOptions) {
  return { permission_mode: permissionMode, agent_mode: agentMode, model, thinking_effort: effort };
}
