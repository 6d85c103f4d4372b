import { sessionSandbox } from './session-sandbox.ts';
import { z } from 'zod';
import {
  component,
  failure,
  flag,
  integer,
  nullableText,
  nullableTime,
  optionalName,
  text,
  timestamp,
} from './common.ts';
import { storedInputItem } from './input.ts';
import { toolCall } from './tool-call.ts';
import { agentName, providerId } from './provider-kinds.ts';
import { ownAfterLimit, usageLimit } from './usage-limit.ts';

export const sessionStatus = z
  .enum(['ready', 'running', 'waiting_for_approval', 'closed', 'failed'])
  .describe(
    'Status of the session. `ready`: no turn is active. `running`: a turn is active. `waiting_for_approval`: the active turn waits for the decision about an approval. `closed`: the session accepts no more turns. `failed`: the agent cannot continue the session; `failure` contains the reason.',
  );
export const turnStatus = z
  .enum(['accepted', 'running', 'waiting_for_approval', 'completed', 'interrupted', 'failed'])
  .describe(
    'Status of the turn. `accepted`: the turn is stored and waits for its agent. `running`: the agent works on the turn. `waiting_for_approval`: the turn waits for the decision about an approval. The other statuses are final.',
  );

/** How a turn can end. */
export const turnOutcome = turnStatus.extract(['completed', 'interrupted', 'failed']);

export const usage = component(
  'Usage',
  'Usage of a turn or session, as the provider counts it. A field is null if the provider does not report it.',
  {
    input_tokens: z.number().nullable(),
    output_tokens: z.number().nullable(),
    cached_input_tokens: z.number().nullable(),
    total_tokens: z.number().nullable(),
    context_tokens: z.number().nullable().meta({
      description: 'Size of the last request to the model, in tokens.',
    }),
    context_window: z.number().nullable().meta({
      description: 'Maximum size of a request to the model, in tokens.',
    }),
    cost_usd: z.number().nullable().describe('Cost in US dollars.'),
  },
);
export type Usage = z.output<typeof usage>;

export const sessionTitle = nullableText(
  'Title of the session. Unless a user has set it, it is the first line of the first prompt, until the agent sends a title. Both are cut to 80 characters. Null if there is no title yet.',
);
export const titleSource = z.enum(['person', 'prompt', 'agent']).nullish().meta({
  description:
    'Source of the title: `person` (set by a user), `prompt` (first line of the first prompt) or `agent` (set by the agent). Null if there is no title. Absent in sessions of older versions, whose titles agents do not replace.',
});
export const lastWords = nullableText(
  'Last message of the agent as one line of at most 200 characters. Updated when a turn ends. Null without a message, or if retention has deleted the message.',
);

export const lastTurnStatus = turnOutcome.nullish().meta({
  description:
    'Final status of the most recent turn that has ended. Null if no turn has ended. May be absent in events about sessions of older versions.',
});
export const lastTurnError = failure.nullish().meta({
  description:
    'Error of the most recent turn that has ended, its message as one line of at most 200 characters. Null if that turn has no error. May be absent in events about sessions of older versions.',
});

