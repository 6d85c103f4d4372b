import { z } from 'zod';
import { failure, givenName, pageQuery, requestedTime, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { mcpServers } from './mcp-servers.ts';
import { toolCall } from './tool-call.ts';
import { agentName, providerId } from './provider-kinds.ts';
import { ownAfterLimit, usageLimit } from './usage-limit.ts';
import { sessionWorktree } from './worktrees.ts';

export const sessionStatus = z.enum([
  'ready',
  'running',
  'waiting_for_approval',
  'closed',
  'failed',
]);
export const turnStatus = z.enum([
  'accepted',
  'running',
  'waiting_for_approval',
  'completed',
  'interrupted',
  'failed',
]);

/** The usage of a turn or session, as the provider counts it; null where it does not report a number. */
export const usage = z
  .looseObject({
    input_tokens: z.number().nullable(),
    output_tokens: z.number().nullable(),
    cached_input_tokens: z.number().nullable(),
    total_tokens: z.number().nullable(),
    context_tokens: z.number().nullable().describe('The size of the last request to the model.'),
    context_window: z.number().nullable(),
    cost_usd: z.number().nullable(),
  })
  .meta({
    id: 'Usage',
    description:
      'The usage of a turn or session, as the provider counts it; null where it does not report a number.',
  });
export type Usage = z.output<typeof usage>;

export const sessionTitle = z
  .string()
  .nullable()
  .describe(
    'If no person gave one: the one that its agent gives, and until then the first line of its first prompt, each of at most 80 characters.',
  );
export const titleSource = z
  .enum(['person', 'prompt', 'agent'])
  .nullish()
  .describe(
    'Where the title is from: a person gave it, it is the first line of the first prompt, or the agent gave it; null: there is none. Absent in sessions of older versions, whose title no agent replaces.',
  );
export const lastWords = z
  .string()
  .nullable()
  .describe(
    'The last message of its agent as one line of at most 200 characters; null: there is none, or retention has deleted it. It changes when a turn ends.',
  );

export const session = z
  .looseObject({
    id: z.string(),
    provider: providerId,
    agent: z
      .string()
      .nullable()
      .describe('The name of its agent, where those of the provider have names; else null.'),
    model: z.string().nullable(),
    cwd: z.string(),
    permission_mode: z
      .string()
      .nullable()
      .describe('Who is asked, and what the agent may do; null: as the agent is configured.'),
    agent_mode: z
      .string()
      .nullable()
      .describe(
        "The agent's own mode, by its own name, for agents of acp; null: the one that permission_mode names, else the one in which the agent began.",
      ),
    agent_asks: z
      .boolean()
      .nullable()
      .describe(
        'False: its agent never asks for a permission, in no mode; true: it does, in some mode; null: not known.',
      ),
    thinking_effort: z.string().nullable(),
    metadata: z.unknown(),
    title: sessionTitle,
    title_source: titleSource,
    status: sessionStatus,
    pinned: z.boolean().describe('Whether a person wants to see it before others.'),
    snoozed_until: timestamp
      .nullable()
      .describe(
        'Until when a person does not want to be told of it. It is not cleared afterwards.',
      ),
    muted: z
      .boolean()
      .describe(
        'Whether a person wants no bell and no desktop notification for it. It is listed as ever.',
      ),
    seen_seq: z
      .int()
      .nonnegative()
      .describe('The seq of the newest of its events that a person has been shown. It only grows.'),
    news_seq: z
      .int()
      .nonnegative()
      .describe(
        'The seq of its newest event that a person should see: a turn that ended, an approval that was requested, or its failure; 0: there is none. It is unseen while news_seq is above seen_seq.',
      ),
    last_activity_at: timestamp.describe(
      'When a turn was last accepted, started or ended, or an approval requested; before the first turn, when the session was created.',
    ),
    last_words: lastWords,
    active_turn_id: z.string().nullable(),
    last_turn_id: z.string().nullable(),
    provider_session_ref: z.string().nullable(),
    provider_defaults: z
      .looseObject({
        permission_mode: z
          .string()
          .nullable()
          .describe('Of agents of acp: their mode, as in agent_mode.'),
        agent_mode: z.string().nullable(),
        model: z.string().nullable(),
        thinking_effort: z.string().nullable(),
      })
      .meta({
        id: 'ProviderDefaults',
        description: 'The settings with which an agent began a session.',
      })
      .nullable()
      .describe(
        'The settings with which its agent began. They apply where neither the session nor the turn sets a value.',
      ),
    worktree_id: z.string().nullable(),
    usage: usage.nullable(),
    close_reason: z.string().nullable(),
    failure: failure.nullable(),
    usage_limit: usageLimit
      .nullish()
      .describe(
        'Why nothing that waits for it becomes a turn: its agent has reported a usage limit; null or absent: none.',
      ),
    after_limit: ownAfterLimit.optional(),
    created_at: timestamp,
    updated_at: timestamp,
    closed_at: timestamp.nullable(),
    trimmed: z
      .boolean()
      .describe('Whether retention has deleted its events and the contents of its turns.'),
  })
  .meta({
    id: 'Session',
    description: 'A conversation with an agent.',
  });
export type Session = z.output<typeof session>;

const textInput = z
  .strictObject({ type: z.literal('text'), text: z.string() })
  .meta({ id: 'TextInput', description: 'A text for an agent.' });
const imageByPath = z
  .strictObject({
    type: z.literal('image'),
    path: z
      .string()
      .min(1)
      .describe(
        'A file on the machine of the server, relative to the directory of the session; it is copied.',
      ),
  })
  .meta({ id: 'ImageByPath', description: 'An image in a file.' });
const imageInline = z
  .strictObject({
    type: z.literal('image'),
    data: z.base64().min(1).describe('The file as base64.'),
    media_type: z
      .string()
      .optional()
      .describe(
        'The type is detected from the bytes; a request that states another one is refused.',
      ),
  })
  .meta({ id: 'ImageInline', description: 'An image in the request.' });

const nonBlankText = textInput
  .extend({ text: z.string().regex(/\S/, 'is blank: say something') })
  .meta({ id: 'SaidText', description: 'A text for an agent that is not blank.' });

/** One input item of a team message: unlike in a turn, its text must not be blank. */
export const messageInputItem = z.union([nonBlankText, imageByPath, imageInline]);

/** One input item of a turn, as a client sends it. */
export const inputItem = z.union([textInput, imageByPath, imageInline]).meta({
  id: 'InputItem',
  description: 'One input item of a turn or message.',
});
export type InputItem = z.output<typeof inputItem>;

const storedText = z
  .looseObject({ type: z.literal('text'), text: z.string() })
  .meta({ id: 'StoredText', description: 'A text of a stored input.' });

export const storedImage = z
  .looseObject({
    type: z.literal('image'),
    path: z.string(),
    media_type: z.string(),
    bytes: z.int(),
    sha256: z.string(),
  })
  .meta({ id: 'StoredImage', description: 'The stored copy of an image of an input.' });
/** One input item as it is stored: an image by its digest, never its data. */
export const storedInputItem = z.discriminatedUnion('type', [storedText, storedImage]).meta({
  id: 'StoredInputItem',
  description: 'One input item as it is stored: an image by its digest, never its data.',
  discriminator: {
    propertyName: 'type',
    mapping: {
      text: '#/components/schemas/StoredText',
      image: '#/components/schemas/StoredImage',
    },
  },
});
export type StoredInputItem = z.output<typeof storedInputItem>;
export type StoredImage = z.output<typeof storedImage>;

export const turn = z
  .looseObject({
    session_id: z.string(),
    turn_id: z.string(),
    status: turnStatus,
    source: z.enum(['user', 'queue', 'team_message', 'process_exit', 'onboarding', 'usage_limit']),
    input: z.array(storedInputItem),
    permission_mode: z.string().nullable().describe("Of this turn only; null: the session's."),
    agent_mode: z
      .string()
      .nullable()
      .describe(
        "Of this turn only; null: the session's, or that of the turn's permission_mode where it has one.",
      ),
    model: z.string().nullable().describe("Of this turn only; null: the session's."),
    thinking_effort: z.string().nullable().describe("Of this turn only; null: the session's."),
    text: z.string().nullable().describe('The last message of the agent in this turn.'),
    usage: usage.nullable(),
    error: failure.nullable(),
    provider_turn_ref: z.string().nullable(),
    accepted_at: timestamp,
    started_at: timestamp.nullable(),
    ended_at: timestamp.nullable(),
    interrupt_requested_at: timestamp.nullable(),
    trimmed: z.boolean().describe('Whether retention has deleted its input, text and items.'),
  })
  .meta({
    id: 'Turn',
    description: 'One turn: an input to an agent, and its outcome.',
  });
export type Turn = z.output<typeof turn>;

/** One message, reasoning or tool call of a turn, complete. */
export const item = z
  .looseObject({
    item_id: z.string(),
    session_id: z.string(),
    turn_id: z.string().nullable(),
    kind: z.enum(['message', 'reasoning', 'tool']),
    status: z.enum(['open', 'completed', 'interrupted', 'failed']),
    text: z.string().describe('The text of the message or reasoning; for a tool call, its output.'),
    tool: toolCall.nullable(),
    created_at: timestamp,
    completed_at: timestamp.nullable(),
  })
  .meta({
    id: 'Item',
    description: 'One message, reasoning or tool call of a turn, complete.',
  });
export type Item = z.output<typeof item>;

export const sessionParam = { session_id: z.string().describe('The session.') };

/** The agent's own mode in a request. */
export const agentMode = z
  .string()
  .min(1)
  .nullish()
  .describe("The agent's own mode, by its own name; for agents of acp.");

const titleGiven = givenName(200).nullable();

export const createSession = endpoint({
  method: 'POST',
  path: '/v1/sessions',
  summary: 'Open a session; its agent starts with the first turn',
  body: z.strictObject({
    provider: providerId,
    agent: agentName
      .nullish()
      .describe(
        'An agent of the provider acp, as `GET /v1/providers` names them; absent: its default agent.',
      ),
    model: z.string().min(1).nullish(),
    cwd: z.string().min(1).nullish().describe("Working directory; absent: the server's."),
    permission_mode: z.string().min(1).nullish(),
    agent_mode: agentMode,
    metadata: z.unknown().optional(),
    title: titleGiven.optional(),
    thinking_effort: z.string().min(1).nullish(),
    worktree: z
      .union([z.literal(true), sessionWorktree])
      .nullish()
      .describe(
        'A git worktree for the session, which claims it: it works in the directory of the worktree that corresponds to cwd. If any step fails, nothing is left of it. true: a new one with a name of its own.',
      ),
    mcp_servers: mcpServers.nullish(),
    after_limit: ownAfterLimit.optional(),
  }),
  response: session,
  errors: ['provider_unavailable', 'conflict'],
});

export const listSessions = endpoint({
  method: 'GET',
  path: '/v1/sessions',
  summary: 'List sessions, newest first',
  query: {
    status: sessionStatus.optional().describe('Only sessions with this status.'),
    provider: providerId.optional().describe('Only sessions of this provider.'),
    team_id: z.string().optional().describe('Only members of this team.'),
    ...pageQuery,
  },
  response: z.array(session),
  errors: ['not_found'],
});

export const getSession = endpoint({
  method: 'GET',
  path: '/v1/sessions/{session_id}',
  summary: 'Read a session',
  params: sessionParam,
  response: session,
  errors: ['not_found'],
});

export const updateSession = endpoint({
  method: 'PATCH',
  path: '/v1/sessions/{session_id}',
  summary:
    'Change what people keep with a session: its title, what they pinned, snoozed, muted or saw, and what it does after a usage limit',
  params: sessionParam,
  body: z
    .strictObject({
      title: titleGiven
        .optional()
        .describe('null: it has none, until the next prompt of a person gives it one.'),
      pinned: z.boolean().optional(),
      snoozed_until: requestedTime.nullable().optional(),
      muted: z.boolean().optional(),
      seen_seq: z
        .int()
        .nonnegative()
        .optional()
        .describe(
          'A seq that the server has given. One below the stored value changes nothing, so that clients need not agree on an order.',
        ),
      after_limit: ownAfterLimit.optional(),
    })
    .describe('A field that is absent stays as it is. A closed session may be changed too.'),
  response: session,
  errors: ['not_found'],
});

export const closeSession = endpoint({
  method: 'POST',
  path: '/v1/sessions/{session_id}/close',
  summary: 'Close a session; closing a closed one changes nothing',
  params: sessionParam,
  body: z.strictObject({ reason: z.string().max(2000).nullish() }),
  response: session,
  errors: ['not_found'],
});

export const resumeSession = endpoint({
  method: 'POST',
  path: '/v1/sessions/{session_id}/resume',
  summary:
    'Resume a failed session, if its provider still has it; an open one is returned unchanged',
  params: sessionParam,
  body: z.strictObject({}),
  response: session,
  errors: ['not_found', 'session_closed', 'session_failed', 'provider_unavailable'],
});
