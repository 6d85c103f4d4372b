import { endpoints } from '../../../api/index.ts';
import type { SessionService } from '../../conversations/sessions/service.ts';
import { acceptance } from '../../conversations/sessions/turn.ts';
import type { SessionOpening } from '../../work/worktrees/session-opening.ts';
import { type Mount, senderOf } from '../mount.ts';
import type { RuleService } from '../../conversations/approvals/rules/service.ts';
import type { SnapshotService } from '../../work/snapshots/service.ts';
import type { ForkService } from '../../conversations/forks/service.ts';
import type { HandoffService } from '../../conversations/handoff/service.ts';
import type { ImportService } from '../../conversations/imports/service.ts';
import type { GoalService } from '../../conversations/goals/service.ts';
import type { WatchService } from '../../conversations/watches/service.ts';
import type { ReviewService } from '../../conversations/reviews/service.ts';
import type { QueueService } from '../../conversations/queue/service.ts';
import type { BudgetService } from '../../conversations/usage/budgets/service.ts';
import type { UsageService } from '../../conversations/usage/service.ts';

export interface Conversations {
  sessions: SessionService;
  opening: SessionOpening;
  imports: ImportService;
  handoffs: HandoffService;
  forks: ForkService;
  queue: QueueService;
  goals: GoalService;
  watches: WatchService;
  reviews: ReviewService;
  rules: RuleService;
  snapshots: SnapshotService;
  usage: UsageService;
  budgets: BudgetService;
}

export function conversationRoutes(mount: Mount, services: Conversations): void {
  sessionRoutes(mount, services);
  handoffRoutes(mount, services);
  approvalRuleRoutes(mount, services);
  diffRoutes(mount, services);
  reviewRoutes(mount, services);
  queueRoutes(mount, services);
  usageRoutes(mount, services);
  goalRoutes(mount, services);
  watchRoutes(mount, services);
}

function sessionRoutes(mount: Mount, { sessions, opening, imports }: Conversations): void {
  mount(endpoints.createSession, ({ body: { import: request, ...body }, saveResponse }) =>
    request
      ? imports.open({ ...body, import: request }, saveResponse)
      : opening.open(body, saveResponse),
  );
  mount(endpoints.listConversations, ({ params, query, disconnected }) =>
    imports.list(params.provider, query, disconnected),
  );
  mount.page(endpoints.listPastTurns, ({ params, query }) =>
    imports.pastTurns(params.session_id, query),
  );
  mount(endpoints.handBackSession, ({ params, saveResponse }) =>
    imports.handBack(params.session_id, saveResponse),
  );
  mount(endpoints.getSession, ({ params }) => sessions.get(params.session_id));
  mount(endpoints.updateSession, ({ params, body }) => sessions.update(params.session_id, body));
  mount(endpoints.listCommands, ({ params }) => sessions.commands(params.session_id));
  mount.page(endpoints.listSessions, ({ query }) => sessions.list(query));
  mount(endpoints.closeSession, ({ params, body, saveResponse }) =>
    sessions.close(params.session_id, body.reason ?? null, saveResponse),
  );
  mount(endpoints.resumeSession, ({ params, saveResponse }) =>
    sessions.resume(params.session_id, saveResponse),
  );

  mount(endpoints.sendTurn, async ({ params, body, saveResponse }) =>
    acceptance(await sessions.send(params.session_id, body, saveResponse)),
  );
  mount.page(endpoints.listTurns, ({ params, query }) => sessions.turns(params.session_id, query));
  mount(endpoints.getTurn, ({ params }) => sessions.turn(params.session_id, params.turn_id));
  mount(endpoints.listItems, ({ params }) => sessions.items(params.session_id, params.turn_id));
  mount(endpoints.getItem, ({ params }) =>
    sessions.item(params.session_id, params.turn_id, params.item_id),
  );
  mount(endpoints.interruptTurn, ({ params, saveResponse }) =>
    sessions.interrupt(params.session_id, params.turn_id, saveResponse),
  );

  mount(endpoints.decideApproval, ({ params, body, bearer, saveResponse }) =>
    sessions.decide(
      params.session_id,
      params.approval_id,
      body,
      senderOf({ bearer }),
      saveResponse,
    ),
  );
  mount(endpoints.getApproval, ({ params }) =>
    sessions.approval(params.session_id, params.approval_id),
  );
  mount.page(endpoints.listSessionApprovals, ({ params, query }) =>
    sessions.approvals({ ...query, session_id: params.session_id }),
  );
  mount.page(endpoints.listApprovals, ({ query }) => sessions.approvals(query));
}

function handoffRoutes(mount: Mount, { handoffs, forks }: Conversations): void {
  mount(endpoints.handOffSession, ({ params, body, saveResponse }) =>
    handoffs.handOver(params.session_id, body, saveResponse),
  );
  mount(endpoints.forkSession, ({ params, body, saveResponse }) =>
    forks.fork(params.session_id, body, saveResponse),
  );
  mount(endpoints.rewindSession, ({ params, body, saveResponse }) =>
    forks.rewind(params.session_id, body, saveResponse),
  );
}

