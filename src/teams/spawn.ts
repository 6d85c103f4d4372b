import type { BodyOf } from '../api/endpoint.ts';
import type { ProviderId } from '../api/provider-kinds.ts';
import type { InputItem, Session } from '../api/sessions.ts';
import type { Member, SpawnedMember, spawnMember, Team } from '../api/teams.ts';
import { AppError } from '../errors.ts';
import { type Keep, keepNothing } from '../store/kept-answers.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { NewSession, SessionService } from '../sessions/service.ts';
import type { Worktree } from '../api/worktrees.ts';
import type { Failpoint } from '../lib/failpoint.ts';
import type { Logger } from '../lib/log.ts';
import { OneAtATime } from '../lib/one-at-a-time.ts';
import { modeHandedOn } from '../sessions/permission-mode.ts';
import { assertOpen } from '../sessions/session.ts';
import type { SessionStore } from '../sessions/store.ts';
import { workingDirectory } from '../sessions/working-directory.ts';
import type { Database } from '../store/database.ts';
import type { Claims } from '../worktrees/claims.ts';
import type { WorktreeService } from '../worktrees/service.ts';
import type { WorktreeStore } from '../worktrees/store.ts';
import { imagesAt, type MessageService, type Saying } from './messages.ts';
import type { Spawn, TeamStore } from './store.ts';
import { memberIn } from './team.ts';

type Wanted = BodyOf<typeof spawnMember>;

/** An agent that wants a member. */
export interface Spawner {
  /** The permission mode of its turn: the member gets no more. */
  mode: string | null;
  /** Whether the member counts for `teams.max_spawned_per_session`; what the operator spawns does not. */
  isLimited: boolean;
  /** Called once nothing else speaks against it. Throws where it may not be. */
  admit: () => Promise<Admission>;
}

/** What an agent may have with the member that it wants. */
export interface Admission {
  /** The images of the first message. */
  images: InputItem[];
  /** Whether the init script of its worktree runs this time, whoever has consented to it. */
  runsScript: boolean;
}

export interface ModelPreset {
  name: string;
  provider: ProviderId;
  model: string | null;
  thinking_effort: string | null;
}

interface SpawnServiceDependencies {
  db: Database;
  store: TeamStore;
  sessionStore: SessionStore;
  sessions: SessionService;
  messages: MessageService;
  worktrees: WorktreeService;
  worktreeStore: WorktreeStore;
  claims: Claims;
  clock: Clock;
  ids: Ids;
  failpoint: Failpoint;
  logger: Logger;
  presets: () => readonly ModelPreset[];
  /** So many sessions of one family, spawned by agents, may live. */
  maxSpawned: () => number;
}

/** Opens sessions for teams: all of it, or nothing, also over a restart. */
export class SpawnService {
  readonly #given: SpawnServiceDependencies;
  readonly #underWay = new OneAtATime();

  constructor(given: SpawnServiceDependencies) {
    this.#given = given;
  }

