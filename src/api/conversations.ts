import { z } from 'zod';
import { component, nullableText, nullableTime, pageQuery, text, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { agentName, providerId } from './provider-kinds.ts';
import { statuses } from './providers.ts';
import { sessionParam } from './sessions.ts';

const holder = component(
  'ConversationProcess',
  'A process other than this server that has a conversation open.',
  {
    pid: z.int().nullable().describe('Process id. Null if unknown.'),
    program: text('Program of the process.'),
    status: nullableText('State that the program reports, such as `idle`. Null if unknown.'),
  },
);
export type ConversationProcess = z.output<typeof holder>;

const conversation = component(
  'Conversation',
  'A conversation that the program of an agent stores.',
  {
    ref: text('Id of the conversation in the program of the agent.'),
    title: nullableText('Title of the conversation. Null if it has none.'),
    cwd: nullableText('Working directory of the conversation. Null if unknown.'),
    program: nullableText('Program that began the conversation. Null if unknown.'),
    branch: nullableText('Git branch of the conversation. Null if unknown.'),
    begun_at: nullableTime('Time of the first message (Unix ms). Null if unknown.'),
    changed_at: z.int().describe('Time of the last change (Unix ms). 0 if unknown.'),
    bytes: z
      .int()
      .nullable()
      .describe('Size of the stored conversation in bytes. Null if unknown.'),
    in_use: holder
      .nullable()
      .describe('Process that has the conversation open. Null if none is known.'),
    session_id: nullableText('Open session with this conversation. Null if there is none.'),
  },
);
export type Conversation = z.output<typeof conversation>;

const pastItem = component('PastItem', 'A message, reasoning or tool call of a past turn.', {
  kind: z.enum(['message', 'reasoning', 'tool']),
  status: z.enum(['completed', 'failed', 'unknown']),
  title: nullableText('Title of a tool call. Null for other items.'),
  text: text('Text of the message or reasoning, or output of the tool call.'),
});

export const pastTurn = component(
  'PastTurnRecord',
  "A turn that ran in the agent's own program, or before the fork of a session. Texts are cut to 16384 characters.",
  {
    past_turn_id: z.string(),
    session_id: z.string(),
    ref: text('Id of the turn in the program of the agent, or in the session that was forked.'),
    program: nullableText(
      'Program in which the turn ran. `cadre` for a turn of the session that was forked. Null if unknown.',
    ),
    status: z.enum(['completed', 'interrupted', 'failed', 'unknown']),
    prompt: text('Prompt of the turn.'),
    items: z.array(pastItem),
    occurred_at: nullableTime('Start time of the turn (Unix ms). Null if unknown.'),
    created_at: timestamp,
  },
);
export type PastTurn = z.output<typeof pastTurn>;

const handedBack = component(
  'HandBack',
  'Command with which a user continues a session outside of cadre.',
  {
    session_id: z.string(),
    cwd: z.string(),
    ref: text('Id of the conversation in the program of the agent.'),
    command: z
      .array(z.string())
      .describe(
        "Command that continues the conversation in the agent's own program. Empty if cadre does not know the command.",
      ),
  },
);

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
  errors: ['provider_unavailable'],
  statuses,
});

export const listPastTurns = endpoint('GET /v1/sessions/{session_id}/past-turns', {
  summary:
    "List the past turns of a session, newest first: turns that ran in the agent's own program or before a fork",
  params: sessionParam,
  query: pageQuery,
  response: z.array(pastTurn),
});

export const handBackSession = endpoint('POST /v1/sessions/{session_id}/hand-back', {
  summary: "End the idle agent of a session, and return the command of the agent's own program",
  params: sessionParam,
  body: z.strictObject({}),
  response: handedBack,
  errors: [
    'session_closed',
    'session_failed',
    'turn_in_progress',
    'conflict',
    'provider_unavailable',
  ],
});
export type HandedBack = z.output<typeof handedBack>;