function approvalRuleRoutes(mount: Mount, { rules }: Conversations): void {
  mount.page(endpoints.listApprovalRules, ({ query }) => rules.list(query));
  mount(endpoints.addApprovalRule, ({ body, bearer, saveResponse }) =>
    rules.add(body, senderOf({ bearer }), saveResponse),
  );
  mount(endpoints.removeApprovalRule, ({ params, bearer }) =>
    rules.remove(params.rule_id, senderOf({ bearer })),
  );
  mount(endpoints.testApprovalRules, ({ body }) => rules.test(body));
}

function diffRoutes(mount: Mount, { snapshots }: Conversations): void {
  mount(endpoints.getSessionDiff, ({ params, query }) => snapshots.diff(params.session_id, query));
  mount(endpoints.getSnapshots, ({ params }) => snapshots.get(params.session_id));
  mount(endpoints.setSnapshots, ({ params, body }) =>
    snapshots.set(params.session_id, body.enabled),
  );
  mount(endpoints.listSessionFiles, ({ params, query }) =>
    snapshots.files(params.session_id, query),
  );
  mount(endpoints.restoreFile, ({ params, body }) => snapshots.restore(params.session_id, body));
}

function reviewRoutes(mount: Mount, { reviews }: Conversations): void {
  mount(endpoints.getReview, ({ params }) => reviews.get(params.session_id));
  mount(endpoints.addReviewComment, ({ params, body, bearer, saveResponse }) =>
    reviews.add(params.session_id, body, senderOf({ bearer }), saveResponse),
  );
  mount(endpoints.editReviewComment, ({ params, body }) =>
    reviews.edit(params.session_id, params.comment_id, body.text),
  );
  mount(endpoints.dropReviewComment, ({ params }) =>
    reviews.drop(params.session_id, params.comment_id),
  );
  mount(endpoints.dropReview, ({ params }) => reviews.dropAll(params.session_id));
  mount(endpoints.sendReview, ({ params, body, bearer, saveResponse }) =>
    reviews.send(params.session_id, body, senderOf({ bearer }), saveResponse),
  );
}

function queueRoutes(mount: Mount, { queue }: Conversations): void {
  mount(endpoints.addToQueue, ({ params, body, bearer, saveResponse }) =>
    queue.add(params.session_id, body, senderOf({ bearer }), saveResponse),
  );
  mount(endpoints.getSessionQueue, ({ params }) => queue.ofSession(params.session_id));
  mount(endpoints.pauseSessionQueue, ({ params, body, saveResponse }) =>
    queue.pauseSession(params.session_id, body, saveResponse),
  );
  mount(endpoints.resumeSessionQueue, ({ params, saveResponse }) =>
    queue.resumeSession(params.session_id, saveResponse),
  );

  mount.page(endpoints.listQueue, ({ query }) => queue.list(query));
  mount(endpoints.getQueueEntry, ({ params }) => queue.get(params.entry_id));
  mount(endpoints.editQueueEntry, ({ params, body }) => queue.edit(params.entry_id, body));
  mount(endpoints.moveQueueEntry, ({ params, body, saveResponse }) =>
    queue.move(params.entry_id, body, saveResponse),
  );
  mount(endpoints.pauseQueueEntry, ({ params, body, saveResponse }) =>
    queue.pause(params.entry_id, body.reason ?? null, saveResponse),
  );
  mount(endpoints.resumeQueueEntry, ({ params, saveResponse }) =>
    queue.resume(params.entry_id, saveResponse),
  );
  mount(endpoints.dropQueueEntry, ({ params }) => queue.drop(params.entry_id));
}

function usageRoutes(mount: Mount, { usage, budgets }: Conversations): void {
  mount(endpoints.getUsage, ({ query }) => usage.report(query));
  mount.page(endpoints.listBudgets, ({ query }) => budgets.list(query));
  mount(endpoints.getBudget, ({ params }) => budgets.get(params.budget_id));
  mount(endpoints.setBudget, ({ body, bearer, saveResponse }) =>
    budgets.set(body, senderOf({ bearer }), saveResponse),
  );
  mount(endpoints.removeBudget, ({ params, bearer }) =>
    budgets.remove(params.budget_id, senderOf({ bearer })),
  );
}

function goalRoutes(mount: Mount, { goals }: Conversations): void {
  mount(endpoints.setGoal, ({ params, body, bearer, saveResponse }) =>
    goals.set(params.session_id, body, senderOf({ bearer }), saveResponse),
  );
  mount(endpoints.getGoal, ({ params }) => goals.get(params.session_id));
  mount(endpoints.cancelGoal, ({ params, saveResponse }) =>
    goals.cancel(params.session_id, saveResponse),
  );
}

function watchRoutes(mount: Mount, { watches }: Conversations): void {
  mount(endpoints.startWatch, ({ params, body, bearer, saveResponse }) =>
    watches.start(params.session_id, body, senderOf({ bearer }), saveResponse),
  );
  mount(endpoints.getWatch, ({ params }) => watches.get(params.session_id));
  mount(endpoints.stopWatch, ({ params, saveResponse }) =>
    watches.stop(params.session_id, saveResponse),
  );
  mount.page(endpoints.listWatches, ({ query }) => watches.list(query));
}
