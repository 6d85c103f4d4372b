import type { Approval } from '../../api/approvals.ts';
import type { Budget } from '../../api/budgets.ts';
import type { AgentCommand } from '../../api/commands.ts';
import type { BodyInputOf } from '../../api/endpoint.ts';
import { AppError, usageError } from '../../api/errors.ts';
import { endpoints } from '../../api/index.ts';
import type { Process } from '../../api/processes.ts';
import type { Model } from '../../api/providers.ts';
import type { QueueEntry, SessionQueue } from '../../api/queue.ts';
import type { Review, ReviewComment } from '../../api/reviews.ts';
import type { Session } from '../../api/sessions.ts';
import type { UsageReport } from '../../api/usage.ts';
import type { MergeResult } from '../../api/worktree-merge.ts';
import { type AgentChoice, agentChoices } from '../../client/agent-choices.ts';
import type { Client } from '../../client/client.ts';
import { type Defaults, settingsFor } from '../../client/defaults.ts';
import {
  type DiffAndReview,
  type Edit,
  editReview,
  readDiffAndReview,
} from '../../client/review.ts';
import { ownTimeZone } from '../../core/lib/cron.ts';
import { reviewFile } from '../terminal/review-file.ts';

/** How the work of a worktree is to be finished. */
export type MergeAction = 'merge' | 'squash' | 'rebase';

export type Decision = BodyInputOf<typeof endpoints.decideApproval>;

type SessionBody = BodyInputOf<typeof endpoints.createSession>;

/** A session to open, and what to say to it; a blank prompt says nothing. */
export interface NewSession {
  /** Without a provider: the first agent that is offered. A null setting has its default. */
  session: Omit<SessionBody, 'provider'> & { provider: SessionBody['provider'] | null };
  prompt: string;
}

/** Carries out what a person decides. Each throws an AppError where the server refuses it. */
export class Acts {
  readonly #client: Client;
  readonly #defaults: Defaults;
  readonly #edit: Edit | null;
  /** The approvals that this screen has answered. */
  readonly #mine = new Set<string>();

  /** `edit`: has a person edit a text on this terminal; null where that cannot be. */
  constructor(client: Client, defaults: Defaults, edit: Edit | null = null) {
    this.#client = client;
    this.#defaults = defaults;
    this.#edit = edit;
  }

