import { z } from 'zod';
import { failure, pageQuery, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { providerId } from './provider-kinds.ts';

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

export const session = z
  .looseObject({
    id: z.string(),
    provider: providerId,
    model: z.string().nullable(),
    cwd: z.string(),
    permission_mode: z.string().nullable(),
    thinking_effort: z.string().nullable(),
    metadata: z.unknown(),
    title: z.string().nullable(),
    status: sessionStatus,
    active_turn_id: z.string().nullable(),
    last_turn_id: z.string().nullable(),
    provider_session_ref: z.string().nullable(),
    provider_defaults: z
      .looseObject({
        permission_mode: z.string().nullable(),
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
    source: z.enum(['user', 'team_message', 'process_exit', 'onboarding']),
    input: z.array(storedInputItem),
    permission_mode: z.string().nullable().describe("Of this turn only; null: the session's."),
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

/** The call of a tool. */
export const toolCall = z
  .looseObject({
    call_ref: z.string(),
    title: z.string(),
    kind: z.string(),
    input: z.unknown(),
  })
  .meta({ id: 'ToolCall', description: 'The call of a tool, as the agent reports it.' });

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
const turnParams = { ...sessionParam, turn_id: z.string().describe('The turn.') };

export const createSession = endpoint({
  method: 'POST',
  path: '/v1/sessions',
  summary: 'Open a session; its agent starts with the first turn',
  body: z.strictObject({
    provider: providerId,
    model: z.string().min(1).nullish(),
    cwd: z.string().min(1).nullish().describe("Working directory; absent: the server's."),
    permission_mode: z.string().min(1).nullish(),
    metadata: z.unknown().optional(),
    title: z.string().max(200).nullish(),
    thinking_effort: z.string().min(1).nullish(),
  }),
  response: session,
  errors: ['provider_unavailable'],
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
