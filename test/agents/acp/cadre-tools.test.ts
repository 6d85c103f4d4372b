import { expect, test } from 'vitest';
import { catalogue } from '../../../src/agents/acp/catalogue.ts';
import { isCadreTool } from '../../../src/agents/acp/cadre-tools.ts';
import { readPermission } from '../../../src/agents/acp/permission.ts';
import type { ReportedCall } from '../../../src/agents/acp/reported-call.ts';
import { ofKind } from '../../support/turns.ts';
import { asked } from '../../support/providers/calls.ts';
import { endTurn, usualOptions, testRawAgent } from '../../support/providers/raw-agent.ts';
import { asking, onGo, touch } from '../../support/providers/rows.ts';

const message = { recipient_agent_id: 'sess_1', message: 'hello' };
const status = 'mcp__cadre__cadre_process_status';
const run = 'mcp__cadre__cadre_process_run';
const textOf = (text: string) => [{ type: 'content', content: { type: 'text', text } }];
const id = 'mcp_cadre_cadre_process_run__1';

/** A permission request: the earlier report of its call, the call itself, and more fields of the request. */
interface Asking {
  before?: object;
  call: object;
  more?: object;
  opencode?: boolean;
}

const own: Record<string, Asking> = {
  'the name of the tool in the field of the protocol': {
    call: { title: 'Send it', name: 'mcp__cadre__cadre_team_message', rawInput: message },
  },
  'the name in the call that was reported before': {
    before: { title: 'Send it', name: 'cadre_cadre_team_message', kind: 'other' },
    call: { rawInput: message },
  },
  'the name in the _meta of an agent': {
    call: { _meta: { maker: { toolName: 'mcp__cadre__cadre_team_status' } }, rawInput: {} },
  },
  'the name at the top of _meta': {
    call: { _meta: { tool_name: 'cadre_cadre_team_status' }, rawInput: {} },
  },
  'the name at any depth of _meta': {
    call: {
      _meta: {
        goose: { toolCall: { toolName: 'cadre__cadre_process_status', extensionName: 'cadre' } },
      },
      rawInput: {},
    },
  },
  'the name of the tool beside that of its server': {
    call: { _meta: { x: [{ server: 'cadre', tool_name: 'cadre_process_status' }] } },
  },
  'the title that the call had from its start, without an input': {
    before: { title: status, kind: 'other', content: textOf('{}') },
    call: { title: status, content: textOf(`Requesting approval to call ${status}`) },
    opencode: true,
  },
  'the title, where the content of the earlier message is an input of that tool': {
    before: { title: run, kind: 'other', content: textOf('{"command": "ls"}') },
    call: { title: run, content: textOf('Requesting approval') },
    opencode: true,
  },
  'the name, where the input has the names of server and tool beside the arguments': {
    call: {
      name: run,
      rawInput: { server: 'cadre', tool: 'cadre_process_run', arguments: { command: 'ls' } },
    },
  },
  'the server and tool of a call that the agent marks as an MCP call': {
    before: {
      title: 'mcp.cadre.cadre_process_run',
      kind: 'execute',
      rawInput: { server: 'cadre', tool: 'cadre_process_run', arguments: { command: 'ls' } },
    },
    call: { kind: 'execute', status: 'pending' },
    more: { _meta: { is_mcp_tool_approval: true } },
  },
  'the server alone, where several calls wait at once': {
    call: { kind: 'execute', rawInput: { serverName: 'cadre', description: 'Allow?' } },
    more: { _meta: { is_mcp_tool_approval: true } },
  },
  'the id of the call, whose title is the command of the tool': {
    call: { toolCallId: id, kind: 'other', title: 'rm -rf build', content: [] },
  },
  'the title, if the agent titles calls without an input by their tools': {
    call: { kind: 'other', title: 'cadre_cadre_team_message', rawInput: {} },
    opencode: true,
  },
};

