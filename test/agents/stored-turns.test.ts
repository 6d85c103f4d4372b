import { expect, test } from 'vitest';
import { CodexConversations } from '../../src/agents/codex/threads.ts';
import { boundedTurn, type StoredItem, type StoredTurn } from '../../src/agents/conversations.ts';
import { noteExcess } from '../../src/agents/json-connection.ts';

function turnOf(items: StoredItem[]): StoredTurn {
  return { ref: 't', occurredAt: 1, program: null, status: 'completed', prompt: 'go', items };
}

const tool = (text: string): StoredItem => ({
  kind: 'tool',
  status: 'completed',
  title: 'x',
  text,
});
const said = (text: string): StoredItem => ({
  kind: 'message',
  status: 'completed',
  title: null,
  text,
});

test('A past turn that is too long keeps its messages and its newest items.', () => {
  const outputs = Array.from({ length: 600 }, (_, i) => tool(`${i} ${'o'.repeat(16_000)}`));
  const { items } = boundedTurn(turnOf([...outputs, said('The answer.')]));
  expect(items).toHaveLength(500);
  expect(items.at(-1)?.text).toBe('The answer.');
  expect(items.at(-2)?.text).toMatch(/^599 o/);
  expect(items[0]?.text).toBe(' … [cut]');
});

test.for([
  ['is cut', 'cut'],
  ['is too long to be read', 'refused'],
] as const)('A page of Codex turns that %s is read turn by turn.', async ([, kind]) => {
  const all = ['c', 'b', 'a'].map((id, i) => ({ id, items: [], startedAt: 3 - i }));
  const conversations = new CodexConversations({
    home: () => '/nonexistent',
    program: () => ['codex'],
    owns: () => false,
    ask: async (_method, params) => {
      const { limit, cursor = '0' } = params as { limit: number; cursor?: string };
      const at = Number(cursor);
      const end = Math.min(at + limit, all.length);
      const nextCursor = end < all.length ? String(end) : null;
      if (limit === 1) return { data: all.slice(at, end), nextCursor };
      if (kind === 'refused') throw new Error('codex: the response is too long');
      const page = { data: all.slice(at, at + 1), nextCursor };
      noteExcess(page, { bytes: 9_000_000, limit: 'bytes' });
      return Promise.resolve(page);
    },
  });
  const query = { after: null, max: 200 };
  const { turns, omitted } = await conversations.turns('ref', query, new AbortController().signal);
  expect([turns.map(({ ref }) => ref).toSorted(), omitted]).toEqual([['a', 'b', 'c'], 0]);
});
