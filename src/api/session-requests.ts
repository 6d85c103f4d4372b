import { z } from 'zod';
import { nameOfLength, optionalFlag, optionalName, pageQuery, requestedTime } from './common.ts';
import { endpoint } from './endpoint.ts';
import { mcpServers } from './mcp-servers.ts';
import { providerId } from './provider-kinds.ts';
import { sessionSandbox } from './session-sandbox.ts';
import { agentMode, requestedAgent, session, sessionParam, sessionStatus } from './sessions.ts';
import { ownAfterLimit } from './usage-limit.ts';
import { sessionWorktree } from './worktrees.ts';

/** The default and the maximum number of past turns that an import stores. */
export const MAX_PAST_TURNS = 200;

/** A setting for the agent that a session changes. */
const nextSetting = z.string().min(1).nullable().optional();

export const createSession = endpoint('POST /v1/sessions', {
  summary: 'Create a session; its agent starts with the first turn',
  body: z.strictObject({
    provider: providerId,
    agent: requestedAgent,
    model: optionalName('Model, by the name that the agent uses. Default: the agent chooses it.'),
    cwd: optionalName('Working directory. Default: the working directory of the server.'),
    permission_mode: optionalName(
      'Permission mode: which actions the agent may take and which need approval. Default: the configuration of the agent applies.',
    ),
    agent_mode: agentMode,
    metadata: z.unknown().optional().describe('Any value, which is stored with the session.'),
    title: nameOfLength(200).nullable().optional().meta({
      description: 'Title of the session. Default: the first line of the first prompt.',
    }),
    thinking_effort: optionalName(
      'Thinking effort, by the name that the agent uses. Default: the agent chooses it.',
    ),
    worktree: z
      .union([z.literal(true), sessionWorktree])
      .nullish()
      .meta({
        description:
          'Git worktree that the session claims. The session works in the directory of the worktree that corresponds to cwd. `true` creates a worktree with a generated name. If a step fails, no session or worktree remains.',
      }),
    mcp_servers: mcpServers.nullish().describe('MCP servers that the agent connects to.'),
    after_limit: ownAfterLimit.optional(),
    sandbox: sessionSandbox.nullish(),
    import: z
      .strictObject({
        ref: z.string().min(1).max(200).describe('Id of the conversation.'),
        history: z
          .int()
          .min(0)
          .max(MAX_PAST_TURNS)
          .default(MAX_PAST_TURNS)
          .describe('Maximum number of past turns to store.'),
        fork: optionalFlag(
          'Whether the session forks the conversation instead of continuing it. The conversation may then be open in another program. Default: false.',
        ),
      })
      .meta({ id: 'ImportRequest', description: 'The conversation that a new session continues.' })
      .nullish()
      .meta({
        description:
          "Conversation of the agent's own program that the session continues. A second import returns the open session of the first.",
      }),
  }),
  response: session,
  errors: ['provider_unavailable', 'conflict', 'not_found'],
});

export const listSessions = endpoint('GET /v1/sessions', {
  summary: 'List sessions, newest first',
  query: {
    status: sessionStatus.optional().describe('Return only sessions with this status.'),
    provider: providerId.optional().describe('Return only sessions of this provider.'),
    team_id: z.string().optional().describe('Return only members of this team.'),
    ...pageQuery,
  },
  response: z.array(session),
  errors: ['not_found'],
});

export const getSession = endpoint('GET /v1/sessions/{session_id}', {
  summary: 'Get a session',
  params: sessionParam,
  response: session,
});

export const updateSession = endpoint('PATCH /v1/sessions/{session_id}', {
  summary:
    'Update a session: title, pinned, snoozed, muted, seen, behavior after a usage limit, and the model and modes of its next turns',
  params: sessionParam,
  body: z
    .strictObject({
      title: nameOfLength(200).nullable().optional().meta({
        description:
          'Title of the session. Null removes the title; the next prompt of a user sets a new one.',
      }),
      pinned: z.boolean().optional().meta({
        description: 'Whether clients show the session before sessions that are not pinned.',
      }),
      snoozed_until: requestedTime.nullable().optional().meta({
        description:
          'Time until which the session sends no notifications to the user (Unix ms). Null ends the snooze.',
      }),
      muted: z.boolean().optional().meta({
        description: 'Whether the bell and desktop notifications are turned off for the session.',
      }),
      seen_seq: z.int().nonnegative().optional().meta({
        description:
          'Sequence number (seq) of an event that the user has seen. It must be a number that the server has assigned. A number below the stored value changes nothing, so clients need not coordinate.',
      }),
      after_limit: ownAfterLimit.optional(),
      permission_mode: nextSetting.describe(
        'Permission mode from the next turn on. Without agent_mode, the agent_mode of the session is removed. Null removes the permission mode: the configuration of the agent applies.',
      ),
      agent_mode: nextSetting.describe(
        "Mode of an agent of the provider `acp` from the next turn on, by the agent's own name for it. Null removes the agent mode.",
      ),
      model: nextSetting.describe(
        'Model from the next turn on. Null removes the model: the agent chooses the model.',
      ),
      thinking_effort: nextSetting.describe(
        'Thinking effort from the next turn on. Null removes the thinking effort.',
      ),
    })
    .describe(
      'Settings to change. Absent fields are not changed. Closed sessions can be changed too. An active turn keeps its model and modes.',
    ),
  response: session,
});

export const closeSession = endpoint('POST /v1/sessions/{session_id}/close', {
  summary: 'Close a session; a closed session is returned unchanged',
  params: sessionParam,
  body: z.strictObject({
    reason: z.string().max(2000).nullish().describe('Reason, which is stored as close_reason.'),
  }),
  response: session,
});

export const resumeSession = endpoint('POST /v1/sessions/{session_id}/resume', {
  summary:
    'Resume a failed session if its provider still has it; an open session is returned unchanged',
  params: sessionParam,
  body: z.strictObject({}),
  response: session,
  errors: ['session_closed', 'session_failed', 'provider_unavailable'],
});