export const session = component('Session', 'A conversation with an agent.', {
  id: z.string(),
  provider: providerId,
  agent: nullableText(
    'Name of the agent, if the provider has several agents (`acp`). Null otherwise.',
  ),
  model: nullableText('Model of the session. Null if the agent chooses the model.'),
  cwd: text('Working directory of the session, as an absolute path.'),
  permission_mode: nullableText(
    'Permission mode: which actions the agent may take and which need approval. Null if the configuration of the agent applies.',
  ),
  agent_mode: nullableText(
    "Mode of an agent of the provider `acp`, by the agent's own name for it. Null if the mode follows from permission_mode, or is the mode that the agent started in.",
  ),
  agent_asks: z.boolean().nullable().meta({
    description:
      'Whether the agent requests permission in at least one of its modes. False if it never does. Null if unknown.',
  }),
  thinking_effort: nullableText(
    'Thinking effort of the session. Null if the agent chooses the thinking effort.',
  ),
  metadata: z
    .unknown()
    .describe('Value that the client stored with the session. Null without a value.'),
  title: sessionTitle,
  title_source: titleSource,
  status: sessionStatus,
  pinned: flag('Whether a user has pinned the session. Clients show pinned sessions first.'),
  snoozed_until: nullableTime(
    'Time until which the session sends no notifications to the user (Unix ms). It is not cleared when it has passed. Null if the session is not snoozed.',
  ),
  muted: flag(
    'Whether the bell and desktop notifications are turned off for the session. A muted session is still listed.',
  ),
  seen_seq: z.int().nonnegative().meta({
    description:
      'Sequence number (seq) of the newest event of the session that a user has seen. It never decreases.',
  }),
  news_seq: z.int().nonnegative().meta({
    description:
      'Sequence number (seq) of the newest event that needs attention: the end of a turn, an approval request, or the failure of the session. 0 if there is none. The session has unseen events while news_seq is greater than seen_seq.',
  }),
  last_activity_at: timestamp.describe(
    'Time at which a turn was last accepted, started or ended, or an approval was last requested (Unix ms). Creation time of the session until its first turn.',
  ),
  last_words: lastWords,
  active_turn_id: nullableText('Turn that has not ended. Null without such a turn.'),
  last_turn_id: nullableText('Most recent turn. Null before the first turn.'),
  last_turn_status: lastTurnStatus,
  last_turn_error: lastTurnError,
  provider_session_ref: nullableText(
    'Id of the conversation in the program of the agent. Null until the agent has reported it.',
  ),
  provider_defaults: component(
    'ProviderDefaults',
    'Settings with which an agent started a session.',
    {
      permission_mode: nullableText(
        'For agents of the provider `acp`: the mode of the agent, as in agent_mode.',
      ),
      agent_mode: z.string().nullable(),
      model: z.string().nullable(),
      thinking_effort: z.string().nullable(),
    },
  )
    .nullable()
    .describe(
      'Settings with which the agent started. They apply where neither the session nor the turn sets a value. Null before the first start of the agent.',
    ),
  worktree_id: nullableText(
    'Worktree that the session claims; if there are several, the newest claim. Null without a claim.',
  ),
  usage: usage.nullable().meta({
    description:
      'Usage of all turns of the session. The context fields contain the values of the newest turn that reports them. Null until the agent has reported usage.',
  }),
  close_reason: nullableText('Reason given in the request that closed the session. Null if none.'),
  failure: failure.nullable().describe('Reason for the status `failed`. Otherwise null.'),
  usage_limit: usageLimit.nullish().meta({
    description:
      'Usage limit that the agent has reported. While it applies, the queue of the session starts no turns. Null or absent without a usage limit.',
  }),
  after_limit: ownAfterLimit.optional(),
  sandbox: sessionSandbox.optional(),
  continues: z.string().optional().meta({
    description:
      'Session that was handed over to this session. Absent if this session continues no other.',
  }),
  continued_by: z.string().optional().meta({
    description:
      'Session that continues this session since a handoff or a rewind. Absent if there is none.',
  }),
  forked_from: component('ForkOrigin', 'The conversation that a session was forked from.', {
    session_id: nullableText(
      "Session that this session was forked from. Null for a conversation of the agent's own program.",
    ),
    turn_id: nullableText(
      'Last turn of that session that is part of the history of this session. Null without such a session.',
    ),
    conversation: nullableText(
      "Id of the conversation of the agent's own program that this session was forked from. Null for a session.",
    ),
    past_turns: integer('Number of stored past turns.'),
    omitted_turns: integer('Number of older turns that were not copied.'),
    way: z.enum(['agent', 'record']).nullable().meta({
      description:
        'Source of the history for the agent. `agent`: the agent has forked its own conversation. `record`: the first prompt contains a record of the history. Null before the first turn.',
    }),
  })
    .optional()
    .describe('Origin of a session that was forked. Absent for other sessions.'),
  imported: component(
    'ImportedConversation',
    "A conversation that the agent's own program also continues.",
    {
      program: nullableText(
        'Program that began the conversation. Null if unknown, or if the session began in cadre.',
      ),
      past_turns: integer('Number of stored past turns.'),
      omitted_turns: integer("Number of older turns that only the agent's own program stores."),
      complete: flag('Whether all past turns are stored.'),
    },
  )
    .nullish()
    .describe(
      "Conversation that the agent's own program also continues. Null or absent for other sessions.",
    ),
  created_at: timestamp,
  updated_at: timestamp,
  closed_at: timestamp.nullable(),
  trimmed: flag(
    'Whether retention has deleted the events of the session and the contents of its turns.',
  ),
});
export type Session = z.output<typeof session>;

