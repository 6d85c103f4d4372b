import { textContent } from '../support/providers/rows.ts';

const diff = (newText: string) => ({ type: 'diff', path: '/w/notes', oldText: 'old', newText });
const call = { toolCallId: 't1', title: 'Shell', kind: 'execute' };
const edit = { toolCallId: 't1', title: 'Write', kind: 'edit' };
const patch = (diff: string) => ({ type: 'fileChange', changes: [{ path: '/w/notes', diff }] });
const onCommand = 'item/commandExecution/requestApproval';
const onChange = 'item/fileChange/requestApproval';
const elicit = (tool_params?: object) => ({
  method: 'mcpServer/elicitation/request',
  params: {
    serverName: 's',
    message: 'Allow it?',
    _meta: { codex_approval_kind: 'mcp_tool_call', tool_name: 't', tool_params },
  },
});

/** A request, and another request that an acceptance of the first must not allow. */
export interface RequestRow {
  name: string;
  provider: 'acp' | 'claude' | 'codex';
  good: object;
  /** Another action, whose request may look the same. */
  evil: object;
  /** Whether the request describes its whole effect, so that an equal request needs no second approval. */
  isWhole: boolean;
}

export const requestRows: RequestRow[] = [
  {
    name: 'a command in its input',
    provider: 'acp',
    good: { ...call, rawInput: { command: 'touch good' } },
    evil: { ...call, rawInput: { command: 'touch EVIL' } },
    isWhole: true,
  },
  {
    name: 'equal input of another tool',
    provider: 'acp',
    good: { toolCallId: 't', title: 'look', rawInput: { path: '/w' } },
    evil: { toolCallId: 't', title: 'remove', rawInput: { path: '/w' } },
    isWhole: true,
  },
  {
    name: 'a title alone',
    provider: 'acp',
    good: call,
    evil: call,
    isWhole: false,
  },
  {
    name: 'a title and a text of the model',
    provider: 'acp',
    good: { ...call, rawInput: {}, content: [textContent('makes a file')] },
    evil: { ...call, rawInput: {}, content: [textContent('makes a file')] },
    isWhole: false,
  },
  {
    name: 'the name of a file without its content',
    provider: 'acp',
    good: { ...edit, content: [textContent('Writing notes')], locations: [{ path: '/w/notes' }] },
    evil: { ...edit, content: [textContent('Writing notes')], locations: [{ path: '/w/notes' }] },
    isWhole: false,
  },
  {
    name: 'the content of a file',
    provider: 'acp',
    good: { ...edit, content: [diff('good')] },
    evil: { ...edit, content: [diff('EVIL')] },
    isWhole: true,
  },
  {
    name: 'an additional file',
    provider: 'acp',
    good: { ...edit, content: [diff('good')] },
    evil: { ...edit, content: [diff('good'), { ...diff('EVIL'), path: '/w/more' }] },
    isWhole: true,
  },
  {
    name: 'a command',
    provider: 'claude',
    good: { tool: 'Bash', input: { command: 'touch good' } },
    evil: { tool: 'Bash', input: { command: 'touch EVIL' } },
    isWhole: true,
  },
  {
    name: 'the same command outside of its sandbox',
    provider: 'claude',
    good: { tool: 'Bash', input: { command: 'touch good' } },
    evil: { tool: 'Bash', input: { command: 'touch good', dangerouslyDisableSandbox: true } },
    isWhole: true,
  },
  {
    name: 'the content of a file',
    provider: 'claude',
    good: { tool: 'Write', input: { file_path: '/w/notes', content: 'good' } },
    evil: { tool: 'Write', input: { file_path: '/w/notes', content: 'EVIL' } },
    isWhole: true,
  },
  {
    name: 'an invalid input',
    provider: 'claude',
    good: { tool: 'Bash', input: ['touch good'] },
    evil: { tool: 'Bash', input: ['touch EVIL'] },
    isWhole: false,
  },
  {
    name: 'a command',
    provider: 'codex',
    good: { method: onCommand, params: { command: 'touch good', cwd: '/w' } },
    evil: { method: onCommand, params: { command: 'touch EVIL', cwd: '/w' } },
    isWhole: true,
  },
  {
    name: 'the same command in another directory',
    provider: 'codex',
    good: { method: onCommand, params: { command: 'touch it', cwd: '/w' } },
    evil: { method: onCommand, params: { command: 'touch it', cwd: '/' } },
    isWhole: true,
  },
  {
    name: 'the same command with the network',
    provider: 'codex',
    good: { method: onCommand, params: { command: 'get it', cwd: '/w' } },
    evil: {
      method: onCommand,
      params: { command: 'get it', cwd: '/w', networkApprovalContext: { host: 'evil.test' } },
    },
    isWhole: true,
  },
  {
    name: 'the same command with more permissions',
    provider: 'codex',
    good: { method: onCommand, params: { command: 'make', cwd: '/w' } },
    evil: {
      method: onCommand,
      params: { command: 'make', cwd: '/w', additionalPermissions: { network: true } },
    },
    isWhole: true,
  },
  {
    name: 'a command in its item',
    provider: 'codex',
    good: {
      item: { type: 'commandExecution', command: 'touch good', cwd: '/w' },
      method: onCommand,
      params: {},
    },
    evil: {
      item: { type: 'commandExecution', command: 'touch EVIL', cwd: '/w' },
      method: onCommand,
      params: {},
    },
    isWhole: true,
  },
  {
    name: 'a command without details',
    provider: 'codex',
    good: { method: onCommand, params: { reason: 'to build' } },
    evil: { method: onCommand, params: { reason: 'to build' } },
    isWhole: false,
  },
  {
    name: 'the content of a file in its item',
    provider: 'codex',
    good: { item: patch('+good'), method: onChange, params: {} },
    evil: { item: patch('+EVIL'), method: onChange, params: {} },
    isWhole: true,
  },
  {
    name: 'a file change without details',
    provider: 'codex',
    good: { method: onChange, params: { reason: 'to build' } },
    evil: { method: onChange, params: { reason: 'to build' } },
    isWhole: false,
  },
  {
    name: 'the same change and a directory to write in',
    provider: 'codex',
    good: { item: patch('+good'), method: onChange, params: {} },
    evil: { item: patch('+good'), method: onChange, params: { grantRoot: '/' } },
    isWhole: true,
  },
  {
    name: 'a tool of an MCP server',
    provider: 'codex',
    good: elicit({ to: 'good' }),
    evil: elicit({ to: 'EVIL' }),
    isWhole: true,
  },
  {
    name: 'a tool of an MCP server without its arguments',
    provider: 'codex',
    good: elicit(),
    evil: elicit(),
    isWhole: false,
  },
];
