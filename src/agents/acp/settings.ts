import type { AgentModes } from './catalogue-entry.ts';

/** How the provider is configured: the section `[providers.acp]`, whose command is the agent named `default`. */
export interface AcpSettings {
  enabled: boolean;
  command: string | null;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  transport: string;
  /** How long an agent may take to answer anything but a prompt; of agents with no such setting of their own too. */
  request_timeout_ms: number;
  /** The agent of sessions that name none; null: `default` where it has a command, else the only configured one. */
  default_agent: string | null;
  agents: Readonly<Record<string, AgentSettings>>;
}

/** The section `[providers.acp.agents.NAME]`. What is null or absent is as the catalogue has it. */
export interface AgentSettings {
  enabled: boolean;
  command: string | null;
  args: readonly string[] | null;
  /** Beside the variables of the catalogue. */
  env: Readonly<Record<string, string>>;
  home: string | null;
  request_timeout_ms: number | null;
  /** Empty: cadre calls no method by itself. */
  auth_method: string | null;
  pass_env: readonly string[] | null;
  /** Beside the modes of the catalogue. */
  modes: AgentModes;
  asks: boolean | null;
}
