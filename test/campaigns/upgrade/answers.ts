import type { Answers } from './stored.ts';

type Records = Record<string, string>[];

/** Asks a server for all it shows of its data; `get` returns undefined for a path that the server does not know. */
export async function askAll(
  get: (pathname: string) => Promise<unknown>,
): Promise<{ answers: Answers; seq: number }> {
  const answers: Answers = {};
  const ask = async (pathname: string): Promise<unknown> => {
    const answer = await get(pathname);
    if (answer !== undefined) answers[pathname] = answer;
    return answer;
  };
  const list = async (pathname: string) => ((await ask(pathname)) ?? []) as Records;
  for (const { id } of await list('/v1/sessions?limit=500')) {
    const session = `/v1/sessions/${id}`;
    for (const { turn_id } of await list(`${session}/turns?limit=500`))
      await ask(`${session}/turns/${turn_id}/items`);
    for (const part of ['approvals?limit=500', ...partsOfSessions]) await ask(`${session}/${part}`);
  }
  for (const { process_id } of await list('/v1/processes?limit=500'))
    await ask(`/v1/processes/${process_id}/logs`);
  for (const { id } of await list('/v1/worktrees?limit=500')) await ask(`/v1/worktrees/${id}`);
  for (const { id } of await list('/v1/teams?limit=500'))
    for (const part of ['', '/messages', '/deliveries']) await ask(`/v1/teams/${id}${part}`);
  for (const pathname of lists) await ask(pathname);
  const events = await list('/v1/events?limit=10000');
  return { answers, seq: Number(events.at(-1)?.seq) };
}

const partsOfSessions = ['queue', 'review', 'goal', 'watch', 'commands', 'snapshots'];
const lists = [
  '/v1/approval-rules?limit=500',
  '/v1/budgets',
  '/v1/tokens',
  '/v1/races?limit=500',
  '/v1/worktree-trust',
];
