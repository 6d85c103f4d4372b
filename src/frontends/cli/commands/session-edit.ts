import { handoffNameOf } from '../../../api/after-limit.ts';
import { AppError, usageError } from '../../../api/errors.ts';
import { endpoints } from '../../../api/index.ts';
import { inheritedPermissionModes } from '../../../api/permission-modes.ts';
import { agentProvider, providerId } from '../../../api/provider-kinds.ts';
import { agentOf } from '../../../client/agent-of.ts';
import { shellWord } from '../../../core/lib/shell-word.ts';
import { askYes } from '../choose.ts';
import { clientCommand } from '../command.ts';
import { endpointCommand, type Fields, type Reading } from '../endpoint-command.ts';
import { sessionArgument, sessionId, turnId } from '../find.ts';
import { afterLimitText } from '../limit-text.ts';
import { labelOf, plain, shortId } from '../output.ts';
import type { Session } from '../../../api/sessions.ts';
import { counted } from '../../../core/lib/counted.ts';
import { required, session } from '../parameters.ts';
import type { AgentOptions } from '../session/open-session.ts';
import { canAsk, type CommandContext } from '../command-io.ts';
import { broughtText } from './worktree-trust.ts';

type Setting = 'agent_mode' | 'model' | 'thinking_effort';

export const sessionEdit = endpointCommand({
  name: 'edit',
  description: 'Change the model and the modes of a session, from its next turn on',
  endpoint: endpoints.updateSession,
  parameters: [
    session,
    {
      line: '--permission-mode <mode>  Permission mode of the agent ("" removes it)',
      async read(value, { client, fields }) {
        if (value === '') return { permission_mode: null };
        const { assertPermissionMode } = await import('../session/assert-mode.ts');
        const params = { session_id: String(fields.session_id) };
        const mode = String(value);
        await assertPermissionMode(
          { client },
          await client.call(endpoints.getSession, { params }),
          mode,
        );
        return { permission_mode: mode };
      },
    },
    setting(
      'agent_mode',
      '--agent-mode <mode>  Mode of the agent that the agent defines ("" removes it)',
    ),
    setting('model', '--model <model>  Model of the agent ("" removes it)'),
    setting('thinking_effort', '--effort <effort>  Reasoning effort of the model ("" removes it)'),
  ],
  fields(options) {
    if (Object.keys(options).length === 0)
      throw usageError('there is nothing to change: pass an option such as --model');
    return {};
  },
  print: ({ id, title, permission_mode, agent_mode, model, thinking_effort }) => {
    const settings = [
      `permission mode ${plain(permission_mode ?? 'default')}`,
      ...(agent_mode === null ? [] : [`agent mode ${plain(agent_mode)}`]),
      `model ${plain(model ?? 'default')}`,
      ...(thinking_effort === null ? [] : [`effort ${plain(thinking_effort)}`]),
    ];
    return `Updated session ${labelOf(id, title)} from its next turn on: ${settings.join(', ')}\n`;
  },
});

export const sessionAfterLimit = clientCommand({
  name: 'after-limit',
  description:
    'Choose whether a session resumes by itself, waits for you or continues with another agent at a usage limit',
  parameters: [
    sessionArgument,
    '<action>  Action at a usage limit: resume when the limit resets, wait for a command of yours, or handoff:AGENT, such as handoff:codex',
  ],
  async run(context, reference: string, after_limit: string) {
    const { client, show, io } = context;
    const params = { session_id: await sessionId(client, reference) };
    const consent = await askForConsent(context, params.session_id, handoffNameOf(after_limit));
    const updated = await client.call(endpoints.updateSession, { params, body: { after_limit } });
    if (consent) await client.call(endpoints.trustContent, { body: consent });
    const session = consent ? await client.call(endpoints.getSession, { params }) : updated;
    show(
      session,
      () =>
        `Updated session ${labelOf(session.id, session.title)}: ${afterLimitText(session, io.clock.now())}\n`,
    );
  },
});

/**
 * Asks on a terminal for the consent that an agent continues sessions of the repository, if it is missing. Returns the
 * consent to store; null for none, also if the server cannot tell. Throws `usage` if the person declines.
 */
async function askForConsent(
  { client, io, global }: CommandContext,
  session_id: string,
  handoff: string | null,
): Promise<{ repo_root: string; sha256: string } | null> {
  if (handoff === null) return null;
  const { cwd } = await client.call(endpoints.getSession, { params: { session_id } });
  const looking = client.call(endpoints.lookAtBrought, { body: { repo_root: cwd, handoff } });
  // The directory may be in no repository, and the token may not allow consents.
  const found = await looking.catch((error: unknown) => {
    if (!(error instanceof AppError)) throw error;
    return null;
  });
  const [asked] = found?.brings ?? [];
  if (!found || !asked || asked.trusted) return null;
  const { repo_root } = found;
  if (global.json || !canAsk(io)) {
    io.stderr.write(
      `cadre: ${plain(asked.name)} may not continue sessions of ${plain(repo_root)} yet: run cadre worktrees trust --repo ${shellWord(plain(repo_root))} --handoff ${shellWord(handoff)}\n`,
    );
    return null;
  }
  io.stderr.write(broughtText(asked));
  const question = `  allow these handoffs for ${plain(repo_root)}? [y/N] `;
  if (!(await askYes(io, question))) throw usageError('not confirmed: nothing was changed');
  return { repo_root, sha256: asked.sha256 };
}

