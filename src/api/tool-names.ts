/** Every tool of the gateway. The configuration imports this list before all else, so this file imports nothing. */
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
 * Marks the MCP servers of a session in their environment. An agent that serves several sessions keeps those of a closed
 * one running, so the server ends them.
 */
export const MCP_SESSION_VARIABLE = 'CADRE_MCP_SESSION';