  /** Opens a session as a member of a team, and tells it what it is there for. */
  async spawn(teamId: string, wanted: Wanted, keep: Keep = keepNothing): Promise<SpawnedMember> {
    return (await this.#begin(teamId, wanted, keep, null)).done;
  }

  /**
   * Like that, for an agent; resolves once it is known that it may be done. Throws `too_many` where its family has as
   * many members as it may have.
   */
  beginAsAgent(
    teamId: string,
    wanted: Wanted,
    spawner: Spawner,
  ): Promise<{ operation_id: string; done: Promise<SpawnedMember> }> {
    return this.#begin(teamId, wanted, keepNothing, spawner);
  }

  async #begin(
    teamId: string,
    wanted: Wanted,
    keep: Keep,
    spawner: Spawner | null,
  ): Promise<{ operation_id: string; done: Promise<SpawnedMember> }> {
    const spawn: Spawn = {
      id: this.#given.ids.next('op'),
      team_id: teamId,
      source_session_id: wanted.source_session_id,
      by_agent: spawner?.isLimited ?? false,
    };
    const { team, source } = await this.#given.db.read(() => this.#check(spawn));
    const draft = () =>
      this.#given.sessions.draft(sessionFor(wanted, source, spawner, this.#given.presets()));
    const image_paths = wanted.image_paths ?? [];
    if (image_paths.length > 0) this.#given.messages.assertTakeImages([draft()]);
    else draft();
    assertNamed(wanted);
    const { images, runsScript } = spawner
      ? await spawner.admit()
      : { images: imagesAt(image_paths), runsScript: false };
    const placed = runsScript ? withScript(wanted) : wanted;
    // A person may have thought for long.
    const session = draft();
    const words = wanted.prompt ?? `You are now a member of team "${team.name}".`;
    const saying = await this.#given.messages.keepImages(
      source.id,
      { type: 'text', text: words },
      images,
    );
    // What is one transaction leaves nothing to be undone.
    if (wantsWorktree(wanted))
      await this.#given.db.transact(() => {
        this.#check(spawn);
        this.#given.store.spawns.insert(spawn);
      });
    this.#given.failpoint('spawn.begun');
    const done = this.#underWay.run(spawn.id, () =>
      this.#orUndo(spawn, () =>
        this.#atPlace(spawn, placed, (place) => {
          this.#given.failpoint('spawn.prepared');
          return this.#given.db.transact(() => {
            const spawned = this.#join(spawn, wanted, { session, saying, ...place });
            keep(spawned);
            return spawned;
          });
        }),
      ),
    );
    // Whoever waits for it hears of it; nobody else has to.
    done.catch(() => undefined);
    return { operation_id: spawn.id, done };
  }

  /** Undoes what a dead server had begun. */
  async undoLeft(): Promise<void> {
    const error = { code: 'runtime_restarted', message: 'the server died while it was spawned' };
    for (const spawn of await this.#given.db.read(() => this.#given.store.unfinishedSpawns()))
      await this.#underWay.run(spawn.id, () => this.#undo(spawn, error));
  }

  /** Resolves when nothing is under way. */
  idle(): Promise<void> {
    return this.#underWay.idle();
  }

  /** Has `join` done where the member is to work. The worktree is claimed by nobody until then. */
  async #atPlace<T>(
    { id, team_id, source_session_id }: Spawn,
    { worktree: wish }: Wanted,
    join: (place: Place) => Promise<T>,
  ): Promise<T> {
    if (!wish || !wantsWorktree({ worktree: wish }))
      return join({ worktree: null, created: false });
    const { mode, name, ...how } = wish;
    const worktree_name = name ?? `agent-${id.slice(-8)}`;
    const wanted = { ...how, worktree_name, source_session_id, team_id, operation_id: id };
    return this.#given.worktrees.use(wanted, (worktree, created) => {
      if (mode === 'create' && !created)
        throw new AppError(
          'conflict',
          `worktree ${worktree_name} is there: reuse it, or take another name`,
        );
      return join({ worktree, created });
    });
  }

  /** The last step: session, member and first message, inside a transaction. */
  #join(
    spawn: Spawn,
    wanted: Wanted,
    given: { session: Session; saying: Saying } & Place,
  ): SpawnedMember {
    const { saying, worktree, created } = given;
    const { team, source } = this.#check(spawn);
    const { id } = given.session;
    const cwd = worktree ? workingDirectory(worktree.path) : given.session.cwd;
    this.#given.sessionStore.createSession({ ...given.session, cwd });
    if (spawn.by_agent) this.#given.store.noteSpawned(id, source.id);
    if (worktree) this.#given.claims.make(worktree.id, id, created ? 'owner' : 'consumer');
    const member: Member = {
      team_id: team.id,
      agent_id: id,
      title: wanted.title ?? null,
      joined_at: this.#given.clock.now(),
      added_by: source.id,
      worktree_id: worktree?.id ?? null,
    };
    this.#given.store.addMember(member, spawn.id);
    const { message, deliveries } = this.#given.messages.store(team, {
      sender_agent_id: source.id,
      recipient_agent_id: id,
      recipients: [id],
      image_paths: wanted.image_paths,
      saying,
      onboarding: true,
    });
    this.#given.store.endSpawn(spawn);
    return {
      operation_id: spawn.id,
      team,
      session: this.#given.sessionStore.session(id),
      member,
      worktree: worktree && this.#given.worktreeStore.worktree(worktree.id),
      onboarding: { message_id: message.id, delivery_ids: deliveries.map((one) => one.id) },
    };
  }

  async #orUndo<T>(spawn: Spawn, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const said =
        error instanceof AppError
          ? { code: error.code, message: error.message }
          : { code: 'internal', message: 'the server log has the details' };
      await this.#undo(spawn, said).catch((failure: unknown) =>
        this.#given.logger.error(
          { err: failure, operation_id: spawn.id },
          'a spawn could not be undone',
        ),
      );
      throw error;
    }
  }

  /** Takes back the worktree that was made for a spawn, and tells of its end. */
  async #undo(spawn: Spawn, error: { code: string; message: string }): Promise<void> {
    const made = await this.#given.db.read(() => this.#madeFor(spawn));
    for (const { id } of made) await this.#given.worktrees.undo(id, `spawn ${spawn.id} failed`);
    await this.#given.db.transact(() => {
      this.#given.store.endSpawn(spawn);
      this.#given.store.tellSpawnFailed(spawn, error);
    });
  }

  #madeFor({ id, team_id }: Spawn): Worktree[] {
    return this.#given.worktreeStore.worktrees.where(
      "team_id = ? AND record ->> '$.operation_id' = ? AND status <> 'cleaned'",
      team_id,
      id,
    );
  }

  /** Whether it may be done just now. Throws `too_many` where the agent has spawned as many as it may. */
  #check({ id, team_id, source_session_id: sourceId, by_agent }: Spawn): {
    team: Team;
    source: Session;
  } {
    const team = this.#given.store.openTeam(team_id);
    const source = this.#given.sessionStore.session(sourceId);
    memberIn(this.#given.store.members(team_id), team, sourceId);
    assertOpen(source);
    if (by_agent) this.#assertPlaceInFamily(sourceId, id);
    return { team, source };
  }

  #assertPlaceInFamily(sourceId: string, spawnId: string): void {
    const max = this.#given.maxSpawned();
    const root = this.#given.store.rootOf(sourceId);
    if (this.#given.store.familySize(root, spawnId) < max) return;
    throw new AppError(
      'too_many',
      `session ${root} and those it has spawned have ${max} members that live, as many as teams.max_spawned_per_session allows: let the operator close some`,
    );
  }
}

