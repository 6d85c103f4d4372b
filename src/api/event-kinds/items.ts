import { z } from 'zod';
import { component, text } from '../common.ts';
import { approval } from '../approvals.ts';
import { toolCall } from '../tool-call.ts';
import { item, usage } from '../sessions.ts';
import { describeKinds } from './kind.ts';

const kind = describeKinds('session');

/** An approval as events contain it after it was resolved. */
const approvalInEvents = approval.omit({ request: true, details: true, subject: true }).meta({
  id: 'ApprovalInEvents',
  description: 'A resolved approval, without `request`, `details` and `subject`.',
});
export type ApprovalInEvents = z.output<typeof approvalInEvents>;

const item_id = text(
  'Id of the item. The deltas and the closing event of an item have the same id.',
);
const whole = z.int().describe('Always 0: the text is complete.');
const delta = {
  item_id,
  offset: z.int().describe('Position of this part in the text of the item, in bytes of UTF-8.'),
  text: text('Part of the text.'),
};
const status = item.shape.status.exclude(['open']).meta({
  description:
    'Final status of the item: its own status, or the status of its turn if the turn ended first.',
});
const completedText = { item_id, offset: whole, status, text: text('Complete text.') };
const toolStatus = z
  .enum(['pending', 'running', 'completed', 'failed'])
  .describe('Status, as the agent reports it.');

const message = { item_id: 'item_019aa8d27a017e529b3d5c8e1f2a4d60', offset: 0 };
const reasoning = { item_id: 'item_019aa8d27a0f7c118f2e3b7d9a6c5e14', offset: 0 };
const tool = {
  item_id: 'item_019aa8d27b207a38a4f6e1d0c9b8a725',
  offset: 0,
  tool: {
    call_ref: 'call_1',
    title: 'Read package.json',
    kind: 'read',
    input: { path: 'package.json' },
  },
};

/** Messages, reasoning and tool calls of an agent. */
export const itemKinds = {
  'message.delta': kind({
    when: 'Emitted when an agent sends a part of a message that is not complete yet. Parts that arrive during a write to disk are joined.',
    payload: delta,
    part: 'delta',
    example: { ...message, text: 'The tests ' },
  }),
  'message.completed': kind({
    when: 'Emitted when a message is complete, no later than the end of its turn.',
    payload: completedText,
    part: 'end',
    example: { ...message, status: 'completed', text: 'The tests pass.' },
  }),
  'reasoning.delta': kind({
    when: 'Emitted when an agent sends a part of a reasoning text that is not complete yet.',
    payload: delta,
    part: 'delta',
    example: { ...reasoning, text: 'I read the ' },
  }),
  'reasoning.completed': kind({
    when: 'Emitted when a part of the reasoning is complete, no later than the end of its turn.',
    payload: completedText,
    part: 'end',
    example: { ...reasoning, status: 'completed', text: 'I read the manifest first.' },
  }),
  'tool.started': kind({
    when: 'Emitted when an agent reports a new tool call.',
    payload: { item_id, offset: whole, tool: toolCall, status: toolStatus },
    large: ['tool.input'],
    example: { ...tool, status: 'pending' },
  }),
  'tool.updated': kind({
    when: 'Emitted when the status, title, input or output of a tool call changes. The field `text` contains the new part of the output. If the agent replaces the output, the new output starts at offset 0.',
    payload: { ...delta, tool: toolCall, status: toolStatus },
    large: ['tool.input'],
    part: 'delta',
    example: { ...tool, text: '{"name"', status: 'running' },
  }),
  'tool.completed': kind({
    when: 'Emitted when a tool call has ended, no later than the end of its turn.',
    payload: {
      ...completedText,
      text: text('Complete output of the tool call.'),
      tool: toolCall,
    },
    large: ['tool.input'],
    part: 'end',
    example: { ...tool, status: 'completed', text: '{"name":"project"}' },
  }),
};

const asked = {
  id: 'apr_019aa8d27c557d908e1b4a6f3c2d1b09',
  session_id: 'sess_019aa8d25b1c7c079a542f6d0c1b7e11',
  turn_id: 'turn_019aa8d26f307d6a8c1f91b7a3e0d422',
  provider: 'acp' as const,
  kind: 'command' as const,
  title: 'npm test',
  questions: null,
  answers: null,
  held: false,
  status: 'pending' as const,
  scopes: ['once' as const, 'session' as const],
  session_allows: 'Always allow npm test',
  decision: null,
  scope: null,
  decided_by: null,
  reason: null,
  expires_at: null,
  created_at: 1795312002500,
  resolved_at: null,
};

/** Approvals, plans and usage of an agent. */
export const agentKinds = {
  'approval.requested': kind({
    when: 'Emitted when an agent requests permission or asks a question. The turn and the session of the agent then wait for approval.',
    payload: { approval },
    large: [
      'approval.request',
      'approval.details',
      'approval.subject',
      'approval.questions',
      'approval.answers',
    ],
    exact: ['approval.request', 'approval.details', 'approval.subject'],
    example: {
      approval: {
        ...asked,
        request: { command: 'npm test' },
        details: [{ type: 'command', command: 'npm test', cwd: '/home/you/project' }],
        subject: { command: 'npm test' },
      },
    },
  }),
  'approval.resolved': kind({
    when: 'Emitted when an approval was answered, has expired or was cancelled. The turn of the approval continues when no other approval of the turn is pending.',
    payload: { approval: approvalInEvents },
    large: ['approval.questions', 'approval.answers'],
    example: {
      approval: {
        ...asked,
        status: 'accepted',
        decision: 'accept',
        scope: 'once',
        decided_by: 'api',
        resolved_at: 1795312003000,
      },
    },
  }),
  'plan.updated': kind({
    when: 'Emitted when an agent reports its plan. Each event contains the complete plan.',
    payload: {
      entries: z
        .array(
          component('PlanEntry', 'A step in the plan of an agent.', {
            content: z.string(),
            status: text('Status, as the agent reports it: pending, in_progress or completed.'),
            priority: z.string().nullable(),
          }),
        )
        .describe('Steps of the plan, in order.'),
    },
    large: ['entries'],
    example: {
      entries: [
        { content: 'read the manifest', status: 'completed', priority: 'high' },
        { content: 'run the tests', status: 'in_progress', priority: null },
      ],
    },
  }),
  'usage.updated': kind({
    when: 'Emitted when an agent reports the usage of its turn so far, or more usage after the end of the turn.',
    payload: { usage },
    example: {
      usage: {
        input_tokens: 1200,
        output_tokens: 80,
        cached_input_tokens: null,
        total_tokens: 1280,
        context_tokens: 1280,
        context_window: 200000,
        cost_usd: 0.01,
      },
    },
  }),
};
