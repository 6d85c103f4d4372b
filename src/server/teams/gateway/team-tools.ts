import path from 'node:path';
import type { Session } from '../../../api/sessions.ts';
import type { Team } from '../../../api/teams.ts';
import { toolNamespaces } from '../../../api/tools.ts';
import { AppError } from '../../../api/errors.ts';
import type { Clock } from '../../../core/lib/clock.ts';
import { filledFields } from '../../../core/lib/filled-fields.ts';
import type { MessageService } from '../messages.ts';
import type { TeamService } from '../service.ts';
import type { SpawnService } from '../spawn.ts';
import type { TeamPart, TeamViews } from '../view.ts';
import {
  failureOf,
  ToolError,
  type Answer,
  type Caller,
  type Runs,
  type SessionCaller,
  type Toolkit,
  toolkit,
} from './toolkit.ts';
import { ANSWER_BYTES, bounded, type LeftOut } from './bounded.ts';
import type { ToolPolicy } from './tool-policy.ts';
import type { MemberArgs, TeamToolPolicy } from './team-tool-policy.ts';

const SHOWN = 20;
/** The fraction of an answer that members may use if it also shows messages. */
const MEMBERS_SHARE = 0.6;
/** How long a call waits for a spawn, in milliseconds; if it ends later, only its event reports that. */
const SPAWN_WAIT_MS = 50_000;
const EVERYONE = 'broadcast';

interface Settings {
  enabled: boolean;
  non_lead_can_add_members: boolean;
  non_lead_can_remove_members: boolean;
}

interface TeamToolsDeps {
  teams: TeamService;
  messages: MessageService;
  spawns: SpawnService;
  views: TeamViews;
  clock: Clock;
  toolPolicy: ToolPolicy;
  teamToolPolicy: TeamToolPolicy;
  settings: () => Settings;
}

export function teamToolkit(dependencies: TeamToolsDeps): Toolkit {
  const tools = new TeamTools(dependencies);
  return toolkit({
    namespace: 'cadre_team',
    disabled: () =>
      dependencies.settings().enabled ? null : 'the team tools are disabled: see teams.enabled',
    descriptions: toolNamespaces.cadre_team,
    runs: {
      cadre_team_status: (args, caller) => tools.status(args, inSession(caller)),
      cadre_team_message: (args, caller) => tools.message(args, inSession(caller)),
      cadre_team_manage: (args, caller) => tools.manage(args, inSession(caller)),
    },
  });
}

/** Throws for a caller without a session: only sessions are members of teams. */
function inSession(caller: Caller): SessionCaller {
  if (caller.session) return caller;
  throw new ToolError(
    'unauthorized',
    'team tools require a session, and this caller has no session: set up the caller again with a session',
  );
}

type Args<Tool extends keyof typeof toolNamespaces.cadre_team> = Parameters<
  Runs<typeof toolNamespaces.cadre_team>[Tool]
>[0];

class TeamTools {
  readonly #deps: TeamToolsDeps;

  constructor(deps: TeamToolsDeps) {
    this.#deps = deps;
  }

  async status(args: Args<'cadre_team_status'>, caller: SessionCaller): Promise<Answer> {
    const { toolPolicy, views } = this.#deps;
    const { id } = await this.#teamOf(args.team_id, caller.session);
    const effect = { tool: 'cadre_team_status', action: 'read' } as const;
    await toolPolicy.passOne(caller, effect, { team_id: id });
    const part = await views.part(id, {
      afterMember: args.member_cursor ?? null,
      messageLimit: args.message_limit ?? SHOWN,
      messageCursor: args.message_cursor ?? undefined,
    });
    return statusOf(part, args.max_bytes ?? ANSWER_BYTES);
  }

  async message(
    { team_id, ...args }: Args<'cadre_team_message'>,
    caller: SessionCaller,
  ): Promise<Answer> {
    const { recipient_agent_id: recipient, message, image_paths, ...rest } = args;
    const { session } = caller;
    const { id } = await this.#teamOf(team_id, session);
    const draft = {
      ...rest,
      sender_agent_id: session.id,
      recipient_agent_id: recipient === EVERYONE ? null : recipient,
      input: { type: 'text' as const, text: message },
      image_paths: absolute(image_paths, session),
    };
    const admit = () => this.#deps.teamToolPolicy.message(caller, { ...args, team_id: id });
    const sent = await this.#deps.messages.sendAsAgent(id, draft, admit);
    return bounded({ message: sent.message }, { deliveries: { items: sent.deliveries } });
  }

