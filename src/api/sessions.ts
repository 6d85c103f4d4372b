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

/** What a turn or session has used, as the provider counts it; null where it does not say. */
export const usage = z
  .looseObject({
    input_tokens: z.number().nullable(),
    output_tokens: z.number().nullable(),
    cached_input_tokens: z.number().nullable(),
    total_tokens: z.number().nullable(),
    context_tokens: z.number().nullable().describe('What the last model request held.'),
    context_window: z.number().nullable(),
    cost_usd: z.number().nullable(),
  })
  .meta({
    id: 'Usage',
    description:
      'What a turn or session has used, as the provider counts it; null where it does not say.',
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
      .meta({ id: 'ProviderDefaults', description: 'What an agent began a session with.' })
      .nullable()
      .describe('What its agent began with: what holds where neither session nor turn wishes.'),
    worktree_id: z.string().nullable(),
    usage: usage.nullable(),
    close_reason: z.string().nullable(),
    failure: failure.nullable(),
    created_at: timestamp,
    updated_at: timestamp,
    closed_at: timestamp.nullable(),
    trimmed: z.boolean().describe('Retention took its events and what its turns said.'),
  })
  .meta({
    id: 'Session',
    description: 'A conversation with an agent.',
  });
export type Session = z.output<typeof session>;

const textInput = z
  .strictObject({ type: z.literal('text'), text: z.string() })
  .meta({ id: 'TextInput', description: 'Text that is said to an agent.' });
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
      .describe('Told from the bytes; refused if it says something else.'),
  })
  .meta({ id: 'ImageInline', description: 'An image in the request.' });

const saidText = textInput
  .extend({ text: z.string().regex(/\S/, 'is blank: say something') })
  .meta({ id: 'SaidText', description: 'Text that is said to an agent, and is not blank.' });

/** One piece of a message to an agent: its text is not blank. */
export const saidItem = z.union([saidText, imageByPath, imageInline]);

/** One piece of what is said to an agent, as a client sends it. */
export const inputItem = z.union([textInput, imageByPath, imageInline]).meta({
  id: 'InputItem',
  description: 'One piece of what is said to an agent.',
});
export type InputItem = z.output<typeof inputItem>;

const storedText = z
  .looseObject({ type: z.literal('text'), text: z.string() })
  .meta({ id: 'StoredText', description: 'Text that was said to an agent.' });

export const storedImage = z
  .looseObject({
    type: z.literal('image'),
    path: z.string(),
    media_type: z.string(),
    bytes: z.int(),
    sha256: z.string(),
  })
  .meta({ id: 'StoredImage', description: 'The copy of an image that was said to an agent.' });
/** One piece of what was said to an agent, as it is kept: an image by its digest, never its data. */
export const storedInputItem = z.discriminatedUnion('type', [storedText, storedImage]).meta({
  id: 'StoredInputItem',
  description:
    'One piece of what was said to an agent, as it is kept: an image by its digest, never its data.',
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
    text: z.string().nullable().describe('The last thing the agent said.'),
    usage: usage.nullable(),
    error: failure.nullable(),
    provider_turn_ref: z.string().nullable(),
    accepted_at: timestamp,
    started_at: timestamp.nullable(),
    ended_at: timestamp.nullable(),
    interrupt_requested_at: timestamp.nullable(),
    trimmed: z.boolean().describe('Retention took its input, text and items.'),
  })
  .meta({
    id: 'Turn',
    description: 'What was said to an agent, and what came of it.',
  });
export type Turn = z.output<typeof turn>;

/** What an agent called, as it tells of it. */
export const toolCall = z
  .looseObject({
    call_ref: z.string(),
    title: z.string(),
    kind: z.string(),
    input: z.unknown(),
  })
  .meta({ id: 'ToolCall', description: 'What an agent called, as it tells of it.' });

/** One thing that a turn said or did, whole. */
export const item = z
  .looseObject({
    item_id: z.string(),
    session_id: z.string(),
    turn_id: z.string().nullable(),
    kind: z.enum(['message', 'reasoning', 'tool']),
    status: z.enum(['open', 'completed', 'interrupted', 'failed']),
    text: z.string().describe('What was said; of a tool, its output.'),
    tool: toolCall.nullable(),
    created_at: timestamp,
    completed_at: timestamp.nullable(),
  })
  .meta({
    id: 'Item',
    description: 'One thing that a turn said or did, whole.',
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
      .describe('One item stands for an array of one.'),
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
  summary: 'What a turn said and did, in order',
  params: turnParams,
  response: z.array(item),
  errors: ['not_found'],
});

export const getItem = endpoint({
  method: 'GET',
  path: '/v1/sessions/{session_id}/turns/{turn_id}/items/{item_id}',
  summary: 'One thing that a turn said or did, whole',
  params: { ...turnParams, item_id: z.string().describe('The item.') },
  response: item,
  errors: ['not_found'],
});

export const interruptTurn = endpoint({
  method: 'POST',
  path: '/v1/sessions/{session_id}/turns/{turn_id}/interrupt',
  summary: 'Ask for a turn to end; it ends interrupted, whatever its agent does',
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
    'Bring a failed session back, if its provider still has it; others are given as they are',
  params: sessionParam,
  body: z.strictObject({}),
  response: session,
  errors: ['not_found', 'session_closed', 'session_failed', 'provider_unavailable'],
});