function setting(field: Setting, line: string) {
  return {
    line,
    read: (value: unknown): Partial<Fields<typeof endpoints.updateSession>> => ({
      [field]: value === '' ? null : value,
    }),
  };
}

interface HandoffOptions extends AgentOptions {
  note?: string;
  full?: boolean;
  close?: boolean;
}

export const sessionHandoff = clientCommand({
  name: 'handoff',
  description:
    'Hand a session over to another agent, which continues the work in the same directory',
  parameters: [
    sessionArgument,
    { line: '--provider <provider>  Provider of the new agent', choices: providerId.options },
    '--agent <agent>  Name of the new agent for the provider acp, such as gemini',
    '--model <model>  Model of the new agent',
    '--effort <effort>  Reasoning effort of the model',
    '--permission-mode <mode>  Permission mode of the new session (default: keeps require_approval and read_only, otherwise as for a new session)',
    '--agent-mode <mode>  Name of a mode that the new agent itself defines, such as plan (only for the provider acp)',
    '--title <title>  Title of the new session (default: title of the old session)',
    '--note <text>  Request to the new agent (default: a request to continue)',
    '--full  Also write a longer record to a file for the new agent',
    '--close  Close the old session in the same step',
  ],
  async run(context, reference: string, options: HandoffOptions) {
    const { client, show } = context;
    const named = options.agent === undefined ? undefined : agentProvider;
    const provider = options.provider ?? named;
    if (provider === undefined)
      throw usageError('name the new agent with --provider or --agent, such as --provider codex');
    const session_id = await sessionId(client, reference);
    const [{ defaultsOf }, { agentBody }] = await Promise.all([
      import('../session/defaults.ts'),
      import('../session/open-session.ts'),
    ]);
    const defaults = await defaultsOf(context);
    const old = await client.call(endpoints.getSession, { params: { session_id } });
    const body = {
      ...(await agentBody(context, provider, defaults, {
        ...options,
        hasPerson: context.io.stdin.isTTY === true,
        keepsMode: inheritedPermissionModes.includes(old.permission_mode ?? ''),
      })),
      note: options.note,
      full: options.full,
      close: options.close,
    };
    const answer = await client.call(endpoints.handOffSession, { params: { session_id }, body });
    const { session } = answer;
    show(
      answer,
      () =>
        `Handed session ${shortId(session_id)} over to ${plain(agentOf(session))}: session ${labelOf(session.id, session.title)}\nFollow its first turn with cadre sessions attach ${shortId(session.id)}\n`,
    );
  },
});

type Origin = NonNullable<Session['forked_from']>;

const title = '--title <title>  Title of the new session';

/** Reads a turn of the session that an earlier parameter names, by its id or the end of it. */
async function readTurn(reference: string, { client, fields }: Reading) {
  return { turn_id: await turnId(client, reference, String(fields.session_id)) };
}

export const sessionFork = endpointCommand({
  name: 'fork',
  description: 'Open a session with the same agent and the history of another session up to a turn',
  endpoint: endpoints.forkSession,
  parameters: [
    session,
    {
      line: '--at <turn>  Last turn of the history (default: newest completed turn)',
      read: readTurn,
    },
    {
      line: '--worktree [name]  Name of a git worktree for the new session (default: directory of the session)',
      read: (name: string | true) => ({
        worktree: name === true ? (true as const) : { worktree_name: name },
      }),
    },
    '--files  Give the new worktree the files from the end of the turn',
    title,
  ],
  print: (forked) => forkedText('Forked', forked),
});

export const sessionRewind = endpointCommand({
  name: 'rewind',
  description:
    'Continue a session from an earlier turn in a new session, and close the old session',
  endpoint: endpoints.rewindSession,
  parameters: [
    session,
    required({ line: '--to <turn>  Turn to rewind to', read: readTurn }),
    '--files  Restore the files to the end of the turn',
    title,
  ],
  confirm: (reference) => `close session "${reference}", and continue from the earlier turn?`,
  print: (rewound) => forkedText('Rewound', rewound),
});

/** The session or the conversation that a session was forked from. */
export function originText({ session_id, conversation }: Origin): string {
  return session_id === null
    ? `conversation ${plain(conversation ?? '')}`
    : `session ${session_id}`;
}

function forkedText(done: string, { id, title: name, forked_from: from }: Session): string {
  const history = counted(from?.past_turns ?? 0, 'past turn');
  return `${done} session ${shortId(from?.session_id ?? '')}: session ${labelOf(id, name)} has ${history}\nContinue with cadre sessions send ${plain(shortId(id))}\n`;
}
