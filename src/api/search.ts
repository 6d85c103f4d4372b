import { z } from 'zod';
import {
  component,
  nullableText,
  nullableTime,
  pageQuery,
  requestedTime,
  text,
  timestamp,
} from './common.ts';
import { endpoint } from './endpoint.ts';
import { providerId } from './provider-kinds.ts';

export const searchKind = z.enum(['prompt', 'answer', 'tool', 'title']).meta({
  description:
    'Kind of text. `prompt`: a prompt to a session. `answer`: a message of the agent. `tool`: title and input of a tool call, such as a command or path. `title`: the title of a session.',
});

const searchHit = component('SearchHit', 'A search result.', {
  kind: searchKind,
  session_id: z.string(),
  turn_id: nullableText(
    'Turn that contains the text. Null for text that belongs to no turn, such as a title.',
  ),
  item_id: nullableText(
    'Message or tool call that contains the text. Null if the text is not an item.',
  ),
  session_title: z.string().nullable(),
  session_status: z.string(),
  provider: z.string(),
  cwd: z.string(),
  created_at: timestamp.describe(
    'Time of the text (Unix ms). For a title: time at which it was set, or creation time of the session if that time is unknown.',
  ),
  text: text(
    'Excerpt around the match, as one line of about 200 characters without control characters.',
  ),
  marks: z
    .array(
      component('TextRange', 'A range in a text, in UTF-16 code units.', {
        start: z.int(),
        end: z.int(),
      }),
    )
    .describe('Ranges of the matches in `text`, in order.'),
  url: text('Path of the turn, or of the session for a title.'),
});
export type SearchHit = z.output<typeof searchHit>;

const searchIndex = component('SearchIndex', 'The search index.', {
  state: z.enum(['off', 'building', 'ready', 'waiting']).meta({
    description:
      'State of the index. `off`: there is no index; the first search creates it. `building`: texts older than back_to are not found yet. `ready`: all texts are found. `waiting`: the index cannot be written now; `detail` gives the reason.',
  }),
  documents: z
    .int()
    .describe('Number of texts that were indexed, including texts that were deleted since.'),
  done: z.number().describe('Fraction of the stored data that has been indexed, from 0 to 1.'),
  back_to: nullableTime(
    'Time since which all texts are found, while the index is being built (Unix ms). Null otherwise.',
  ),
  bytes: z.int().describe('Size of the index file in bytes.'),
  detail: z.string().nullable(),
});
export type SearchIndex = z.output<typeof searchIndex>;

export const search = endpoint('GET /v1/search', {
  summary: 'Search prompts, answers, tool inputs and titles',
  query: {
    q: z.string().min(1).max(2000).optional().meta({
      description:
        'Query. All words must occur in the text, in any order; case is ignored. `"in quotes"`: a phrase. `word*`: a prefix. `-word`: exclude texts with this word. Default: all texts.',
    }),
    kind: searchKind.optional().describe('Return only texts of this kind.'),
    session_id: z.string().optional().describe('Return only texts of this session.'),
    team_id: z.string().optional().describe('Return only texts of members of this team.'),
    provider: providerId.optional().describe('Return only texts of sessions of this provider.'),
    cwd: z
      .string()
      .regex(/^\//, 'must be an absolute path')
      .optional()
      .describe('Return only texts of sessions in this directory or below it. An absolute path.'),
    since: requestedTime
      .optional()
      .describe('Return only texts from this time or later (Unix ms).'),
    order: z.enum(['newest', 'best']).default('newest').meta({
      description:
        'Order of the results. `newest`: newest first. `best`: the 400 newest matches, best match first, in one page.',
    }),
    ...pageQuery,
    limit: z.int().min(1).max(100).default(20).meta({
      description:
        'Maximum number of results. A page may have fewer because the time of a search is limited. If the response has an X-Next-Cursor, there are more results.',
    }),
  },
  response: z.array(searchHit),
  errors: ['not_found'],
});

export const getSearchIndex = endpoint('GET /v1/search/index', {
  summary: 'Get the state of the search index',
  response: searchIndex,
});

export const dropSearchIndex = endpoint('DELETE /v1/search/index', {
  summary: 'Delete the search index; the next search creates a new one',
  response: searchIndex,
});
