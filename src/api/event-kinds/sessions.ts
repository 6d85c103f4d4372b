import { lastWords, session, sessionTitle, turn } from '../sessions.ts';
import { z } from 'zod';
import { describeKinds } from './kind.ts';

const kind = describeKinds('session');

/** A session as events carry it after its creation. */
const sessionInEvents = session
  .omit({ metadata: true })
  .meta({ id: 'SessionInEvents', description: 'A session that has changed, without `metadata`.' });
export type SessionInEvents = z.output<typeof sessionInEvents>;

/** A turn as events carry it after it was accepted. */
const turnInEvents = turn.omit({ input: true, text: true }).meta({
  id: 'TurnInEvents',
  description: 'A turn that has changed, without `input` and `text`.',
});
export type TurnInEvents = z.output<typeof turnInEvents>;

const changed = {
  id: 'sess_019aa8d25b1c7c079a542f6d0c1b7e11',
  provider: 'acp' as const,
  agent: 'gemini',
  model: null,
  cwd: '/home/ada/project',
  permission_mode: null,
  agent_mode: null,
  agent_asks: null,
  thinking_effort: null,
  title: 'fix the tests',
  status: 'ready' as const,
  pinned: false,
  snoozed_until: null,
  muted: false,
  seen_seq: 0,
  news_seq: 51,
  last_activity_at: 1795312004000,
  last_words: 'The tests pass again.',
  active_turn_id: null,
  last_turn_id: 'turn_019aa8d26f307d6a8c1f91b7a3e0d422',
  provider_session_ref: 'demo-7c07',
  provider_defaults: null,
  worktree_id: null,
  usage: null,
  close_reason: null,
  failure: null,
  created_at: 1795312001000,
  updated_at: 1795312004000,
  closed_at: null,
  trimmed: false,
};

/** Sessions. */
export const sessionKinds = {
  'session.created': kind({
    when: 'A session was opened. Its agent starts with its first turn.',
    payload: { session },
    large: ['session.metadata'],
    example: {
      session: {
        ...changed,
        last_turn_id: null,
        provider_session_ref: null,
        news_seq: 0,
        last_activity_at: 1795312001000,
        last_words: null,
        updated_at: 1795312001000,
        metadata: { ticket: 'T-12' },
      },
    },
  }),
  'session.updated': kind({
    when:
      'A session changed otherwise than by its turns: its title, what a person has seen, pinned, snoozed or muted, the ' +
      'worktree that it works in, or its status after the end of a run. What turns change in their session, their ' +
      'own events say.',
    payload: { session: sessionInEvents },
    example: { session: { ...changed, worktree_id: 'wt_019aa8d411aa7f0e8d1c0b9e4f7a6c33' } },
  }),
  'session.resumed': kind({
    when: 'A failed session was brought back, since its provider still has it.',
    payload: { session: sessionInEvents },
    example: { session: changed },
  }),
  'session.closed': kind({
    when: 'A session was closed, for good.',
    payload: { session: sessionInEvents },
    example: {
      session: {
        ...changed,
        status: 'closed',
        close_reason: 'done',
        updated_at: 1795312009000,
        closed_at: 1795312009000,
      },
    },
  }),
  'session.failed': kind({
    when: 'A session failed: its provider does not have it any more, or cannot take it up again.',
    payload: { session: sessionInEvents },
    example: {
      session: {
        ...changed,
        status: 'failed',
        failure: { code: 'resume_failed', message: 'the agent does not know the session' },
      },
    },
  }),
  'session.limited': kind({
    when:
      'An agent has reported a usage limit, so that nothing that waits for the session becomes a turn for now: the limit ' +
      'ended its turn, or its next turn would have met the limit of an account that it shares. `usage_limit` says until when.',
    payload: { session: sessionInEvents },
    example: {
      session: {
        ...changed,
        usage_limit: {
          message: "claude has reached a usage limit: You've hit your 5-hour limit",
          since: 1795312004000,
          resets_at: 1795322700000,
          resumes_at: 1795322700000,
          waits_because: null,
          turn_id: changed.last_turn_id,
        },
      },
    },
  }),
  'session.limit_ended': kind({
    when:
      'A session no longer waits for a usage limit: the limit has reset, a person resumed the session or sent it a turn, or ' +
      'a turn of the same account has shown that the limit is over.',
    payload: { session: sessionInEvents },
    example: { session: { ...changed, usage_limit: null } },
  }),
  'session.notice': kind({
    when:
      'Something that a person should know of a session and that nobody said: a notice or warning of its agent, a ' +
      'compaction of its context, or a limit that cadre sees. It has the turn in which it came, if it came in one.',
    payload: {
      code: z
        .string()
        .describe(
          'What it is about, in snake_case, such as notice, warning, compaction or agent_never_asks; others may be added.',
        ),
      message: z.string().describe('What it says, for people.'),
    },
    example: { code: 'compaction', message: 'the agent has summarised what was said so far' },
  }),
};

const started = {
  session_id: changed.id,
  turn_id: changed.last_turn_id,
  status: 'running' as const,
  source: 'user' as const,
  permission_mode: null,
  agent_mode: null,
  model: null,
  thinking_effort: null,
  usage: null,
  error: null,
  provider_turn_ref: 'prompt-1',
  accepted_at: 1795312002000,
  started_at: 1795312002040,
  ended_at: null,
  interrupt_requested_at: null,
  trimmed: false,
};

const wordsAfter = lastWords.describe('The `last_words` of its session from now on.');

/** Turns. Each move of a turn implies the status of its session. */
export const turnKinds = {
  'turn.accepted': kind({
    when: 'A turn was sent and stored. Its session is running from now on.',
    payload: { turn, title: sessionTitle.describe('The title of its session from now on.') },
    large: ['turn.input'],
    example: {
      title: 'fix the tests',
      turn: {
        ...started,
        status: 'accepted',
        input: [{ type: 'text', text: 'fix the tests' }],
        text: null,
        provider_turn_ref: null,
        started_at: null,
      },
    },
  }),
  'turn.started': kind({
    when: 'A turn has an agent, which is about to be prompted.',
    payload: { turn: turnInEvents },
    example: { turn: started },
  }),
  'turn.interrupt_requested': kind({
    when: 'Somebody asked for a turn to end. It ends interrupted, whatever its agent does.',
    payload: { turn: turnInEvents },
    example: { turn: { ...started, interrupt_requested_at: 1795312003000 } },
  }),
  'turn.completed': kind({
    when: 'A turn has ended: its agent has answered. Its session is ready.',
    payload: { turn: turnInEvents, last_words: wordsAfter },
    example: {
      turn: { ...started, status: 'completed', ended_at: 1795312004000 },
      last_words: 'The tests pass again.',
    },
  }),
  'turn.interrupted': kind({
    when: 'A turn has ended because somebody asked for it. Its session is ready.',
    payload: { turn: turnInEvents, last_words: wordsAfter },
    example: {
      turn: {
        ...started,
        status: 'interrupted',
        ended_at: 1795312003200,
        interrupt_requested_at: 1795312003000,
      },
      last_words: 'The tests pass again.',
    },
  }),
  'turn.failed': kind({
    when: 'A turn has ended without an answer; its `error` says why. Its session is ready, unless it failed with it.',
    payload: { turn: turnInEvents, last_words: wordsAfter },
    example: {
      turn: {
        ...started,
        status: 'failed',
        error: { code: 'agent_exited', message: 'the agent exited with 1' },
        ended_at: 1795312004000,
      },
      last_words: 'The tests pass again.',
    },
  }),
};
