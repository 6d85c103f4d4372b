import type { BodyOf, QueryOf, ResponseOf } from '../api/endpoint.ts';
import type { CommsDiagnostics } from '../api/team-view.ts';
import type {
  addMember,
  createTeam,
  interruptTeam,
  listTeams,
  Member,
  Team,
  TeamWithMembers,
} from '../api/teams.ts';
import { AppError } from '../errors.ts';
import { type Keep, keepNothing } from '../store/kept-answers.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { SessionService } from '../sessions/service.ts';
import { assertNotClosed } from '../sessions/session.ts';
import type { SessionStore } from '../sessions/store.ts';
import type { Database } from '../store/database.ts';
import type { RecordPage } from '../store/records.ts';
import type { WorktreeStore } from '../worktrees/store.ts';
import { type Dispatcher, recipientLeft } from './dispatcher.ts';
import type { TeamStore } from './store.ts';
import { BY_API, memberIn, withoutMember } from './team.ts';

interface TeamServiceDependencies {
  db: Database;
  store: TeamStore;
  sessionStore: SessionStore;
  sessions: SessionService;
  worktrees: WorktreeStore;
  dispatcher: Dispatcher;
  clock: Clock;
  ids: Ids;
  /** Throws `storage_full` where there is no room for new work. */
  assertRoom: () => void;
}

/** Teams and who is in them. Every answer is on disk. */
export class TeamService {
  readonly #given: TeamServiceDependencies;

  constructor(given: TeamServiceDependencies) {
    this.#given = given;
  }

  async create(
    { name, lead_agent_id, member_agent_ids }: BodyOf<typeof createTeam>,
    keep: Keep = keepNothing,
  ): Promise<TeamWithMembers> {
    this.#given.assertRoom();
    return this.#given.db.transact(() => {
      const now = this.#given.clock.now();
      const agents = [...new Set([lead_agent_id, ...(member_agent_ids ?? [])])];
      for (const id of agents) assertNotClosed(this.#given.sessionStore.session(id));
      const team: Team = {
        id: this.#given.ids.next('team'),
        name,
        lead_agent_id,
        created_by: BY_API,
        created_at: now,
        updated_at: now,
        deleted_at: null,
      };
      this.#given.store.createTeam(team);
      for (const agent_id of agents) this.#join(team, { agent_id });
      return this.#answer(team.id, keep);
    });
  }

  list({ limit, cursor }: QueryOf<typeof listTeams>): Promise<RecordPage<Team>> {
    return this.#given.db.read(() => this.#given.store.teams.page({}, limit, cursor));
  }

  get(id: string): Promise<TeamWithMembers> {
    return this.#given.db.read(() => this.#answer(this.#given.store.team(id).id));
  }

  /** Deletes a team: what waits in it is cancelled. A second time it changes nothing. */
  delete(id: string): Promise<void> {
    return this.#given.db.transact(() => {
      const team = this.#given.store.team(id);
      if (team.deleted_at !== null) return;
      const now = this.#given.clock.now();
      for (const delivery of this.#given.store.waitingIn(id))
        this.#given.dispatcher.cancel(delivery);
      this.#given.store.updateTeam({ ...team, deleted_at: now, updated_at: now }, 'team.deleted');
    });
  }

  addMember(
    id: string,
    body: BodyOf<typeof addMember>,
    keep: Keep = keepNothing,
  ): Promise<TeamWithMembers> {
    return this.#given.db.transact(() => {
      const team = this.#given.store.openTeam(id);
      assertNotClosed(this.#given.sessionStore.session(body.agent_id));
      if (body.added_by) this.#given.sessionStore.session(body.added_by);
      if (body.worktree_id) this.#given.worktrees.worktree(body.worktree_id);
      this.#join(team, body);
      return this.#answer(id, keep);
    });
  }

  /** Takes a session out of a team; what waits for it there fails. */
  removeMember(id: string, agentId: string): Promise<TeamWithMembers> {
    return this.#given.db.transact(() => {
      const team = this.#given.store.openTeam(id);
      const members = this.#given.store.members(id);
      const after = withoutMember(team, members, agentId, this.#given.clock.now());
      for (const delivery of this.#given.store.waitingIn(id))
        if (delivery.recipient_agent_id === agentId)
          this.#given.dispatcher.giveUp(delivery, recipientLeft(agentId));
      this.#given.store.removeMember(memberIn(members, team, agentId));
      if (after.isNewLead) this.#given.store.updateTeam(after.team, 'team.lead_changed');
      return this.#answer(id);
    });
  }

  setLead(id: string, agentId: string, keep: Keep = keepNothing): Promise<TeamWithMembers> {
    return this.#given.db.transact(() => {
      const team = this.#given.store.openTeam(id);
      memberIn(this.#given.store.members(id), team, agentId);
      assertNotClosed(this.#given.sessionStore.session(agentId));
      if (team.lead_agent_id !== agentId) {
        const updated_at = this.#given.clock.now();
        const led: Team = { ...team, lead_agent_id: agentId, updated_at };
        this.#given.store.updateTeam(led, 'team.lead_changed');
      }
      return this.#answer(id, keep);
    });
  }

  /** Asks for the turns of all members to end, as an interrupt of each would. */
  async interruptAll(
    id: string,
    keep: Keep = keepNothing,
  ): Promise<ResponseOf<typeof interruptTeam>> {
    const answer = { interrupted_session_ids: [] as string[], skipped_session_ids: [] as string[] };
    let agents: string[] = [];
    await this.#given.sessions.interruptAll(
      () => (agents = this.agentsOf(this.#given.store.openTeam(id).id)),
      (interrupted) => {
        answer.interrupted_session_ids = interrupted;
        answer.skipped_session_ids = agents.filter((agent) => !interrupted.includes(agent));
        keep(answer);
      },
    );
    return answer;
  }

  /** The sessions in a team. Throws `not_found`. */
  agentsOf(id: string): string[] {
    return this.#given.store.members(this.#given.store.team(id).id).map(({ agent_id }) => agent_id);
  }

  /** The teams that a session is in, without deleted ones. */
  teamsOf(agentId: string): Promise<Team[]> {
    return this.#given.db.read(() => this.#given.store.teamsOf(agentId));
  }

  /** Deliveries that wait, in all teams. */
  waitingCount(): Promise<number> {
    return this.#given.db.read(() => this.#given.store.allWaitingCount());
  }

  diagnostics(): CommsDiagnostics {
    return this.#given.db.peek(() => this.#given.store.counts());
  }

  #join(team: Team, given: Pick<Member, 'agent_id'> & Partial<BodyOf<typeof addMember>>): void {
    const { agent_id, title, added_by, worktree_id } = given;
    if (this.#given.store.member(team.id, agent_id))
      throw new AppError('already_member', `session ${agent_id} is in team ${team.id} already`);
    this.#given.store.addMember({
      team_id: team.id,
      agent_id,
      title: title ?? null,
      joined_at: this.#given.clock.now(),
      added_by: added_by ?? BY_API,
      worktree_id: worktree_id ?? null,
    });
  }

  #answer(id: string, keep: Keep = keepNothing): TeamWithMembers {
    const answer = { team: this.#given.store.team(id), members: this.#given.store.members(id) };
    keep(answer);
    return answer;
  }
}
