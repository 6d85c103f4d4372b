import { z } from 'zod';
import { nameOfLength, optionalFlag, optionalName } from './common.ts';
import { endpoint } from './endpoint.ts';
import { providerId } from './provider-kinds.ts';
import { agentMode, requestedAgent, session, sessionParam } from './sessions.ts';

/** The limits of handoffs, in UTF-16 code units. */
export const handoffLimits = { digest: 24_000, fullRecord: 2_000_000, note: 20_000 };

export const handOffSession = endpoint('POST /v1/sessions/{session_id}/handoff', {
  summary:
    'Hand a session over to another agent: a new session in the same directory, whose first turn contains a digest of the conversation',
  params: sessionParam,
  body: z.strictObject({
    provider: providerId,
    agent: requestedAgent,
    model: z.string().min(1).nullish(),
    permission_mode: optionalName(
      'Permission mode of the new session. Default: the mode of the old session if it is `require_approval` or `read_only`; otherwise, the configuration of the new agent applies.',
    ),
    agent_mode: agentMode,
    thinking_effort: z.string().min(1).nullish(),
    title: nameOfLength(200).nullish().meta({
      description: 'Title of the new session. Default: the title of the old session.',
    }),
    note: z.string().regex(/\S/, 'is blank: enter a text').max(handoffLimits.note).nullish().meta({
      description:
        'Request to the new agent, which follows the digest. Default: a request to continue the work.',
    }),
    full: optionalFlag(
      'Whether the server also writes a longer record to a file that the digest names. The file is removed when the new session is closed. Default: false.',
    ),
    close: optionalFlag('Whether the old session is closed in the same step. Default: false.'),
  }),
  response: z.looseObject({
    session: session.describe('The new session.'),
    turn_id: z.string().describe('First turn of the new session.'),
  }),
  errors: [
    'conflict',
    'turn_in_progress',
    'session_closed',
    'budget_reached',
    'provider_unavailable',
  ],
});
