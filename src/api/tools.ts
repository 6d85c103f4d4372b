import { z } from 'zod';
import type { ToolInfo, toolNamespaceNames } from './gateway.ts';
import { imagePaths, memberTitle, policy, priority } from './teams.ts';
import { worktreeName } from './worktrees.ts';
import { providerId } from './sessions.ts';
import { getProcessLogs, killReason, newProcess } from './processes.ts';
import type { ToolName } from './tool-names.ts';

/** A tool as agents see it. What it takes is strict: an argument that it does not know is refused by name. */
export interface ToolDescription<Args extends z.ZodType = z.ZodType> {
  description: string;
  args: Args;
}

const { command, cwd, timeout_ms, on_exit } = newProcess.shape;
const { stream, tail_lines, max_bytes } = getProcessLogs.query;
const process_id = z.string().describe('A process of yours.');

/** Processes of the session that calls: nobody else's are seen. */
const processTools = {
  cadre_process_run: tool(
    'Runs a command as a supervised process that outlives your turn: servers, watchers, long builds and tests. ' +
      'It starts as soon as there is a place for it. Give wait_ms to get the result of a short one at once, ' +
      'or on_exit: "notify" to be told of its end by a message.',
    z.strictObject({
      command,
      cwd: cwd.describe('Relative to the directory of your session.'),
      timeout_ms,
      on_exit,
      wait_ms: z
        .int()
        .min(0)
        .max(55_000)
        .nullish()
        .describe('Answer when it has ended, or after so long: then with what it has printed.'),
    }),
  ),
  cadre_process_status: tool(
    'How a process of yours is, or the newest of all of yours.',
    z.strictObject({ process_id: process_id.nullish() }),
  ),
  cadre_process_logs: tool(
    'The end of what a process of yours has printed.',
    z.strictObject({
      process_id,
      stream: stream.unwrap().nullish().describe('Default: both.'),
      tail_lines: tail_lines.unwrap().nullish().describe('Of each stream; default 200.'),
      max_bytes: max_bytes.unwrap().nullish().describe('Of each stream; default 65536.'),
    }),
  ),
  cadre_process_kill: tool(
    'Ends a process of yours and all it started.',
    z.strictObject({ process_id, reason: killReason }),
  ),
};

const team_id = z.string().nullish().describe('Where you are in several teams: which.');

/** Teams that the session that calls is in. */
const teamTools = {
  cadre_team_status: tool(
    'Your team: who is in it, what they do just now, and what was said last.',
    z.strictObject({ team_id }),
  ),
  cadre_team_message: tool(
    'Says something to a member of your team, or to all. It comes to them as a message of its own; what they answer ' +
      'comes to you in the same way, when you are idle, so end your turn rather than wait for it.',
    z.strictObject({
      team_id,
      recipient_agent_id: z.string().describe('The agent_id of a member, or "broadcast".'),
      message: z.string().min(1),
      image_paths: imagePaths,
      priority: priority.nullish().describe('Default: normal.'),
      policy: policy.nullish(),
    }),
  ),
  cadre_team_manage: tool(
    'Adds one member to your team, a new agent like you, or removes members: give remove_agent_ids for that.',
    z.strictObject({
      team_id,
      title: memberTitle,
      prompt: z.string().min(1).nullish().describe('What the new member is told first.'),
      model_preset: z.string().nullish().describe('Which model it is; else it is as you are.'),
      provider: providerId.nullish(),
      worktree_name: worktreeName
        .nullish()
        .describe('A git worktree for it; made where there is none.'),
      image_paths: imagePaths,
      remove_agent_ids: z.array(z.string()).min(1).nullish(),
    }),
  ),
};

/** Every tool, by the namespace that its name begins with. */
export const toolNamespaces = {
  cadre_process: processTools,
  cadre_team: teamTools,
} satisfies {
  [Space in (typeof toolNamespaceNames)[number]]: Record<
    Extract<ToolName, `${Space}_${string}`>,
    ToolDescription
  >;
};

/** Tools as they are listed: what each takes is JSON Schema. */
export function listed(tools: Readonly<Record<string, ToolDescription>>): ToolInfo[] {
  return Object.entries(tools).map(([name, { description, args }]) => {
    const { $schema: _which, ...input_schema } = z.toJSONSchema(args, { io: 'input' });
    return { name, description, input_schema };
  });
}

function tool<Args extends z.ZodType>(description: string, args: Args): ToolDescription<Args> {
  return { description, args };
}
