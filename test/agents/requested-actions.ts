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
interface Action {
  good: object;
  /** Another action, whose request may look the same. */
  evil: object;
  /** Whether the request describes its whole effect, so that an equal request needs no second approval. */
  isWhole?: boolean;
}

export interface RequestRow extends Required<Action> {
  name: string;
  provider: 'acp' | 'claude' | 'codex';
}

/** The rows of each provider by their names; `isWhole` is true if it is absent. */
const actions: Record<RequestRow['provider'], Record<string, Action>> = {
  acp: {
    'a command in its input': {
      good: { ...call, rawInput: { command: 'touch good' } },
      evil: { ...call, rawInput: { command: 'touch EVIL' } },
    },
    'equal input of another tool': {
      good: { toolCallId: 't', title: 'look', rawInput: { path: '/w' } },
      evil: { toolCallId: 't', title: 'remove', rawInput: { path: '/w' } },
    },
    'a title alone': {
      good: call,
      evil: call,
      isWhole: false,
    },
    'a title and a text of the model': {
      good: { ...call, rawInput: {}, content: [textContent('makes a file')] },
      evil: { ...call, rawInput: {}, content: [textContent('makes a file')] },
      isWhole: false,
    },
    'the name of a file without its content': {
      good: { ...edit, content: [textContent('Writing notes')], locations: [{ path: '/w/notes' }] },
      evil: { ...edit, content: [textContent('Writing notes')], locations: [{ path: '/w/notes' }] },
      isWhole: false,
    },
    'the content of a file': {
      good: { ...edit, content: [diff('good')] },
      evil: { ...edit, content: [diff('EVIL')] },
    },
    'an additional file': {
      good: { ...edit, content: [diff('good')] },
      evil: { ...edit, content: [diff('good'), { ...diff('EVIL'), path: '/w/more' }] },
    },
  },
  claude: {
    'a command': {
      good: { tool: 'Bash', input: { command: 'touch good' } },
      evil: { tool: 'Bash', input: { command: 'touch EVIL' } },
    },
    'the same command outside of its sandbox': {
      good: { tool: 'Bash', input: { command: 'touch good' } },
      evil: { tool: 'Bash', input: { command: 'touch good', dangerouslyDisableSandbox: true } },
    },
    'the content of a file': {
      good: { tool: 'Write', input: { file_path: '/w/notes', content: 'good' } },
      evil: { tool: 'Write', input: { file_path: '/w/notes', content: 'EVIL' } },
    },
    'an invalid input': {
      good: { tool: 'Bash', input: ['touch good'] },
      evil: { tool: 'Bash', input: ['touch EVIL'] },
      isWhole: false,
    },
  },
  codex: {
    'a command': {
      good: { method: onCommand, params: { command: 'touch good', cwd: '/w' } },
      evil: { method: onCommand, params: { command: 'touch EVIL', cwd: '/w' } },
    },
    'the same command in another directory': {
      good: { method: onCommand, params: { command: 'touch it', cwd: '/w' } },
      evil: { method: onCommand, params: { command: 'touch it', cwd: '/' } },
    },
    'the same command with the network': {
      good: { method: onCommand, params: { command: 'get it', cwd: '/w' } },
      evil: {
        method: onCommand,
        params: { command: 'get it', cwd: '/w', networkApprovalContext: { host: 'evil.test' } },
      },
    },
    'the same command with more permissions': {
      good: { method: onCommand, params: { command: 'make', cwd: '/w' } },
      evil: {
        method: onCommand,
        params: { command: 'make', cwd: '/w', additionalPermissions: { network: true } },
      },
    },
    'a command in its item': {
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
    },
    'a command without details': {
      good: { method: onCommand, params: { reason: 'to build' } },
      evil: { method: onCommand, params: { reason: 'to build' } },
      isWhole: false,
    },
    'the content of a file in its item': {
      good: { item: patch('+good'), method: onChange, params: {} },
      evil: { item: patch('+EVIL'), method: onChange, params: {} },
    },
    'a file change without details': {
      good: { method: onChange, params: { reason: 'to build' } },
      evil: { method: onChange, params: { reason: 'to build' } },
      isWhole: false,
    },
    'the same change and a directory to write in': {
      good: { item: patch('+good'), method: onChange, params: {} },
      evil: { item: patch('+good'), method: onChange, params: { grantRoot: '/' } },
    },
    'a tool of an MCP server': {
      good: elicit({ to: 'good' }),
      evil: elicit({ to: 'EVIL' }),
    },
    'a tool of an MCP server without its arguments': {
      good: elicit(),
      evil: elicit(),
      isWhole: false,
    },
  },
};

export const requestRows = Object.entries(actions).flatMap(([provider, rows]) =>
  Object.entries(rows).map(
    ([name, row]) => ({ name, provider, isWhole: true, ...row }) as RequestRow,
  ),
);