export const turn = component('Turn', 'A turn: an input to an agent and its result.', {
  session_id: z.string(),
  turn_id: z.string(),
  status: turnStatus,
  source: z
    .enum([
      'user',
      'queue',
      'team_message',
      'process_exit',
      'onboarding',
      'usage_limit',
      'goal',
      'watch',
      'handoff',
    ])
    .meta({
      description:
        'Origin of the turn. `user`: a request. `queue`: the queue of the session. `team_message`: messages of other members of a team. `onboarding`: the first message to a new member. `process_exit`: the end of a process with `on_exit`. `usage_limit`: a usage limit that has reset. `goal`: a goal that is not reached. `watch`: a watched command whose output has changed. `handoff`: the session that is continued.',
    }),
  input: z.array(storedInputItem).describe('Prompt of the turn.'),
  permission_mode: nullableText(
    'Permission mode of this turn only. Null if the setting of the session applies.',
  ),
  agent_mode: nullableText(
    'Agent mode of this turn only. Null if the mode follows from the permission_mode of the turn, if set, or else from the session.',
  ),
  model: nullableText('Model of this turn only. Null if the setting of the session applies.'),
  thinking_effort: nullableText(
    'Thinking effort of this turn only. Null if the setting of the session applies.',
  ),
  text: nullableText('Last message of the agent in this turn. Null if the agent sent no message.'),
  usage: usage.nullable(),
  declined_unasked: z.int().min(0).optional().meta({
    description:
      'Number of permission requests and questions of the agent that were declined without asking a person, because the permission mode of the turn asks nobody. Absent in turns of version 0.1.0.',
  }),
  error: failure.nullable().describe('Reason for the status `failed`. Otherwise null.'),
  provider_turn_ref: nullableText(
    'Id that cadre generated for the run of the turn by the agent. Null until the run has started.',
  ),
  agent_turn_ref: z.string().optional().meta({
    description:
      "The agent's own id of the end of the turn. Absent if the agent has reported none, or the turn has not ended.",
  }),
  accepted_at: timestamp,
  started_at: timestamp.nullable(),
  ended_at: timestamp.nullable(),
  interrupt_requested_at: nullableTime(
    'Time at which an interrupt was first requested (Unix ms). Null if none was requested.',
  ),
  trimmed: flag('Whether retention has deleted the input, text and items of the turn.'),
});
export type Turn = z.output<typeof turn>;

export const item = component('Item', 'A complete message, reasoning or tool call of a turn.', {
  item_id: z.string(),
  session_id: z.string(),
  turn_id: z.string().nullable(),
  kind: z.enum(['message', 'reasoning', 'tool']),
  status: z.enum(['open', 'completed', 'interrupted', 'failed']),
  text: text('Text of the message or reasoning, or output of the tool call.'),
  tool: toolCall.nullable(),
  created_at: timestamp,
  completed_at: timestamp.nullable(),
});
export type Item = z.output<typeof item>;

export const sessionParam = { session_id: text('Session id.') };

/** The agent's own mode in a request. */
export const agentMode = optionalName(
  "Mode of an agent of the provider `acp`, by the agent's own name for it.",
);

/** The agent of a new session in a request. */
export const requestedAgent = agentName.nullish().meta({
  description:
    'Name of an agent of the provider `acp`, as listed by `GET /v1/providers`. Default: the default agent.',
});
