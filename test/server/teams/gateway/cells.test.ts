import fs from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect, it } from 'vitest';
import type { RuntimeEventRecord } from '../../../../src/api/events.ts';
import type { ToolName } from '../../../../src/api/tool-names.ts';
import type { Process } from '../../../../src/api/processes.ts';
import type { Session } from '../../../../src/api/sessions.ts';
import type { Message } from '../../../../src/api/team-messages.ts';
import type { TeamWithMembers } from '../../../../src/api/teams.ts';
import type { Worktree } from '../../../../src/api/worktrees.ts';
import type {
  policyTable,
  Verdict,
} from '../../../../src/server/teams/gateway/tool-policy-table.ts';
import { sharedHarness, type Harness } from '../../../support/sessions/harness.ts';
import { completed, interrupted } from '../../../support/teams/team.ts';
import { commit, makeRepository, write } from '../../../support/worktrees/work.ts';
import { atLength } from '../../../support/at-length.ts';
import { columns, rows } from './policy-table.ts';
import { scaled } from '../../../support/patience.ts';

/** An agent at a turn, which leads a team with one more member, and works in a repository. */
interface Cell {
  harness: Harness;
  caller: Session;
  mate: Session;
  team: string;
  repo: string;
  /** A name that no other cell has. */
  name: string;
}

/** A call, and whether what it is for has happened. */
interface Attempt {
  args: object;
  happened: () => Promise<boolean>;
}

type Attempts = {
  [Tool in ToolName]: {
    [Action in keyof (typeof policyTable)[Tool]]: (cell: Cell) => Promise<Attempt>;
  };
};

/** One real call for each row of the tool policy. */
const attempts: Attempts = {
  cadre_process_run: {
    async run({ repo, name }) {
      const marker = path.join(repo, `${name}.marker`);
      return {
        args: { command: `touch '${marker}'`, wait_ms: 30_000 },
        happened: async () => fs.existsSync(marker),
      };
    },
  },
  cadre_process_status: { read: async () => ({ args: {}, happened: async () => true }) },
  cadre_process_logs: {
    async read(cell) {
      const { process_id } = await running(cell);
      return { args: { process_id }, happened: async () => true };
    },
  },
  cadre_process_kill: {
    async kill(cell) {
      const { process_id } = await running(cell);
      const events = `/v1/processes/${process_id}/events`;
      return {
        args: { process_id },
        happened: () =>
          hasHappened(cell.harness, events, 'process.kill_requested', 'process.killed'),
      };
    },
  },
  cadre_team_status: { read: async () => ({ args: {}, happened: async () => true }) },
  cadre_team_message: {
    send: async (cell) => message(cell),
    async interrupt(cell) {
      const { harness, mate } = cell;
      await begin(harness, mate);
      return {
        args: { ...message(cell).args, policy: 'immediate_interrupt' },
        happened: () =>
          hasHappened(harness, `/v1/sessions/${mate.id}/events`, 'turn.interrupt_requested'),
      };
    },
    image_inside_cwd: async (cell) => withImage(message(cell), insideImage(cell)),
    image_outside_cwd: async (cell) => withImage(message(cell), outsideImage(cell)),
  },
  cadre_team_manage: {
    add_member: async (cell) => member(cell),
    async remove_member(cell) {
      return {
        args: { remove_agent_ids: [cell.mate.id] },
        happened: async () => !(await membersOf(cell)).includes(cell.mate.id),
      };
    },
    async create_worktree(cell) {
      const worktrees = () => cell.harness.get<Worktree[]>('/v1/worktrees?limit=500');
      return {
        args: { ...member(cell).args, worktree_name: cell.name },
        happened: async () =>
          (await worktrees()).body.some(
            ({ worktree_name, path: place }) => worktree_name === cell.name && fs.existsSync(place),
          ),
      };
    },
    async run_init_script(cell) {
      // Its content is another one in each cell: what was consented to in one asks for nothing in the next.
      const marker = path.join(cell.repo, `${cell.name}.init`);
      write(cell.repo, { '.cadre/worktree-init.sh': `touch '${marker}'\n` });
      commit(cell.repo, cell.name);
      return {
        args: { ...member(cell).args, worktree_name: cell.name },
        happened: async () => fs.existsSync(marker),
      };
    },
    image_inside_cwd: async (cell) => withImage(member(cell), insideImage(cell)),
    image_outside_cwd: async (cell) => withImage(member(cell), outsideImage(cell)),
  },
};

const given = sharedHarness({
  agents: {
    capabilities: { images: true },
    onTurn(turn) {
      if (turn.text !== STAY) turn.end(completed);
      else void turn.cancelled.then(() => turn.end(interrupted));
    },
  },
});
let repo: string | undefined;
let cells = 0;

