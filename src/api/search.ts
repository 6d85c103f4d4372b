import { z } from 'zod';
import { pageQuery, requestedTime, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { providerId } from './provider-kinds.ts';

export const searchKind = z
  .enum(['prompt', 'answer', 'tool', 'title'])
  .describe(
    'prompt: what a session was asked. answer: a message of its agent. tool: the title and the input of a call of a tool, such as a command or a path. title: the title of a session.',
  );

const searchHit = z
  .looseObject({
    kind: searchKind,
    session_id: z.string(),
    turn_id: z.string().nullable().describe('null: it belongs to no turn, as a title.'),
    item_id: z.string().nullable().describe('The message or call of a tool; null: it is no item.'),
    session_title: z.string().nullable(),
    session_status: z.string(),
    provider: z.string(),
    cwd: z.string(),
    created_at: timestamp.describe('When it was said; of a title, when its session was created.'),
    text: z
      .string()
      .describe(
        'The part of the text around what was found, as one line of about 200 characters, without control characters.',
      ),
    marks: z
      .array(
        z
          .looseObject({ start: z.int(), end: z.int() })
          .meta({ id: 'SearchMark', description: 'A place of a text, in UTF-16 code units.' }),
      )
      .describe('The places of what was found in `text`, in its order.'),
    url: z.string().describe('The path of the turn, or of the session of a title.'),
  })
  .meta({ id: 'SearchHit', description: 'Something that a search has found.' });
export type SearchHit = z.output<typeof searchHit>;

const searchIndex = z
  .looseObject({
    state: z
      .enum(['off', 'building', 'ready', 'waiting'])
      .describe(
        'off: there is no index; the first search makes it. building: what was said before back_to is not found yet. ready: everything is found. waiting: it cannot be written now, and detail says why.',
      ),
    documents: z.int().describe('How many texts it has.'),
    done: z.number().describe('The part of what is stored that was read for it, from 0 to 1.'),
    back_to: timestamp
      .nullable()
      .describe('While it is built: since when everything that was said is found.'),
    bytes: z.int().describe('The size of its file.'),
    detail: z.string().nullable(),
  })
  .meta({ id: 'SearchIndex', description: 'The index that searches use.' });
export type SearchIndex = z.output<typeof searchIndex>;

export const search = endpoint({
  method: 'GET',
  path: '/v1/search',
  summary: 'Search prompts, answers, the input of tools and titles',
  query: {
    q: z
      .string()
      .min(1)
      .max(2000)
      .optional()
      .describe(
        'Absent: whatever was said. Words that all have to be in the text, in any case and order. "in quotes": one after the other. word*: the beginning of a word. -word: what contains it is left out.',
      ),
    kind: searchKind.optional().describe('Only texts of this kind.'),
    session_id: z.string().optional().describe('Only this session.'),
    team_id: z.string().optional().describe('Only the members of this team.'),
    provider: providerId.optional().describe('Only sessions of this provider.'),
    cwd: z
      .string()
      .regex(/^\//, 'has to be an absolute path')
      .optional()
      .describe('Only sessions in this directory, or below it; an absolute path.'),
    since: requestedTime.optional().describe('Only what was said then or later.'),
    order: z
      .enum(['newest', 'best'])
      .default('newest')
      .describe(
        'newest: what was said last comes first. best: the 400 newest that match, by how well they match; it has one page.',
      ),
    ...pageQuery,
    limit: z
      .int()
      .min(1)
      .max(100)
      .default(20)
      .describe(
        'The maximum number of hits. A page may have fewer, because the time of a search is limited: there are more wherever there is an X-Next-Cursor.',
      ),
  },
  response: z.array(searchHit),
  errors: ['not_found'],
});

export const getSearchIndex = endpoint({
  method: 'GET',
  path: '/v1/search/index',
  summary: 'How far the index of searches is',
  response: searchIndex,
});

export const dropSearchIndex = endpoint({
  method: 'DELETE',
  path: '/v1/search/index',
  summary: 'Delete the index of searches; the next search makes a new one',
  response: searchIndex,
});