  async manage(
    { team_id, remove_agent_ids: leaving, ...adding }: Args<'cadre_team_manage'>,
    caller: SessionCaller,
  ): Promise<Answer> {
    const { session } = caller;
    const team = await this.#teamOf(team_id, session);
    if (!leaving) return this.#add(team, adding, caller);
    const conflicting = filledFields(adding)[0]?.[0];
    if (conflicting !== undefined)
      throw new ToolError(
        'bad_request',
        `args.${conflicting}: one call cannot both add a member and remove members with remove_agent_ids: call the tool once for each`,
      );
    this.#assertMayRemove(team, leaving, session);
    const effect = { tool: 'cadre_team_manage', action: 'remove_member' } as const;
    const shown = { team_id: team.id, remove_agent_ids: leaving };
    await this.#deps.toolPolicy.passOne(caller, effect, shown);
    const results = [];
    for (const agent_id of leaving) results.push(await this.#remove(team, agent_id));
    return bounded({}, { results: { items: results } });
  }

  /** Returns the named team, else the only one that the caller is in. */
  async #teamOf(named: string | null | undefined, { id }: Session): Promise<Team> {
    const mine = await this.#deps.teams.teamsOf(id);
    if (named !== null && named !== undefined) {
      const { team } = await this.#deps.teams.get(named);
      if (team.deleted_at !== null)
        throw new AppError('team_deleted', `team ${team.id} was deleted`);
      if (mine.some((one) => one.id === named)) return team;
      throw new ToolError('unauthorized', `you are not a member of team "${named}"`);
    }
    const [only, ...others] = mine;
    if (!only) throw new ToolError('bad_request', 'args.team_id: you are not a member of any team');
    if (others.length === 0) return only;
    const ids = mine.map((one) => one.id).join(', ');
    throw new ToolError(
      'bad_request',
      `args.team_id: you are a member of several teams: choose one of ${ids}`,
    );
  }

  async #add(
    team: Team,
    args: MemberArgs,
    caller: SessionCaller,
  ): Promise<Record<string, unknown>> {
    const { session } = caller;
    const { worktree_name: name, image_paths, ...rest } = args;
    if (team.lead_agent_id !== session.id && !this.#deps.settings().non_lead_can_add_members)
      throw new ToolError(
        'unauthorized',
        `only the lead ${team.lead_agent_id} can add members: send a message to the lead`,
      );
    const modes = await this.#deps.toolPolicy.modes(caller);
    const member = {
      ...rest,
      source_session_id: session.id,
      image_paths: absolute(image_paths, session),
      worktree: name ? { mode: 'reuse' as const, name } : null,
    };
    const { operation_id, done } = await this.#deps.spawns.beginAsAgent(team.id, member, {
      modes,
      isLimited: !caller.isOperator,
      admit: () => this.#deps.teamToolPolicy.member(caller, { ...args, team_id: team.id }),
    });
    const late = new AbortController();
    const limit = this.#deps.clock.sleep(SPAWN_WAIT_MS, late.signal).then(
      () => ({ operation_id, status: 'running' }),
      () => ({}),
    );
    try {
      return bounded(await Promise.race([done, limit]), {});
    } finally {
      late.abort();
    }
  }

  #assertMayRemove(team: Team, leaving: readonly string[], { id }: Session): void {
    const { lead_agent_id: lead } = team;
    const others = leaving.filter((agent) => agent !== id);
    if (others.length === 0) return;
    if (lead === id) return;
    if (!this.#deps.settings().non_lead_can_remove_members)
      throw new ToolError(
        'unauthorized',
        `only the lead ${lead} can remove members: send a message to the lead`,
      );
    if (others.includes(lead))
      throw new ToolError(
        'unauthorized',
        `you cannot remove ${lead}, because this session is the lead of the team`,
      );
  }

  async #remove({ id }: Team, agent_id: string) {
    try {
      await this.#deps.teams.removeMember(id, agent_id);
      return { agent_id, ok: true };
    } catch (error) {
      const failed = failureOf(error);
      if (!failed) throw error;
      return { agent_id, ok: false, error: failed.error };
    }
  }
}

/** Returns members first, then messages, newest first, then their deliveries. */
function statusOf(part: TeamPart, bytes: number): Answer {
  const { team, member_count, latest_seq, from, members, messages, deliveries } = part;
  const more = messages.at(-1)?.next ?? null;
  const answer = bounded(
    { team, member_count, latest_seq },
    {
      members: {
        items: members,
        total: member_count - from,
        share: messages.length > 0 ? MEMBERS_SHARE : 1,
        next: (shown) => ({
          member_cursor: members[shown - 1]?.agent_id ?? null,
          message_limit: 0,
        }),
      },
      messages: {
        items: messages.map(({ message }) => message),
        total: more === null ? messages.length : null,
        next: (shown) => ({ message_cursor: messages[shown - 1]?.next ?? null }),
      },
      deliveries_by_message_id: { items: deliveries, isMap: true },
    },
    bytes,
  );
  const shownOf = new Map(deliveries);
  const missing = messages.reduce(
    (sum, { message: { id, recipient_agent_ids: all } }) =>
      sum + Math.max(0, all.length - (shownOf.get(id)?.length ?? 0)),
    0,
  );
  const { left_out } = answer as { left_out: LeftOut[] | null };
  if (missing > 0)
    answer.left_out = [
      ...(left_out ?? []),
      { what: 'older deliveries of broadcasts', count: missing, next: null },
    ];
  return answer;
}

function absolute(paths: readonly string[] | null | undefined, { cwd }: Session): string[] {
  return (paths ?? []).map((one) => path.resolve(cwd, one));
}
