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
import { AppError } from '../../api/errors.ts';
import { type SaveResponse, saveNothing } from '../../core/store/kept-answers.ts';
import type { Clock } from '../../core/lib/clock.ts';
import type { Ids } from '../../core/lib/ids.ts';
import type { SessionService } from '../conversations/sessions/service.ts';
import { assertNotClosed } from '../conversations/sessions/session.ts';
import type { SessionStore } from '../conversations/sessions/store.ts';
import type { Database } from '../../core/store/database.ts';
import type { RecordPage } from '../../core/store/records.ts';
import type { WorktreeStore } from '../work/worktrees/store.ts';
import { type Dispatcher, recipientLeft } from './dispatcher.ts';
import type { TeamStore } from './store.ts';
import { BY_API, memberIn, type NewMember, newMember, withoutMember } from './team.ts';
import type { Reader, Writer } from '../../core/store/transaction.ts';

interface TeamServiceDependencies {
  db: Database;
  store: TeamStore;
  sessionStore: SessionStore;
  sessions: SessionService;
  worktrees: WorktreeStore;
  dispatcher: Dispatcher;
  clock: Clock;
  ids: Ids;
  /** Throws `storage_full` if there is no room for new work. */
  assertRoom: () => void;
  /** Runs in the transaction that deletes a team. */
  onDeleted: (tx: Writer, id: string) => void;
  /** Runs in the transaction in which a session leaves a team. */
  onLeft: (tx: Writer, id: string) => void;
}

/** The use-cases of teams and their members. Each method resolves once its result is on disk. */
export class TeamService {
  readonly #given: TeamServiceDependencies;

  constructor(given: TeamServiceDependencies) {
    this.#given = given;
  }

