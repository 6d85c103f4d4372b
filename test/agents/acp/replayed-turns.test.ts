import { expect, test } from 'vitest';
import { ReplayedTurns } from '../../../src/agents/acp/conversations.ts';

const text = (said: string) => ({ type: 'text', text: said });
const prompt = (said: string, messageId?: string) => ({
  sessionUpdate: 'user_message_chunk',
  content: text(said),
  ...(messageId === undefined ? {} : { messageId }),
});
const answer = (said: string, messageId?: string) => ({
  sessionUpdate: 'agent_message_chunk',
  content: text(said),
  ...(messageId === undefined ? {} : { messageId }),
});

function replayed(updates: unknown[], max = 100): ReplayedTurns {
  const turns = new ReplayedTurns('raw', max);
  for (const update of updates) turns.add(update);
  return turns;
}

test('Prompts with ids of their own are turns, also without an answer.', () => {
  const { turns } = replayed([prompt('a', '1'), prompt('b', '2'), answer('c')]).after(null);
  expect(turns.map(({ ref, prompt: said }) => [ref, said])).toEqual([
    ['1', 'a'],
    ['2', 'b'],
  ]);
});

test('Messages with different ids are different items.', () => {
  const updates = [prompt('a'), answer('b', '1'), answer('c', '1'), answer('d', '2')];
  const [turn] = replayed(updates).after(null).turns;
  expect(turn?.items.map((one) => one.text)).toEqual(['bc', 'd']);
});

test('Output before the first prompt, updates of the session and unknown updates are left out.', () => {
  const updates = [
    answer('lost'),
    prompt('a'),
    { sessionUpdate: 'session_info_update', title: 'a title' },
    { sessionUpdate: 'something_new' },
    null,
    answer('b'),
  ];
  const { turns } = replayed(updates).after(null);
  expect(turns).toMatchObject([{ prompt: 'a', items: [{ text: 'b' }] }]);
});

test('Only the turns after the mark are returned, also if equal prompts came before.', () => {
  const before = [prompt('go'), answer('1'), prompt('go'), answer('2')];
  const { newest } = replayed(before).after(null);
  const { turns, omitted } = replayed([...before, prompt('go'), answer('3')]).after(newest);
  expect(turns.map(({ items }) => items[0]?.text)).toEqual(['3']);
  expect(omitted).toBe(0);
});

test('Turns whose prompts share an id are different turns.', () => {
  const before = [prompt('a', '1'), answer('b'), prompt('c', '1'), answer('d')];
  const { newest } = replayed(before).after(null);
  const all = replayed([...before, prompt('e', '1'), answer('f')]);
  expect(all.after(newest).turns.map(({ prompt: said }) => said)).toEqual(['e']);
  expect(new Set(all.after(null).turns.map(({ ref }) => ref)).size).toBe(3);
});

test('No turn is returned if the replay no longer has the mark, so that none is stored twice.', () => {
  const mark = { ref: 'gone', occurredAt: null };
  const { turns, newest } = replayed([prompt('a', '1'), answer('b')]).after(mark);
  expect(turns).toEqual([]);
  expect(newest?.ref).toBe('1');
});

test('The newest turns are kept, and the others are counted.', () => {
  const updates = ['a', 'b', 'c'].flatMap((said) => [prompt(said), answer(said)]);
  const { turns, omitted, newest } = replayed(updates, 2).after(null);
  expect(turns.map((one) => one.prompt)).toEqual(['b', 'c']);
  expect(omitted).toBe(1);
  expect(replayed(updates, 0).after(null)).toEqual({ turns: [], omitted: 3, newest });
});

test('A long text is cut, and an image is named.', () => {
  const image = { type: 'image', mimeType: 'image/png', data: 'AAAA' };
  const chunks = Array.from({ length: 100 }, () => answer('x'.repeat(1000)));
  const updates = [{ sessionUpdate: 'user_message_chunk', content: image }, ...chunks];
  const [turn] = replayed(updates).after(null).turns;
  expect(turn?.prompt).toBe('[image]');
  expect(turn?.items).toHaveLength(1);
  expect(turn?.items[0]?.text).toMatch(/^x{16384} … \[cut\]$/);
});