/** Where a member is to work; null: where whoever wants it works. */
interface Place {
  worktree: Worktree | null;
  /** It was made for the member. */
  created: boolean;
}

function withScript(wanted: Wanted): Wanted {
  const { worktree } = wanted;
  return worktree ? { ...wanted, worktree: { ...worktree, run_init_script: true } } : wanted;
}

function wantsWorktree({ worktree }: Pick<Wanted, 'worktree'>): boolean {
  return worktree !== undefined && worktree !== null && worktree.mode !== 'none';
}

/** Throws `invalid` where a worktree is to be used again that is not named. */
function assertNamed({ worktree }: Wanted): void {
  if (worktree?.mode === 'reuse' && !worktree.name)
    throw new AppError('invalid', 'body.worktree.name: is needed: which one is to be reused');
}

/** The session that is wanted; what is not said is as in the session that wants it, or in the turn of its agent. */
function sessionFor(
  wanted: Wanted,
  source: Session,
  spawner: Spawner | null,
  presets: readonly ModelPreset[],
): NewSession {
  const preset = presetOf(wanted, presets);
  const provider = preset?.provider ?? wanted.provider ?? source.provider;
  // What one provider calls its models, another does not know.
  const like = provider === source.provider ? source : { model: null, thinking_effort: null };
  return {
    provider,
    model: preset ? preset.model : (wanted.model ?? like.model),
    thinking_effort: preset ? preset.thinking_effort : like.thinking_effort,
    cwd: source.cwd,
    permission_mode: spawner
      ? modeHandedOn(spawner.mode, provider === source.provider)
      : (wanted.permission_mode ?? source.permission_mode),
    metadata: preset ? withPreset(wanted.metadata, preset) : wanted.metadata,
    title: wanted.title ?? null,
  };
}

/** Throws `unknown_model_preset`, and `invalid` where it is said twice what a preset says. */
function presetOf(
  { model_preset: name, provider, model }: Wanted,
  presets: readonly ModelPreset[],
): ModelPreset | null {
  if (name === undefined || name === null) return null;
  if (provider || model)
    throw new AppError(
      'invalid',
      'body.model_preset: says provider and model: leave those out, or the preset',
    );
  const found = presets.find((preset) => preset.name === name);
  if (found) return found;
  const known = presets.map((preset) => preset.name).join(', ') || 'none';
  throw new AppError('unknown_model_preset', `no model preset "${name}"; there are: ${known}`);
}

function withPreset(metadata: unknown, { name, thinking_effort }: ModelPreset): unknown {
  const about = { model_preset: name, thinking_effort };
  if (metadata === undefined || metadata === null) return about;
  if (typeof metadata !== 'object' || Array.isArray(metadata))
    throw new AppError('invalid', 'body.metadata: has to be an object beside a model_preset');
  return { ...metadata, ...about };
}
