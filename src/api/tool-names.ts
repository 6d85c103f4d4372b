/** Every tool of the gateway. The configuration imports this list first, so this file imports nothing. */
export const toolNames = [
  'cadre_process_run',
  'cadre_process_status',
  'cadre_process_logs',
  'cadre_process_kill',
  'cadre_team_status',
  'cadre_team_message',
  'cadre_team_manage',
] as const;
export type ToolName = (typeof toolNames)[number];

/**
 * The environment variable that marks the MCP servers of a session. An agent that serves several sessions leaves the
 * MCP servers of a closed session running; the server finds them by this variable and stops them.
 */
export const MCP_SESSION_VARIABLE = 'CADRE_MCP_SESSION';
