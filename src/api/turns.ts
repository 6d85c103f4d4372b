import { z } from 'zod';
import { pageQuery } from './common.ts';
import { endpoint } from './endpoint.ts';
import { agentMode, inputItem, item, sessionParam, turn } from './sessions.ts';

const turnParams = { ...sessionParam, turn_id: z.string().describe('The turn.') };

export const sendTurn = endpoint({
  method: 'POST',
  path: '/v1/sessions/{session_id}/turns',
  summary: 'Send a turn; its output comes as events',
  params: sessionParam,
  body: z.strictObject({
    input: z
      .union([z.array(inputItem).min(1), inputItem])
      .describe('An array of items; a single item is treated as an array of one.'),
    expected_turn_id: z
      .string()
      .nullish()
      .describe("A guard: the turn is refused unless this is the session's most recent one."),
    permission_mode: z.string().min(1).nullish().describe('For this turn only.'),
    agent_mode: agentMode.describe(
      "For this turn only: the agent's own mode, by its own name; for agents of acp.",
    ),
    model: z.string().min(1).nullish().describe('For this turn only.'),
    thinking_effort: z.string().min(1).nullish().describe('For this turn only.'),
  }),
  bodyLimit: 8 * 1024 * 1024,
  response: z.looseObject({
    session_id: z.string(),
    turn_id: z.string(),
    status: z.literal('accepted'),
  }),
  errors: [
    'not_found',
    'turn_in_progress',
    'turn_conflict',
    'session_closed',
    'session_failed',
    'budget_reached',
    'provider_unavailable',
  ],
});

export const listTurns = endpoint({
  method: 'GET',
  path: '/v1/sessions/{session_id}/turns',
  summary: 'List the turns of a session, newest first',
  params: sessionParam,
  query: pageQuery,
  response: z.array(turn),
  errors: ['not_found'],
});

export const getTurn = endpoint({
  method: 'GET',
  path: '/v1/sessions/{session_id}/turns/{turn_id}',
  summary: 'Read a turn',
  params: turnParams,
  response: turn,
  errors: ['not_found'],
});

export const listItems = endpoint({
  method: 'GET',
  path: '/v1/sessions/{session_id}/turns/{turn_id}/items',
  summary: 'List the items of a turn, in order: messages, reasoning and tool calls',
  params: turnParams,
  response: z.array(item),
  errors: ['not_found'],
});

export const getItem = endpoint({
  method: 'GET',
  path: '/v1/sessions/{session_id}/turns/{turn_id}/items/{item_id}',
  summary: 'Read an item of a turn',
  params: { ...turnParams, item_id: z.string().describe('The item.') },
  response: item,
  errors: ['not_found'],
});

export const interruptTurn = endpoint({
  method: 'POST',
  path: '/v1/sessions/{session_id}/turns/{turn_id}/interrupt',
  summary: 'Interrupt a turn; it ends as interrupted even if its agent does not react',
  params: turnParams,
  body: z.strictObject({}),
  status: 202,
  response: turn,
  errors: ['not_found', 'turn_not_active'],
});
