import { z } from 'zod';
import { nullableText, nullableTime, pageQuery, text, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { agentName, providerId } from './provider-kinds.ts';
import { statuses } from './providers.ts';
import { sessionParam } from './sessions.ts';

const holder = z
  .looseObject({
    pid: z.int().nullable().describe('Process id. Null if unknown.'),
    program: z.string().describe('Program of the process.'),
    status: nullableText('State that the program reports, such as `idle`. Null if unknown.'),
  })
  .meta({
    id: 'ConversationHolder',
    description: 'A process other than this server that has a conversation open.',
  });
export type ConversationHolder = z.output<typeof holder>;

const conversation = z
  .looseObject({
    ref: z.string().describe('Id of the conversation in the program of the agent.'),
    title: nullableText('Title of the conversation. Null if it has none.'),
    cwd: nullableText('Working directory of the conversation. Null if unknown.'),
    program: nullableText('Program that began the conversation. Null if unknown.'),
    branch: nullableText('Git branch of the conversation. Null if unknown.'),
    begun_at: nullableTime('Time of the first message (Unix ms). Null if unknown.'),
    changed_at: timestamp,
    bytes: z.int().nullable().describe('Size of the stored conversation. Null if unknown.'),
    in_use: holder
      .nullable()
      .describe('Process that has the conversation open. Null if none is known.'),
    session_id: nullableText('Open session with this conversation. Null if there is none.'),
  })
  .meta({ id: 'Conversation', description: 'A conversation that the program of an agent stores.' });
export type Conversation = z.output<typeof conversation>;

const pastItem = z
  .looseObject({
    kind: z.enum(['message', 'reasoning', 'tool']),
    status: z.enum(['completed', 'failed', 'unknown']),
    title: nullableText('Title of a tool call. Null for other items.'),
    text: text('Text of the message or reasoning, or output of the tool call.'),
  })
  .meta({ id: 'PastItem', description: 'A message, reasoning or tool call of a past turn.' });

export const pastTurn = z
  .looseObject({
    past_turn_id: z.string(),
    session_id: z.string(),
    ref: z.string().describe('Id of the turn in the program of the agent.'),
    program: nullableText('Program in which the turn ran. Null if unknown.'),
    status: z.enum(['completed', 'interrupted', 'failed', 'unknown']),
    prompt: text('Prompt of the turn.'),
    items: z.array(pastItem),
    occurred_at: nullableTime('Start time of the turn (Unix ms). Null if unknown.'),
    created_at: timestamp,
  })
  .meta({
    id: 'PastTurnRecord',
    description: "A turn that ran in the agent's own program. Texts are cut to 16384 characters.",
  });
export type PastTurn = z.output<typeof pastTurn>;

const handedBack = z
  .looseObject({
    session_id: z.string(),
    cwd: z.string(),
    command: z
      .array(z.string())
      .describe("Command that continues the conversation in the agent's own program."),
  })
  .meta({ id: 'HandedBack', description: 'The way to continue a session outside of cadre.' });

export const listConversations = endpoint('GET /v1/providers/{provider}/conversations', {
  summary:
    "List the conversations that the agent's own program stores, most recently changed first",
  params: { provider: providerId.describe('Provider id.') },
  // These are prompts that a person has not given to this server.
  access: 'admin',
  query: {
    agent: agentName.optional().describe('Name of an agent of the provider `acp`.'),
    cwd: z.string().min(1).optional().describe('Return only conversations of this directory.'),
    limit: z.int().min(1).max(1000).default(100).describe('Maximum number of conversations.'),
  },
  response: z.array(conversation),
  errors: ['not_found', 'provider_unavailable'],
  statuses,
});

export const listPastTurns = endpoint('GET /v1/sessions/{session_id}/past-turns', {
  summary: "List the turns of a session that ran in the agent's own program, newest first",
  params: sessionParam,
  query: pageQuery,
  response: z.array(pastTurn),
  errors: ['not_found'],
});

export const handBackSession = endpoint('POST /v1/sessions/{session_id}/hand-back', {
  summary: "End the idle agent of a session, and return the command of the agent's own program",
  params: sessionParam,
  body: z.strictObject({}),
  response: handedBack,
  errors: ['not_found', 'session_closed', 'turn_in_progress', 'conflict', 'provider_unavailable'],
});
export type HandedBack = z.output<typeof handedBack>;