  /** Carries out on another server what a person decides. */
  on(client: Client): Acts {
    return new Acts(client, this.#defaults, this.#edit);
  }

  /** The permission mode of a new session for which none is chosen. On the screen somebody is there to be asked. */
  get permissionMode(): string {
    return this.#defaults.permission_mode ?? this.#defaults.person_mode;
  }

  /** Whether this screen has answered an approval. */
  isMine(approval: string): boolean {
    return this.#mine.has(approval);
  }

  /** Answers an approval. An event reports the decision, also if another client answered first. */
  async decide({ id: approval_id, session_id }: Approval, body: Decision): Promise<void> {
    this.#mine.add(approval_id);
    try {
      await this.#client.call(endpoints.decideApproval, {
        params: { session_id, approval_id },
        body,
      });
    } catch (error) {
      this.#mine.delete(approval_id);
      if (!(error instanceof AppError) || error.code !== 'approval_resolved') throw error;
    }
  }

  /** An approval with all its details: an event may carry it cut. */
  approval({ id: approval_id, session_id }: Approval): Promise<Approval> {
    return this.#client.call(endpoints.getApproval, { params: { session_id, approval_id } });
  }

  commands(session_id: string): Promise<AgentCommand[]> {
    return this.#client.call(endpoints.listCommands, { params: { session_id } });
  }

  async say(session_id: string, text: string): Promise<void> {
    const body = { input: [{ type: 'text' as const, text }] };
    await this.#client.call(endpoints.sendTurn, { params: { session_id }, body });
  }

  addToQueue(session_id: string, text: string): Promise<QueueEntry> {
    const body = { input: { type: 'text' as const, text } };
    return this.#client.call(endpoints.addToQueue, { params: { session_id }, body });
  }

  /** Opens a session and says something to it. Where only the latter is refused, the session stays open. */
  async open({ session, prompt }: NewSession): Promise<Session> {
    const { provider, agent: asked } = await this.#served(session);
    const { agent, model, ...settings } = settingsFor(provider, this.#defaults, asked);
    const body = {
      ...settings,
      ...session,
      provider,
      agent,
      model: session.model ?? model,
      permission_mode: session.permission_mode ?? this.permissionMode,
    };
    const opened = await this.#client.call(endpoints.createSession, { body });
    if (prompt.trim() !== '') await this.say(opened.id, prompt);
    return opened;
  }

  async #served({
    provider,
    agent = null,
  }: NewSession['session']): Promise<Pick<AgentChoice, 'provider' | 'agent'>> {
    const first = provider === null ? (await this.agents())[0] : { provider, agent };
    if (first) return first;
    throw new AppError('provider_unavailable', 'no provider is enabled: see cadre doctor');
  }

  /** The agents of all providers that are enabled: the preferred one first, then those that are ready. */
  async agents(): Promise<AgentChoice[]> {
    return agentChoices(await this.#client.call(endpoints.listProviders, {}), this.#defaults);
  }

  models({ provider, agent }: Pick<AgentChoice, 'provider' | 'agent'>): Promise<Model[]> {
    const query = agent === null ? {} : { agent };
    return this.#client.call(endpoints.listModels, { params: { provider }, query });
  }

  async interrupt({ id: session_id, active_turn_id: turn_id }: Session): Promise<void> {
    if (turn_id === null) return;
    await this.#client.call(endpoints.interruptTurn, { params: { session_id, turn_id }, body: {} });
  }

  async close({ id: session_id }: Session): Promise<void> {
    await this.#client.call(endpoints.closeSession, { params: { session_id }, body: {} });
  }

  async resume({ id: session_id }: Session): Promise<void> {
    await this.#client.call(endpoints.resumeSession, { params: { session_id }, body: {} });
  }

  /** Changes what people keep with a session. */
  async update(
    session_id: string,
    body: BodyInputOf<typeof endpoints.updateSession>,
  ): Promise<void> {
    await this.#client.call(endpoints.updateSession, { params: { session_id }, body });
  }

  /** Reads the usage of the last 30 days, in the time zone of this machine. */
  usage(by: UsageReport['by']): Promise<UsageReport> {
    const query = { by, time_zone: ownTimeZone() };
    return this.#client.call(endpoints.getUsage, { query });
  }

  budgets(): Promise<Budget[]> {
    return this.#client.call(endpoints.listBudgets, { query: {} });
  }

  /**
   * Merges or rebases a worktree, or plans that. `commit_message`: the message of a first commit of all changes of the
   * worktree; null: nothing is committed.
   */
  mergeOrRebase(
    worktree_id: string,
    { how, commit_message }: { how: MergeAction; commit_message: string | null },
    tree: { expected_tree: string | null } | null,
  ): Promise<MergeResult> {
    const params = { worktree_id };
    const body = {
      commit_message,
      ...(tree === null ? { dry_run: true } : { dry_run: false, ...tree }),
    };
    if (how === 'rebase') return this.#client.call(endpoints.rebaseWorktree, { params, body });
    const squash = how === 'squash';
    return this.#client.call(endpoints.mergeWorktree, { params, body: { ...body, squash } });
  }

  queue(session_id: string): Promise<SessionQueue> {
    return this.#client.call(endpoints.getSessionQueue, { params: { session_id } });
  }

  async moveEntry(
    entry_id: string,
    body: BodyInputOf<typeof endpoints.moveQueueEntry>,
  ): Promise<void> {
    await this.#client.call(endpoints.moveQueueEntry, { params: { entry_id }, body });
  }

  async editEntry(entry_id: string, text: string): Promise<void> {
    const body = { input: { type: 'text' as const, text } };
    await this.#client.call(endpoints.editQueueEntry, { params: { entry_id }, body });
  }

  async pauseEntry(entry_id: string): Promise<void> {
    await this.#client.call(endpoints.pauseQueueEntry, { params: { entry_id }, body: {} });
  }

  async resumeEntry(entry_id: string): Promise<void> {
    await this.#client.call(endpoints.resumeQueueEntry, { params: { entry_id }, body: {} });
  }

  async dropEntry(entry_id: string): Promise<void> {
    await this.#client.call(endpoints.dropQueueEntry, { params: { entry_id } });
  }

  diffAndReview(session_id: string): Promise<DiffAndReview> {
    return readDiffAndReview(this.#client, session_id);
  }

  review(session_id: string): Promise<Review> {
    return this.#client.call(endpoints.getReview, { params: { session_id } });
  }

  async addComment(
    session_id: string,
    body: BodyInputOf<typeof endpoints.addReviewComment>,
  ): Promise<void> {
    await this.#client.call(endpoints.addReviewComment, { params: { session_id }, body });
  }

  async editComment({ session_id, id }: ReviewComment, text: string): Promise<void> {
    const params = { session_id, comment_id: id };
    await this.#client.call(endpoints.editReviewComment, { params, body: { text } });
  }

  async dropComment({ session_id, id }: ReviewComment): Promise<void> {
    const params = { session_id, comment_id: id };
    await this.#client.call(endpoints.dropReviewComment, { params });
  }

  /** Sends all comments as one turn, or queues them as one. */
  async sendReview(session_id: string, queue: boolean): Promise<void> {
    await this.#client.call(endpoints.sendReview, { params: { session_id }, body: { queue } });
  }

  /** Has the person write all comments of a session in an editor. */
  async editReview(read: DiffAndReview): Promise<void> {
    if (!this.#edit) throw usageError('no editor is available: press c to write a comment');
    await editReview(this.#client, read, reviewFile, this.#edit);
  }

  async kill({ process_id }: Process): Promise<void> {
    await this.#client.call(endpoints.killProcess, { params: { process_id }, body: {} });
  }

  /** Runs the command of a process again, as a new process; one that still runs is ended first. */
  async restart({ process_id }: Process): Promise<Process> {
    const call = { params: { process_id }, body: {} };
    return (await this.#client.call(endpoints.restartProcess, call)).process;
  }

  async interruptTeam(team_id: string): Promise<void> {
    await this.#client.call(endpoints.interruptTeam, { params: { team_id }, body: {} });
  }
}
