import { expect, test } from 'vitest';
import { defaultSettings } from '../../../src/agents/provider.ts';
import { testStore } from '../../support/memory-store.ts';
import { CutTurn, type Step } from '../cut-anywhere.ts';
import type { CutAgent } from '../cut-server.ts';
import { claudeProtocol } from './cut-protocol.ts';
import { asks, carries, result, text } from './cut-wires.ts';

const call = { id: 1, method: 'tools/call', params: { name: 'slow' } };
const calling = [
  text('I call'),
  carries('c1', call),
  carries('c2', { method: 'notifications/done' }),
  result(),
];

/** Runs a turn that another server continues after so many steps. Returns the lines with answers, as claude reads them. */
async function answersAfterCut(
  { protocol }: ReturnType<typeof claudeProtocol>,
  steps: readonly Step[],
  cut: number,
): Promise<unknown[]> {
  const turn = new CutTurn(await testStore(), { steps, mode: 'require_approval' }, protocol);
  await turn.run({ steps: cut });
  return turn.answers.map((line) => JSON.parse(line) as unknown);
}

function answer(request_id: string, response: object): object {
  return { type: 'control_response', response: { subtype: 'success', request_id, response } };
}

test('A tool call that is cut off is not repeated, and claude reads an internal error as its result.', async () => {
  const claude = claudeProtocol();
  const [first] = await answersAfterCut(claude, calling, 2);
  const error = {
    code: 'internal',
    message: 'the server was restarted during this call: check its effects before you repeat it',
  };
  const shown = { type: 'text', text: JSON.stringify({ ok: false, error }) };
  const mcp_response = { jsonrpc: '2.0', id: 1, result: { content: [shown], isError: true } };
  expect(first).toEqual(answer('c1', { mcp_response }));
  expect(claude.calls).toEqual(['slow']);
});

test('A tool call that is answered before the cut has one result.', async () => {
  const claude = claudeProtocol();
  const answers = await answersAfterCut(claude, calling, 3);
  const mcp_response = { jsonrpc: '2.0', id: 1, result: { of: 'tools/call' } };
  expect(answers).toEqual([
    answer('c1', { mcp_response }),
    answer('c2', { mcp_response: { jsonrpc: '2.0', result: {} } }),
  ]);
  expect(claude.calls).toEqual(['slow']);
});

test('After a takeover, the next turn sets the permission mode again, because claude may have another one.', async () => {
  const claude = claudeProtocol();
  const next = claude.next({ permissionMode: 'require_approval' });
  const steps = [text('hello'), result(), next];
  const taken = await answersAfterCut(claude, steps, 1);
  expect(taken).toMatchObject([
    { settings: [{ subtype: 'set_permission_mode', mode: 'default' }] },
  ]);
  const kept = await answersAfterCut(claude, steps, 2);
  expect(kept).toMatchObject([{ settings: [] }]);
});

test('A request that claude has withdrawn is not answered after a takeover.', async () => {
  const withdrawal = { type: 'control_cancel_request', request_id: 'p1' };
  const steps = [asks('p1', 'Bash', { command: 'x' }), { say: withdrawal }, text('hm'), result()];
  expect(await answersAfterCut(claudeProtocol(), steps, 3)).toEqual([]);
});

test('A takeover repeats the interrupt of the turn, with an id that no request of an earlier server has.', async () => {
  const claude = claudeProtocol();
  const steps = [text('hello'), { interrupt: true as const }, text('hm'), result()];
  await answersAfterCut(claude, steps, 2);
  expect(claude.interrupts).toHaveLength(2);
  const servers = claude.interrupts.map((id) => String(id).replace(/\d+$/, ''));
  expect(new Set(servers).size).toBe(2);
});

test('No memory is saved while the adapter waits for an answer of claude: the turn ends with the server.', async () => {
  const { protocol, meanwhile } = claudeProtocol();
  const wire = { steps: [text('hello'), result()], mode: 'read_only', model: 'opus' };
  await new CutTurn(await testStore(), wire, protocol).run();
  // Claude is initialized, and is given the mode and the model.
  expect(meanwhile).toEqual([null, null, null, null]);
});

test('A process that replaces a taken one resumes the session.', async () => {
  const claude = claudeProtocol();
  const ask = async (agent: CutAgent) => {
    const failed = agent.prompt([], { ...defaultSettings(), permissionMode: 'full_access' });
    claude.advance(500);
    return failed.catch(String);
  };
  await answersAfterCut(claude, [text('hello'), result(), { ask }], 1);
  expect(claude.restarts).toHaveLength(1);
  expect(claude.restarts[0]).toContain(`--resume=${claude.protocol.refs[0]}`);
});

test('The answer to a request of an earlier server is not counted as an unknown message.', async () => {
  const claude = claudeProtocol();
  const late = { subtype: 'success', request_id: 'cadre_earlier_3' };
  const steps = [text('hm'), { say: { type: 'control_response', response: late } }, result()];
  await answersAfterCut(claude, steps, 1);
  expect(claude.unknown).toEqual([]);
});

test('A server that takes over a claude notes its version and models.', async () => {
  const claude = claudeProtocol();
  await answersAfterCut(claude, [text('hello'), result()], 1);
  expect(claude.versions).toEqual(['2.1.0', '2.1.0']);
});

test('A state that another version of cadre has saved is refused.', async () => {
  const { protocol } = claudeProtocol();
  const turn = new CutTurn(await testStore(), { steps: [text('hello'), result()] }, protocol);
  const run = turn.run({ steps: 1 }, (saved) => {
    Object.assign((saved as { state: object }).state, { version: 0 });
  });
  await expect(run).rejects.toThrow('another version of cadre has saved the state of the agent');
});
