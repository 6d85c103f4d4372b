import { z } from 'zod';
import { optionalText, pageQuery } from './common.ts';
import { endpoint } from './endpoint.ts';
import { agentMode, item, sessionParam, turn } from './sessions.ts';
import { inputItem } from './input.ts';

const turnParams = { ...sessionParam, turn_id: z.string().describe('Turn id.') };

/** The options of a body that starts a turn. */
export const turnOptions = {
  expected_turn_id: optionalText(
    'Id of the turn that must be the most recent turn of the session. Otherwise, the server refuses the request.',
  ),
  permission_mode: z.string().min(1).nullish().describe('Permission mode for this turn only.'),
  agent_mode: agentMode.describe(
    "Mode of an agent of the provider `acp`, by the agent's own name for it, for this turn only.",
  ),
  model: z.string().min(1).nullish().describe('Model for this turn only.'),
  thinking_effort: z.string().min(1).nullish().describe('Thinking effort for this turn only.'),
};

export const sendTurn = endpoint('POST /v1/sessions/{session_id}/turns', {
  summary: 'Send a prompt to a session and start a turn; its output is sent as events',
  params: sessionParam,
  body: z.strictObject({
    input: z
      .union([z.array(inputItem).min(1), inputItem])
      .describe('Input items. A single item is treated as an array of one.'),
    ...turnOptions,
  }),
  bodyLimit: 8 * 1024 * 1024,
  response: z.looseObject({
    session_id: z.string(),
    turn_id: z.string(),
    status: z.literal('accepted'),
  }),
  errors: [
    'turn_in_progress',
    'turn_conflict',
    'session_closed',
    'session_failed',
    'budget_reached',
    'provider_unavailable',
    'conflict',
  ],
});

export const listTurns = endpoint('GET /v1/sessions/{session_id}/turns', {
  summary: 'List the turns of a session, newest first',
  params: sessionParam,
  query: pageQuery,
  response: z.array(turn),
});

export const getTurn = endpoint('GET /v1/sessions/{session_id}/turns/{turn_id}', {
  summary: 'Get a turn',
  params: turnParams,
  response: turn,
});

export const listItems = endpoint('GET /v1/sessions/{session_id}/turns/{turn_id}/items', {
  summary: 'List the messages, reasoning and tool calls of a turn, in order',
  params: turnParams,
  response: z.array(item),
});

export const getItem = endpoint('GET /v1/sessions/{session_id}/turns/{turn_id}/items/{item_id}', {
  summary: 'Get an item of a turn',
  params: { ...turnParams, item_id: z.string().describe('Item id.') },
  response: item,
});

export const interruptTurn = endpoint('POST /v1/sessions/{session_id}/turns/{turn_id}/interrupt', {
  summary: 'Interrupt a turn; it ends as interrupted even if the agent does not respond',
  params: turnParams,
  body: z.strictObject({}),
  status: 202,
  response: turn,
  errors: ['turn_not_active'],
});
