import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import type { LeftOut } from '../../../../src/server/teams/gateway/bounded.ts';
import { type Harness, testHarness } from '../../../support/sessions/harness.ts';
import { type TeamHarness, completed, makeTeam } from '../../../support/teams/team.ts';

const LIMIT = 16 * 1024;

interface Result {
  members: { agent_id: string }[];
  messages: { id: string; input: { text: string } }[];
  processes: { process_id: string }[];
  process: { process_id: string };
  stdout: { content: string; offset: number };
  stdout_tail: string;
  left_out: LeftOut[] | null;
}

/** Calls a tool; its result, and how many bytes the whole answer was. */
async function call(harness: Harness, caller: string, tool_name: string, args: object = {}) {
  const { body } = await harness.post<{ ok: boolean; result: Result }>('/v1/mcp/invoke', {
    tool_name,
    caller_agent_id: caller,
    args,
  });
  expect(body).toMatchObject({ ok: true });
  return { result: body.result, bytes: Buffer.byteLength(JSON.stringify(body)) };
}

/** The arguments that show what a list left out, or undefined. */
function nextOf({ left_out }: Result, what: string): object | undefined {
  return left_out?.find((one) => one.what === what)?.next ?? undefined;
}

/** Says so many things to a team whose members are at work, so that no turn has to be run. */
async function saidMuch(teamHarness: TeamHarness, count: number, text: string): Promise<string[]> {
  for (const agent of teamHarness.agents.slice(1))
    await teamHarness.harness.startTurn(agent, 'work');
  const ids: string[] = [];
  for (let n = 0; n < count; n++)
    ids.push((await teamHarness.broadcast(`${n} ${text}`)).body.message.id);
  return ids;
}

it('The status of a team with many messages is complete, page by page.', async () => {
  const harness = await testHarness();
  const teamHarness = await makeTeam(harness, 5);
  const said = await saidMuch(teamHarness, 30, 'é'.repeat(300));
  const seen: string[] = [];
  for (let args: object | undefined = {}; args !== undefined;) {
    const { result, bytes } = await call(
      harness,
      teamHarness.agents[0].id,
      'cadre_team_status',
      args,
    );
    expect(bytes).toBeLessThanOrEqual(LIMIT);
    expect(result.members.map(({ agent_id }) => agent_id)).toEqual(
      teamHarness.agents.map(({ id }) => id),
    );
    seen.push(...result.messages.map(({ id }) => id));
    args = nextOf(result, 'messages');
  }
  expect(seen).toEqual(said.toReversed());
});

it('The status of a team with many members has each member once, page by page.', async () => {
  const harness = await testHarness();
  const teamHarness = await makeTeam(harness, 40);
  const seen: string[] = [];
  for (let args: object | undefined = {}; args !== undefined;) {
    const { result, bytes } = await call(
      harness,
      teamHarness.agents[0].id,
      'cadre_team_status',
      args,
    );
    expect(bytes).toBeLessThanOrEqual(LIMIT);
    seen.push(...result.members.map(({ agent_id }) => agent_id));
    args = nextOf(result, 'members');
  }
  expect(seen).toEqual(teamHarness.agents.map(({ id }) => id));
});

it('A message of a megabyte is cut, with a mark.', async () => {
  const harness = await testHarness();
  const teamHarness = await makeTeam(harness, 2);
  await teamHarness.say('x'.repeat(1024 * 1024));
  const { result, bytes } = await call(harness, teamHarness.agents[0].id, 'cadre_team_status');
  expect(bytes).toBeLessThanOrEqual(LIMIT);
  expect(result.messages[0]?.input.text).toMatch(/x… \[\d+ more bytes left out\]$/);
  (await harness.provider.nextTurn()).end(completed);
});

it('The processes of a session are listed newest first, page by page.', async () => {
  const harness = await testHarness();
  const { id } = await harness.open({ permission_mode: null });
  const ran: string[] = [];
  for (let n = 0; n < 30; n++) {
    const command = `true ${'\u0001"x'.repeat(300)}`;
    const { body } = await harness.post<Result>('/v1/processes', { command, session_id: id });
    ran.push(body.process.process_id);
  }
  const seen: string[] = [];
  for (let args: object | undefined = {}; args !== undefined;) {
    const { result, bytes } = await call(harness, id, 'cadre_process_status', args);
    expect(bytes).toBeLessThanOrEqual(LIMIT);
    seen.push(...result.processes.map(({ process_id }) => process_id));
    args = nextOf(result, 'processes');
  }
  expect(seen).toEqual(ran.toReversed());
});

it('The output of a process: its end, and the earlier output page by page.', async () => {
  const harness = await testHarness();
  const { id } = await harness.open({ permission_mode: null });
  // Escaped in JSON each line takes several times what it is.
  const program = path.join(harness.directory, 'print.mjs');
  fs.writeFileSync(
    program,
    'for (let n = 0; n < 1500; n++) console.log(n + " \\u0001\\u0002\\"\\\\ é€");',
  );
  const command = `${process.execPath} ${program}`;
  const { result: ran, bytes: ranBytes } = await call(harness, id, 'cadre_process_run', {
    command,
    wait_ms: 50_000,
  });
  expect(ranBytes).toBeLessThanOrEqual(LIMIT);
  expect(ran.stdout_tail).toContain('1499 ');
  const whole = Array.from({ length: 1500 }, (_, n) => `${n} \u0001\u0002"\\ é€\n`).join('');
  let seen = '';
  const { process_id } = ran.process;
  for (let args: object | undefined = {}; args !== undefined;) {
    const lines = { process_id, tail_lines: 10_000, ...args };
    const { result, bytes } = await call(harness, id, 'cadre_process_logs', lines);
    expect(bytes).toBeLessThanOrEqual(LIMIT);
    seen = result.stdout.content + seen;
    args = result.left_out?.[0]?.next ?? undefined;
  }
  expect(seen).toBe(whole);
});