/** Tries one cell of the table. */
async function expectVerdict(
  { tool, action }: { tool: string; action: string },
  { session, turn }: { session: string | null; turn: string | null },
  verdict: Verdict,
): Promise<void> {
  const harness = given();
  repo ??= makeRepository(path.join(harness.directory, '..', 'repo'));
  const cell = await openCell(harness, repo, `cell-${++cells}`, session);
  await begin(harness, cell.caller, turn);
  const attempt = await (
    attempts[tool as ToolName] as Record<string, (cell: Cell) => Promise<Attempt>>
  )[action]?.(cell);
  if (!attempt) throw new Error(`no attempt for ${tool} ${action}`);
  const call = () => harness.callTool(cell.caller, tool, attempt.args);
  const isRead = action === 'read';
  const expectNothing = async () => isRead || expect(await attempt.happened()).toBe(false);
  await expectNothing();
  if (verdict === 'ask') {
    const declined = call();
    const first = await harness.asked(cell.caller.id);
    await expectNothing();
    await harness.decide(first, 'decline');
    expect((await declined).error.code).toBe('unauthorized');
    await expectNothing();
    const accepted = call();
    const second = await harness.asked(cell.caller.id, 2);
    await expectNothing();
    await harness.decide(second, 'accept');
    expect((await accepted).error).toBeUndefined();
  } else if (verdict === 'refuse') {
    expect((await call()).error.code).toBe('unauthorized');
  } else {
    expect((await call()).error).toBeUndefined();
  }
  if (!isRead) expect(await attempt.happened()).toBe(verdict !== 'refuse');
  const asked = await harness.approvals(`?session_id=${cell.caller.id}&status=pending`);
  expect(asked).toEqual([]);
  await closeCell(cell);
}

for (const [at, { tool, action, row }] of rows.entries())
  for (const [nth, { kind, modes }] of columns.entries()) {
    // In the suite every other cell, and of the next row those between them; all of a row like no other.
    const isAlone = rows.every(
      (other, index) => index === at || !isDeepStrictEqual(other.row, row),
    );
    if (!isAlone && (at + nth) % atLength(2, 1, 1) !== 0) continue;
    const verdict = row[kind];
    const turns = modes.map(String).join(', ');
    it(
      `The policy for ${tool} ${action} is ${verdict} in a turn with ${turns}.`,
      { timeout: scaled(60_000) },
      async () => {
        const ofSession = modes.map((mode) => ({ session: mode, turn: null }));
        // The turn's own mode holds, whatever the session may do.
        const session = kind === 'full' ? 'read_only' : 'full_access';
        const ways = [...ofSession, { session, turn: modes[0] ?? 'default' }];
        // The suite tries each cell in one of these ways. Every other cell moves on to the next way.
        const way = Math.floor(at / 2) % ways.length;
        const tried = atLength(1, 0, 0) ? ways.slice(way, way + 1) : ways;
        for (const way of tried) await expectVerdict({ tool, action }, way, verdict);
      },
    );
  }

const STAY = 'stay';

async function openCell(
  harness: Harness,
  repo: string,
  name: string,
  permission_mode: string | null,
): Promise<Cell> {
  const caller = await harness.open({ cwd: repo, permission_mode });
  const mate = await harness.open({ cwd: repo });
  const { body } = await harness.post<TeamWithMembers>('/v1/teams', {
    name,
    lead_agent_id: caller.id,
    member_agent_ids: [mate.id],
  });
  return { harness, caller, mate, team: body.team.id, repo, name };
}

/** Agents that are left over would fill the pool. */
async function closeCell(cell: Cell): Promise<void> {
  const { harness, caller, mate } = cell;
  const ids = new Set([...(await membersOf(cell)), mate.id, caller.id]);
  for (const id of ids) await harness.close(id);
  fs.rmSync(path.join(cell.repo, `${cell.name}.png`), { force: true });
}

/** Begins a turn that lasts until it is interrupted. */
async function begin(
  harness: Harness,
  session: Session,
  permission_mode: string | null = null,
): Promise<void> {
  const { body } = await harness.send(session, {
    input: [{ type: 'text', text: STAY }],
    permission_mode,
  });
  await harness.until(({ kind, turn_id }) => kind === 'turn.started' && turn_id === body.turn_id);
}

async function hasHappened(harness: Harness, events: string, ...kinds: string[]): Promise<boolean> {
  const { body } = await harness.get<RuntimeEventRecord[]>(`${events}?limit=10000`);
  return body.some(({ kind }) => kinds.includes(kind));
}

async function running({ harness, caller }: Cell): Promise<Process> {
  const body = { command: 'sleep 60', session_id: caller.id };
  return (await harness.post<{ process: Process }>('/v1/processes', body)).body.process;
}

async function membersOf({ harness, team }: Cell): Promise<string[]> {
  const { body } = await harness.get<TeamWithMembers>(`/v1/teams/${team}`);
  return body.members.map(({ agent_id }) => agent_id);
}

function message({ harness, mate, team, name }: Cell): Attempt {
  const sent = () => harness.get<Message[]>(`/v1/teams/${team}/messages`);
  return {
    args: { recipient_agent_id: mate.id, message: name },
    happened: async () =>
      (await sent()).body.some(({ input }) => JSON.stringify(input).includes(name)),
  };
}

function member(cell: Cell): Attempt {
  return {
    args: { title: cell.name, prompt: 'hello' },
    happened: async () => (await membersOf(cell)).length > 2,
  };
}

function withImage({ args, happened }: Attempt, file: string): Attempt {
  return { args: { ...args, image_paths: [file] }, happened };
}

function insideImage({ repo, name }: Cell): string {
  const file = path.join(repo, `${name}.png`);
  fs.writeFileSync(file, PNG);
  return file;
}

/** A link that lies inside, to a file that lies outside. */
function outsideImage({ repo, name, harness }: Cell): string {
  const file = path.join(harness.directory, '..', 'outside.png');
  fs.writeFileSync(file, PNG);
  const link = path.join(repo, `${name}.png`);
  fs.symlinkSync(file, link);
  return link;
}

const PNG = Buffer.from('89504e470d0a1a0a00', 'hex');
