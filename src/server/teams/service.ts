import type { BodyOf, QueryOf, ResponseOf } from '../../api/endpoint.ts';
import type { CommsDiagnostics } from '../../api/team-view.ts';
import type {
  addMember,
  createTeam,
  interruptTeam,
  listTeams,
  Team,
  TeamWithMembers,
} from '../../api/teams.ts';
import { AppError, conflictError } from '../../api/errors.ts';
import type { ServerParts } from '../../core/events/server-parts.ts';
import type { SaveResponse } from '../../core/store/idempotency-store.ts';
import type { SessionService } from '../conversations/sessions/service.ts';
import { assertNotClosed } from '../conversations/sessions/session.ts';
import type { SessionStore } from '../conversations/sessions/store.ts';
import type { RecordPage } from '../../core/store/records.ts';
import type { BudgetGuard } from '../conversations/usage/budgets/guard.ts';
import type { WorktreeStore } from '../work/worktrees/store.ts';
import { type Dispatcher, recipientLeft } from './dispatcher.ts';
import type { TeamStore } from './store.ts';
import { BY_API, memberIn, type NewMember, newMember, withoutMember } from './team.ts';
import type { Reader, Writer } from '../../core/store/transaction.ts';

interface TeamServiceDeps extends Pick<ServerParts, 'db' | 'clock' | 'ids'> {
  store: TeamStore;
  sessionStore: SessionStore;
  sessions: SessionService;
  worktrees: WorktreeStore;
  dispatcher: Dispatcher;
  /** Throws `storage_full` if there is no room for new work. */
  assertRoom: () => void;
  budgets: Pick<BudgetGuard, 'dropAll' | 'memberLeft'>;
}

/** The use-cases of teams and their members. Each method resolves once its result is on disk. */
export class TeamService {
  readonly #deps: TeamServiceDeps;

  constructor(deps: TeamServiceDeps) {
    this.#deps = deps;
  }

  async create(
    { name, lead_agent_id, member_agent_ids, join_existing }: BodyOf<typeof createTeam>,
    saveResponse?: SaveResponse,
  ): Promise<TeamWithMembers> {
    this.#deps.assertRoom();
    return this.#deps.db.transact((tx) => {
      const now = this.#deps.clock.now();
      const agents = [...new Set([lead_agent_id, ...(member_agent_ids ?? [])])];
      for (const id of agents) assertNotClosed(this.#deps.sessionStore.session(tx, id));
      const existing = join_existing ? this.#onlyNamed(tx, name) : undefined;
      if (existing) {
        for (const agent_id of agents)
          if (!this.#deps.store.member(tx, existing.id, agent_id))
            this.#join(tx, existing, { agent_id });
        return this.#withMembers(tx, existing.id);
      }
      const team: Team = {
        id: this.#deps.ids.next('team'),
        name,
        lead_agent_id,
        created_by: BY_API,
        created_at: now,
        updated_at: now,
        deleted_at: null,
      };
      this.#deps.store.createTeam(tx, team);
      for (const agent_id of agents) this.#join(tx, team, { agent_id });
      return this.#withMembers(tx, team.id);
    }, saveResponse);
  }

  list({ limit, cursor }: QueryOf<typeof listTeams>): Promise<RecordPage<Team>> {
    return this.#deps.db.read((rx) => this.#deps.store.teams.page(rx, {}, limit, cursor));
  }

  get(id: string): Promise<TeamWithMembers> {
    return this.#deps.db.read((rx) => this.#withMembers(rx, id));
  }