  async create(
    { name, lead_agent_id, member_agent_ids }: BodyOf<typeof createTeam>,
    keep: SaveResponse = saveNothing,
  ): Promise<TeamWithMembers> {
    this.#given.assertRoom();
    return this.#given.db.transact((tx) => {
      const now = this.#given.clock.now();
      const agents = [...new Set([lead_agent_id, ...(member_agent_ids ?? [])])];
      for (const id of agents) assertNotClosed(this.#given.sessionStore.session(tx, id));
      const team: Team = {
        id: this.#given.ids.next('team'),
        name,
        lead_agent_id,
        created_by: BY_API,
        created_at: now,
        updated_at: now,
        deleted_at: null,
      };
      this.#given.store.createTeam(tx, team);
      for (const agent_id of agents) this.#join(tx, team, { agent_id });
      return this.#response(tx, team.id, keep);
    });
  }

  list({ limit, cursor }: QueryOf<typeof listTeams>): Promise<RecordPage<Team>> {
    return this.#given.db.read((rx) => this.#given.store.teams.page(rx, {}, limit, cursor));
  }

  get(id: string): Promise<TeamWithMembers> {
    return this.#given.db.read((rx) => this.#withMembers(rx, id));
  }

  /** Deletes a team and cancels its waiting deliveries. A second call changes nothing. */
  delete(id: string): Promise<void> {
    return this.#given.db.transact((tx) => {
      const team = this.#given.store.team(tx, id);
      if (team.deleted_at !== null) return;
      const now = this.#given.clock.now();
      for (const delivery of this.#given.store.waitingIn(tx, id))
        this.#given.dispatcher.cancel(tx, delivery);
      this.#given.store.updateTeam(
        tx,
        { ...team, deleted_at: now, updated_at: now },
        'team.deleted',
      );
      this.#given.onDeleted(tx, id);
    });
  }

  addMember(
    id: string,
    body: BodyOf<typeof addMember>,
    keep: SaveResponse = saveNothing,
  ): Promise<TeamWithMembers> {
    return this.#given.db.transact((tx) => {
      const team = this.#given.store.openTeam(tx, id);
      assertNotClosed(this.#given.sessionStore.session(tx, body.agent_id));
      if (body.added_by) this.#given.sessionStore.session(tx, body.added_by);
      if (body.worktree_id) this.#given.worktrees.worktree(tx, body.worktree_id);
      this.#join(tx, team, body);
      return this.#response(tx, id, keep);
    });
  }

  /** Removes a session from a team. Its waiting deliveries in the team fail. */
  removeMember(id: string, agentId: string): Promise<TeamWithMembers> {
    return this.#given.db.transact((tx) => {
      const team = this.#given.store.openTeam(tx, id);
      const members = this.#given.store.members(tx, id);
      const after = withoutMember(team, members, agentId, this.#given.clock.now());
      for (const delivery of this.#given.store.waitingIn(tx, id))
        if (delivery.recipient_agent_id === agentId)
          this.#given.dispatcher.giveUp(tx, delivery, recipientLeft(agentId));
      this.#given.store.removeMember(tx, memberIn(members, team, agentId));
      this.#given.onLeft(tx, id);
      if (after.isNewLead) this.#given.store.updateTeam(tx, after.team, 'team.lead_changed');
      return this.#withMembers(tx, id);
    });
  }

  setLead(id: string, agentId: string, keep: SaveResponse = saveNothing): Promise<TeamWithMembers> {
    return this.#given.db.transact((tx) => {
      const team = this.#given.store.openTeam(tx, id);
      memberIn(this.#given.store.members(tx, id), team, agentId);
      assertNotClosed(this.#given.sessionStore.session(tx, agentId));
      if (team.lead_agent_id !== agentId) {
        const updated_at = this.#given.clock.now();
        const led: Team = { ...team, lead_agent_id: agentId, updated_at };
        this.#given.store.updateTeam(tx, led, 'team.lead_changed');
      }
      return this.#response(tx, id, keep);
    });
  }

  /** Interrupts the active turns of all members. */
  interruptAll(
    id: string,
    keep: SaveResponse = saveNothing,
  ): Promise<ResponseOf<typeof interruptTeam>> {
    return this.#given.db.transact((tx) => {
      const agents = this.agentsOf(tx, this.#given.store.openTeam(tx, id).id);
      const interrupted = agents.filter((agent) =>
        this.#given.sessions.requestInterrupt(tx, agent),
      );
      const response = {
        interrupted_session_ids: interrupted,
        skipped_session_ids: agents.filter((agent) => !interrupted.includes(agent)),
      };
      keep(tx, response);
      return response;
    });
  }

  /** Returns the ids of the sessions in a team. Throws `not_found`. */
  agentsOf(rx: Reader, id: string): string[] {
    return this.#given.store
      .members(rx, this.#given.store.team(rx, id).id)
      .map(({ agent_id }) => agent_id);
  }

  /** Resolves with the teams that a session is in, without deleted ones. */
  teamsOf(agentId: string): Promise<Team[]> {
    return this.#given.db.read((rx) => this.#given.store.teamsOf(rx, agentId));
  }

  /** Resolves with the number of waiting deliveries of all teams. */
  waitingCount(): Promise<number> {
    return this.#given.db.read((rx) => this.#given.store.allWaitingCount(rx));
  }

  diagnostics(): CommsDiagnostics {
    return this.#given.db.peek((rx) => this.#given.store.counts(rx));
  }

  #join(tx: Writer, team: Team, joining: NewMember): void {
    if (this.#given.store.member(tx, team.id, joining.agent_id))
      throw new AppError(
        'already_member',
        `session ${joining.agent_id} is in team ${team.id} already`,
      );
    this.#given.store.addMember(tx, newMember(team, joining, this.#given.clock.now()));
  }

  #response(tx: Writer, id: string, keep: SaveResponse): TeamWithMembers {
    const response = this.#withMembers(tx, id);
    keep(tx, response);
    return response;
  }

  #withMembers(rx: Reader, id: string): TeamWithMembers {
    return { team: this.#given.store.team(rx, id), members: this.#given.store.members(rx, id) };
  }
}
