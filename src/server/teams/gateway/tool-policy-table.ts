import type { ToolName } from '../../../api/tool-names.ts';
import { kindOfMode, type ModeKind } from '../../../api/permission-modes.ts';

/** Whether an effect is allowed: at once, after a person has accepted it, or not at all. */
export type Verdict = 'free' | 'ask' | 'refuse';

export type Row = Readonly<Record<ModeKind, Verdict>>;

/** Effects that the agent could have without the tool, or that concern only cadre's own records. */
const harmless: Row = { read_only: 'free', asks: 'free', writes: 'free', full: 'free' };
/** Effects that run a command outside the agent's sandbox. */
const command: Row = { read_only: 'refuse', asks: 'ask', writes: 'ask', full: 'free' };
/** Effects that write files and refs of a repository without running any of its commands. */
const repository: Row = { read_only: 'refuse', asks: 'ask', writes: 'free', full: 'free' };
/** Effects that read a file with the rights of the server, which the agent's sandbox may not have. */
const outsideFile: Row = { read_only: 'ask', asks: 'ask', writes: 'ask', full: 'free' };

/**
 * Every effect that a tool call can have, and the verdict in each permission mode. A call with several effects has to
 * pass the rows of all of them. docs/permissions.md shows this table.
 */
export const policyTable = {
  cadre_process_run: { run: command },
  cadre_process_status: { read: harmless },
  cadre_process_logs: { read: harmless },
  cadre_process_kill: { kill: harmless },
  cadre_team_status: { read: harmless },
  cadre_team_message: {
    send: harmless,
    interrupt: harmless,
    image_inside_cwd: harmless,
    image_outside_cwd: outsideFile,
  },
  cadre_team_manage: {
    add_member: harmless,
    remove_member: harmless,
    create_worktree: repository,
    run_init_script: command,
    image_inside_cwd: harmless,
    image_outside_cwd: outsideFile,
  },
} as const satisfies Record<ToolName, Readonly<Record<string, Row>>>;

export type Effect = {
  [Tool in ToolName]: { tool: Tool; action: keyof (typeof policyTable)[Tool] };
}[ToolName];

/** The facts about a call that decide its verdict. */
export interface Circumstances {
  /** The permission mode of the caller's turn; of its session if it has no turn. */
  mode: string | null;
  /** Who can approve the call: the operator who makes it, a person who can be asked in the turn, or nobody. */
  asked: 'operator' | 'person' | 'nobody';
  /** The tools that the operator has freed: `[gateway] free`. In a `read_only` turn this has no effect. */
  freed: readonly ToolName[];
}

export function verdictOf(effect: Effect, { mode, asked, freed }: Circumstances): Verdict {
  if (asked === 'operator') return 'free';
  const kind = kindOfMode(mode);
  const verdict = rowOf(effect)[kind];
  if (verdict !== 'ask') return verdict;
  if (kind !== 'read_only' && freed.includes(effect.tool)) return 'free';
  return asked === 'person' ? 'ask' : 'refuse';
}

export function verdictOfAll(effects: readonly Effect[], circumstances: Circumstances): Verdict {
  const verdicts = effects.map((effect) => verdictOf(effect, circumstances));
  return (
    verdicts.find((one) => one === 'refuse') ?? verdicts.find((one) => one === 'ask') ?? 'free'
  );
}

/** Says how a person lets the tool do this without an approval; it ends the message of a refusal. */
export function remedy({ tool }: Effect, mode: string | null): string {
  return kindOfMode(mode) === 'read_only'
    ? 'send a turn with another permission_mode'
    : `send a turn with permission_mode full_access, or allow the tool with [gateway] free = ["${tool}"] in the configuration`;
}

function rowOf({ tool, action }: Effect): Row {
  return (policyTable[tool] as Readonly<Record<string, Row>>)[action] as Row;
}