  /** Deletes a team and cancels its waiting deliveries. A second call changes nothing. */
  delete(id: string): Promise<void> {
    return this.#deps.db.transact((tx) => {
      const team = this.#deps.store.team(tx, id);
      if (team.deleted_at !== null) return;
      const now = this.#deps.clock.now();
      for (const delivery of this.#deps.store.waitingIn(tx, id))
        this.#deps.dispatcher.cancel(tx, delivery);
      const deleted = { ...team, deleted_at: now, updated_at: now };
      this.#deps.store.updateTeam(tx, deleted, 'team.deleted');
      this.#deps.budgets.dropAll(tx, { session_id: null, team_id: id }, 'deleted');
    });
  }

  addMember(
    id: string,
    body: BodyOf<typeof addMember>,
    saveResponse?: SaveResponse,
  ): Promise<TeamWithMembers> {
    return this.#deps.db.transact((tx) => {
      const team = this.#deps.store.openTeam(tx, id);
      assertNotClosed(this.#deps.sessionStore.session(tx, body.agent_id));
      if (typeof body.added_by === 'string') this.#deps.sessionStore.session(tx, body.added_by);
      if (typeof body.worktree_id === 'string') this.#deps.worktrees.worktree(tx, body.worktree_id);
      this.#join(tx, team, body);
      return this.#withMembers(tx, id);
    }, saveResponse);
  }

  /** Removes a session from a team. Its waiting deliveries in the team fail. */
  removeMember(id: string, agentId: string): Promise<TeamWithMembers> {
    return this.#deps.db.transact((tx) => {
      const team = this.#deps.store.openTeam(tx, id);
      const members = this.#deps.store.members(tx, id);
      const after = withoutMember(team, members, agentId, this.#deps.clock.now());
      for (const delivery of this.#deps.store.waitingIn(tx, id))
        if (delivery.recipient_agent_id === agentId)
          this.#deps.dispatcher.giveUp(tx, delivery, recipientLeft(agentId));
      this.#deps.store.removeMember(tx, memberIn(members, team, agentId));
      this.#deps.budgets.memberLeft(tx, id);
      if (after.isNewLead) this.#deps.store.updateTeam(tx, after.team, 'team.lead_changed');
      return this.#withMembers(tx, id);
    });
  }

  setLead(id: string, agentId: string, saveResponse?: SaveResponse): Promise<TeamWithMembers> {
    return this.#deps.db.transact((tx) => {
      const team = this.#deps.store.openTeam(tx, id);
      memberIn(this.#deps.store.members(tx, id), team, agentId);
      assertNotClosed(this.#deps.sessionStore.session(tx, agentId));
      if (team.lead_agent_id !== agentId) {
        const updated_at = this.#deps.clock.now();
        const led: Team = { ...team, lead_agent_id: agentId, updated_at };
        this.#deps.store.updateTeam(tx, led, 'team.lead_changed');
      }
      return this.#withMembers(tx, id);
    }, saveResponse);
  }

  interruptAll(id: string, saveResponse?: SaveResponse): Promise<ResponseOf<typeof interruptTeam>> {
    return this.#deps.db.transact((tx) => {
      const agents = this.#deps.store.agents(tx, this.#deps.store.openTeam(tx, id).id);
      const interrupted = agents.filter((agent) => this.#deps.sessions.requestInterrupt(tx, agent));
      return {
        interrupted_session_ids: interrupted,
        skipped_session_ids: agents.filter((agent) => !interrupted.includes(agent)),
      };
    }, saveResponse);
  }

  /** Resolves with the teams that a session is in, without deleted ones. */
  teamsOf(agentId: string): Promise<Team[]> {
    return this.#deps.db.read((rx) => this.#deps.store.teamsOf(rx, agentId));
  }

  waitingCount(): Promise<number> {
    return this.#deps.db.read((rx) => this.#deps.store.allWaitingCount(rx));
  }

  diagnostics(): CommsDiagnostics {
    return this.#deps.db.peek((rx) => this.#deps.store.counts(rx));
  }

  /** Returns the team with a name, if there is one. Throws `conflict` if there are several. */
  #onlyNamed(rx: Reader, name: string): Team | undefined {
    const [team, ...others] = this.#deps.store.openTeamsNamed(rx, name);
    if (others.length === 0) return team;
    throw conflictError(
      `${others.length + 1} teams have the name "${name}": use another name, or delete the other teams`,
    );
  }

  #join(tx: Writer, team: Team, joining: NewMember): void {
    if (this.#deps.store.member(tx, team.id, joining.agent_id))
      throw new AppError(
        'already_member',
        `session ${joining.agent_id} is already a member of team ${team.id}`,
      );
    this.#deps.store.addMember(tx, newMember(team, joining, this.#deps.clock.now()));
  }

  #withMembers(rx: Reader, id: string): TeamWithMembers {
    return { team: this.#deps.store.team(rx, id), members: this.#deps.store.members(rx, id) };
  }
}