const name = 'mcp__cadre__cadre_team_message';
const foreign: Record<string, Asking> = {
  'a command that looks like a cadre tool': {
    call: { kind: 'execute', title: name, rawInput: { command: name } },
  },
  'a command with no input': { call: { kind: 'execute', title: name } },
  'another tool with such a title': {
    call: { kind: 'other', title: `cadre_team_message (cadre MCP Server)`, content: [] },
  },
  'a title without an input': {
    call: { kind: 'other', title: 'cadre_cadre_team_message', rawInput: {} },
  },
  'a title beside an input': {
    call: { kind: 'other', title: 'cadre_cadre_team_message', rawInput: { description: 'x' } },
    opencode: true,
  },
  'a shell with such a title': {
    call: { kind: 'execute', title: 'cadre_cadre_team_message', rawInput: {} },
    opencode: true,
  },
  'an edit, whatever its name is': { call: { kind: 'edit', name, rawInput: message } },
  'a name beside another name': { call: { name, _meta: { toolName: 'Bash' }, rawInput: message } },
  'a name that changes': {
    before: { name: 'Bash', kind: 'other' },
    call: { name, rawInput: message },
  },
  'a name that contains the name of a cadre tool': {
    call: { name: `${name}_now`, rawInput: message },
  },
  'another server': { call: { name: 'mcp__evil_cadre__cadre_team_message', rawInput: message } },
  'a cadre tool without a server': { call: { name: 'cadre_team_message', rawInput: message } },
  'a tool that cadre does not have': {
    call: { name: 'mcp__cadre__shell', rawInput: { command: 'ls' } },
  },
  'an input that names the cadre server, of another tool': {
    call: { kind: 'other', rawInput: { server: 'cadre', tool: 'cadre_team_message' } },
  },
  'another MCP server with such arguments': {
    call: { rawInput: { server: 'evil', tool: 'x', arguments: { server: 'cadre' } } },
    more: { _meta: { is_mcp_tool_approval: true } },
  },
  'a command in the input of a tool that has none': {
    call: { name: status, rawInput: { command: 'rm -rf build' } },
  },
  'a command in the earlier message about the call': {
    before: { title: status, kind: 'other', content: textOf('{"command": "rm -rf build"}') },
    call: { title: status },
    opencode: true,
  },
  'a change of a file, whatever its title is': {
    before: { title: status, kind: 'other' },
    call: { title: status, content: [{ type: 'diff', path: '/a', newText: 'b' }] },
    opencode: true,
  },
  'a terminal, whatever its name is': {
    call: { name: status, content: [{ type: 'terminal', terminalId: 't' }] },
  },
  'a file, whatever its name is': { call: { name: status, locations: [{ path: '/etc' }] } },
  'a title from its start, if the agent is not known to title calls by their tools': {
    before: { title: run, kind: 'other' },
    call: { title: run, kind: 'other' },
  },
  'a title whose content is an input of that tool, if the agent is not known for such titles': {
    before: { title: run, kind: 'other', content: textOf('{"command": "ls"}') },
    call: { title: run },
  },
  'a title that the call did not have before': {
    before: { title: 'Bash' },
    call: { title: run },
    opencode: true,
  },
  'a title that only the request has': {
    before: { kind: 'other', content: textOf('{"command": "ls"}') },
    call: { title: run },
    opencode: true,
  },
  'a title that is also in the input': {
    before: { title: run, kind: 'other', content: textOf(`{"command": "${run}"}`) },
    call: { title: run },
    opencode: true,
  },
  'a text of the model within _meta': {
    call: { _meta: { x: { toolCall: { arguments: { toolName: status } } } }, rawInput: {} },
  },
  'another name deep in _meta': {
    call: { name: status, _meta: { x: { y: { toolName: 'shell' } } }, rawInput: {} },
  },
  'a cadre tool beside another server': {
    call: { _meta: { serverName: 'evil', toolName: 'cadre_process_status' }, rawInput: {} },
  },
  'an id within another': { call: { toolCallId: `run__${id}`, kind: 'other', title: 'x' } },
  'an id of a command': { call: { toolCallId: id, kind: 'execute', title: 'x' } },
  'a text of the model in an input': {
    call: { kind: 'other', rawInput: { name, toolName: name } },
  },
};
function isOwn({ before, call, more, opencode = false }: Asking): boolean {
  const { quirks = {} } = catalogue.find((one) => opencode && one.name === 'opencode') ?? {};
  const params = { toolCall: { toolCallId: 't1', ...call }, options: usualOptions, ...more };
  return isCadreTool(readPermission(params), before as ReportedCall | undefined, quirks);
}

test.each(Object.entries(own))(
  'A request for a tool of cadre is recognised by %s.',
  (_what, request) => {
    expect(isOwn(request)).toBe(true);
  },
);

test.each(Object.entries(foreign))(
  'A request is not taken for a tool of cadre: %s.',
  (_what, request) => {
    expect(isOwn(request)).toBe(false);
  },
);

const asks = onGo(async (agent) => {
  const { optionId } = await agent.ask({ toolCallId: 't1', name, rawInput: message });
  agent.say(`answered ${optionId}`);
  return endTurn;
});

test('A request for a cadre tool is allowed once without an approval in every permission mode.', async () => {
  const { open } = await testRawAgent(asks);
  const session = await open();
  for (const more of [{}, asking, { permission_mode: 'default' }]) {
    expect(await session.run('go', more)).toMatchObject({
      status: 'completed',
      text: 'answered a1',
    });
  }
  expect(ofKind(session.watch.events, 'approval.requested')).toEqual([]);
});

test('A request for a cadre tool needs an approval if the agent has no option to allow it once.', async () => {
  const { open } = await testRawAgent(
    onGo(async (agent) => {
      const call = { toolCallId: 't1', name, rawInput: message };
      await agent.ask(call, [{ optionId: 'aa', kind: 'allow_always', name: 'Always' }]);
      return endTurn;
    }),
  );
  const session = await open(asking);
  const approval = await asked(session.watch, await session.send('go'));
  expect(approval.scopes).toEqual([]);
});

test('A command whose title names a cadre tool needs an approval, or fails the turn by default.', async () => {
  const { open } = await testRawAgent(
    onGo(async (agent) => {
      await agent.ask({ ...touch, title: name, rawInput: { command: `rm -rf ${name}` } });
      return endTurn;
    }),
  );
  const session = await open();
  expect((await session.run('go')).error?.code).toBe('permission_required');
  const turnId = await session.send('go', asking);
  expect(await asked(session.watch, turnId)).toMatchObject({ kind: 'command' });
});
