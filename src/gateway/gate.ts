import type { ToolName } from '../api/tool-names.ts';
import { kindOfMode, type ModeKind } from '../sessions/permission-mode.ts';

/** Whether an effect may happen: at once, once a person has accepted it, or not at all. */
export type Verdict = 'free' | 'ask' | 'refuse';

/** The verdict for each kind of permission mode. */
export type Row = Readonly<Record<ModeKind, Verdict>>;

/** What an agent could do without the tool, or what concerns cadre's own records alone. */
const harmless: Row = { read_only: 'free', asks: 'free', writes: 'free', full: 'free' };
/** What runs a command outside of the agent's own sandbox. */
const command: Row = { read_only: 'refuse', asks: 'ask', writes: 'ask', full: 'free' };
/** What writes files and refs of a repository, and runs none of its commands. */
const repository: Row = { read_only: 'refuse', asks: 'ask', writes: 'free', full: 'free' };
/** What reads a file with the rights of the server, which the agent's sandbox may not have. */
const outsideFile: Row = { read_only: 'ask', asks: 'ask', writes: 'ask', full: 'free' };

/**
 * Everything that a call of a tool can cause, and the verdict in each mode. A call that causes several things has to
 * pass all their rows. docs/permissions.md shows this table.
 */
export const gateTable = {
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

/** One thing that a call of a tool causes. */
export type Effect = {
  [Tool in ToolName]: { tool: Tool; action: keyof (typeof gateTable)[Tool] };
}[ToolName];

/** Under which circumstances an effect is to happen. */
export interface Circumstances {
  /** The permission mode of the caller's turn; of its session where it is at no turn. */
  mode: string | null;
  /** Who answers for the call: the operator who makes it, a person who can be asked in the turn, or nobody. */
  asked: 'operator' | 'person' | 'nobody';
  /** The tools that the operator has freed: `[gateway] free`. A `read_only` turn is not freed by it. */
  freed: readonly ToolName[];
}

/** The gate: whether an effect may happen. */
export function verdictOf(effect: Effect, { mode, asked, freed }: Circumstances): Verdict {
  if (asked === 'operator') return 'free';
  const kind = kindOfMode(mode);
  const verdict = rowOf(effect)[kind];
  if (verdict !== 'ask') return verdict;
  if (kind !== 'read_only' && freed.includes(effect.tool)) return 'free';
  return asked === 'person' ? 'ask' : 'refuse';
}

/** The strictest of the verdicts for several effects of one call. */
export function verdictOfAll(effects: readonly Effect[], given: Circumstances): Verdict {
  const verdicts = effects.map((effect) => verdictOf(effect, given));
  return (
    verdicts.find((one) => one === 'refuse') ?? verdicts.find((one) => one === 'ask') ?? 'free'
  );
}

/** How a person lets the tool do this without being asked, in words that end a refusal. */
export function wayOut({ tool }: Effect, mode: string | null): string {
  return kindOfMode(mode) === 'read_only'
    ? 'send a turn with another permission_mode'
    : `send a turn with the permission_mode full_access, or free the tool with [gateway] free = ["${tool}"] in the configuration`;
}

function rowOf({ tool, action }: Effect): Row {
  return (gateTable[tool] as Readonly<Record<string, Row>>)[action] as Row;
}
