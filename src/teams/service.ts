import type { BodyOf, QueryOf, ResponseOf } from '../api/endpoint.ts';
import type {
  addMember,
  CommsDiagnostics,
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

/** Teams and who is in them. Every answer is on disk. */
export class TeamService {
  readonly #db: Database;
  readonly #store: TeamStore;
  readonly #sessions: SessionStore;
  readonly #sessionService: SessionService;
  readonly #worktrees: WorktreeStore;
  readonly #dispatcher: Dispatcher;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #assertRoom: () => void;

  constructor(given: {
    db: Database;
    store: TeamStore;
    sessions: SessionStore;
    sessionService: SessionService;
    worktrees: WorktreeStore;
    dispatcher: Dispatcher;
    clock: Clock;
    ids: Ids;
    /** Throws `storage_full` where there is no room for new work. */
    assertRoom: () => void;
  }) {
    this.#db = given.db;
    this.#store = given.store;
    this.#sessions = given.sessions;
    this.#sessionService = given.sessionService;
    this.#worktrees = given.worktrees;
    this.#dispatcher = given.dispatcher;
    this.#clock = given.clock;
    this.#ids = given.ids;
    this.#assertRoom = given.assertRoom;
  }

  async create(
    { name, lead_agent_id, member_agent_ids }: BodyOf<typeof createTeam>,
    keep: Keep = keepNothing,
  ): Promise<TeamWithMembers> {
    this.#assertRoom();
    return this.#db.transact(() => {
      const now = this.#clock.now();
      const agents = [...new Set([lead_agent_id, ...(member_agent_ids ?? [])])];
      for (const id of agents) assertNotClosed(this.#sessions.session(id));
      const team: Team = {
        id: this.#ids.next('team'),
        name,
        lead_agent_id,
        created_by: BY_API,
        created_at: now,
        updated_at: now,
        deleted_at: null,
      };
      this.#store.createTeam(team);
      for (const agent_id of agents) this.#join(team, { agent_id });
      return this.#answer(team.id, keep);
    });
  }

  list({ limit, cursor }: QueryOf<typeof listTeams>): Promise<RecordPage<Team>> {
    return this.#db.read(() => this.#store.teams.page({}, limit, cursor));
  }

  get(id: string): Promise<TeamWithMembers> {
    return this.#db.read(() => this.#answer(this.#store.team(id).id));
  }

  /** Deletes a team: what waits in it is cancelled. A second time it changes nothing. */
  delete(id: string): Promise<void> {
    return this.#db.transact(() => {
      const team = this.#store.team(id);
      if (team.deleted_at !== null) return;
      const now = this.#clock.now();
      for (const delivery of this.#store.waitingIn(id)) this.#dispatcher.cancel(delivery);
      this.#store.updateTeam({ ...team, deleted_at: now, updated_at: now }, 'team.deleted');
    });
  }

  addMember(
    id: string,
    body: BodyOf<typeof addMember>,
    keep: Keep = keepNothing,
  ): Promise<TeamWithMembers> {
    return this.#db.transact(() => {
      const team = this.#store.openTeam(id);
      assertNotClosed(this.#sessions.session(body.agent_id));
      if (body.added_by) this.#sessions.session(body.added_by);
      if (body.worktree_id) this.#worktrees.worktree(body.worktree_id);
      this.#join(team, body);
      return this.#answer(id, keep);
    });
  }

  /** Takes a session out of a team; what waits for it there fails. */
  removeMember(id: string, agentId: string): Promise<TeamWithMembers> {
    return this.#db.transact(() => {
      const team = this.#store.openTeam(id);
      const members = this.#store.members(id);
      const after = withoutMember(team, members, agentId, this.#clock.now());
      for (const delivery of this.#store.waitingIn(id))
        if (delivery.recipient_agent_id === agentId)
          this.#dispatcher.giveUp(delivery, recipientLeft(agentId));
      this.#store.removeMember(memberIn(members, team, agentId));
      if (after.isNewLead) this.#store.updateTeam(after.team, 'team.lead_changed');
      return this.#answer(id);
    });
  }

  setLead(id: string, agentId: string, keep: Keep = keepNothing): Promise<TeamWithMembers> {
    return this.#db.transact(() => {
      const team = this.#store.openTeam(id);
      memberIn(this.#store.members(id), team, agentId);
      assertNotClosed(this.#sessions.session(agentId));
      if (team.lead_agent_id !== agentId) {
        const updated_at = this.#clock.now();
        const led: Team = { ...team, lead_agent_id: agentId, updated_at };
        this.#store.updateTeam(led, 'team.lead_changed');
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
    await this.#sessionService.interruptAll(
      () => (agents = this.agentsOf(this.#store.openTeam(id).id)),
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
    return this.#store.members(this.#store.team(id).id).map(({ agent_id }) => agent_id);
  }

  /** The teams that a session is in, without deleted ones. */
  teamsOf(agentId: string): Promise<Team[]> {
    return this.#db.read(() => this.#store.teamsOf(agentId));
  }

  /** Deliveries that wait, in all teams. */
  waitingCount(): Promise<number> {
    return this.#db.read(() => this.#store.allWaitingCount());
  }

  diagnostics(): CommsDiagnostics {
    return this.#db.peek(() => this.#store.counts());
  }

  #join(team: Team, given: Pick<Member, 'agent_id'> & Partial<BodyOf<typeof addMember>>): void {
    const { agent_id, title, added_by, worktree_id } = given;
    if (this.#store.member(team.id, agent_id))
      throw new AppError('already_member', `session ${agent_id} is in team ${team.id} already`);
    this.#store.addMember({
      team_id: team.id,
      agent_id,
      title: title ?? null,
      joined_at: this.#clock.now(),
      added_by: added_by ?? BY_API,
      worktree_id: worktree_id ?? null,
    });
  }

  #answer(id: string, keep: Keep = keepNothing): TeamWithMembers {
    const answer = { team: this.#store.team(id), members: this.#store.members(id) };
    keep(answer);
    return answer;
  }
}
