import * as agentLogins from './agent-logins.ts';
import * as approvalRules from './approval-rules.ts';
import * as approvals from './approvals.ts';
import * as diffs from './diffs.ts';
import * as budgets from './budgets.ts';
import { eventRoutes } from './event-routes.ts';
import * as gateway from './gateway.ts';
import * as conversations from './conversations.ts';
import * as forks from './forks.ts';
import * as goals from './goals.ts';
import * as watches from './watches.ts';
import * as handoffs from './handoffs.ts';
import * as hooks from './hooks.ts';
import { namedLoginEndpoints } from './provider-logins.ts';
import * as providers from './providers.ts';
import * as processes from './processes.ts';
import * as queue from './queue.ts';
import * as races from './races.ts';
import * as reviews from './reviews.ts';
import * as runtime from './runtime.ts';
import * as searchRoutes from './search.ts';
import * as commands from './commands.ts';
import * as sessionRequests from './session-requests.ts';
import * as snapshots from './snapshots.ts';
import * as teamMessages from './team-messages.ts';
import * as teamView from './team-view.ts';
import * as teams from './teams.ts';
import * as tokens from './tokens.ts';
import * as turns from './turns.ts';
import * as worktreeMerge from './worktree-merge.ts';
import * as usage from './usage.ts';
import * as worktreeTrust from './worktree-trust.ts';
import * as worktrees from './worktrees.ts';

/** Every endpoint by its name. Server, client, openapi.yaml and tests are made from this table. */
export const endpoints = {
  getPublicHealth: runtime.getPublicHealth,
  getOpenApi: runtime.getOpenApi,
  getHealth: runtime.getHealth,
  getVersion: runtime.getVersion,
  getDiagnostics: runtime.getDiagnostics,
  getRecovery: runtime.getRecovery,
  getStorageDiagnostics: runtime.getStorageDiagnostics,
  backUpStorage: runtime.backUpStorage,
  getMetrics: runtime.getMetrics,
  createSession: sessionRequests.createSession,
  listSessions: sessionRequests.listSessions,
  getSession: sessionRequests.getSession,
  updateSession: sessionRequests.updateSession,
  listCommands: commands.listCommands,
  sendTurn: turns.sendTurn,
  listTurns: turns.listTurns,
  getTurn: turns.getTurn,
  listItems: turns.listItems,
  getItem: turns.getItem,
  interruptTurn: turns.interruptTurn,
  closeSession: sessionRequests.closeSession,
  resumeSession: sessionRequests.resumeSession,
  getSessionDiff: diffs.getSessionDiff,
  getSnapshots: snapshots.getSnapshots,
  setSnapshots: snapshots.setSnapshots,
  listSessionFiles: snapshots.listSessionFiles,
  restoreFile: snapshots.restoreFile,
  addToQueue: queue.addToQueue,
  getSessionQueue: queue.getSessionQueue,
  pauseSessionQueue: queue.pauseSessionQueue,
  resumeSessionQueue: queue.resumeSessionQueue,
  listQueue: queue.listQueue,
  getQueueEntry: queue.getQueueEntry,
  editQueueEntry: queue.editQueueEntry,
  moveQueueEntry: queue.moveQueueEntry,
  pauseQueueEntry: queue.pauseQueueEntry,
  resumeQueueEntry: queue.resumeQueueEntry,
  dropQueueEntry: queue.dropQueueEntry,
  getReview: reviews.getReview,
  addReviewComment: reviews.addReviewComment,
  editReviewComment: reviews.editReviewComment,
  dropReviewComment: reviews.dropReviewComment,
  dropReview: reviews.dropReview,
  sendReview: reviews.sendReview,
  handOffSession: handoffs.handOffSession,
  forkSession: forks.forkSession,
  rewindSession: forks.rewindSession,
  listConversations: conversations.listConversations,
  listPastTurns: conversations.listPastTurns,
  handBackSession: conversations.handBackSession,
  setGoal: goals.setGoal,
  getGoal: goals.getGoal,
  cancelGoal: goals.cancelGoal,
  startWatch: watches.startWatch,
  getWatch: watches.getWatch,
  stopWatch: watches.stopWatch,
  listWatches: watches.listWatches,
  decideApproval: approvals.decideApproval,
  getApproval: approvals.getApproval,
  listSessionApprovals: approvals.listSessionApprovals,
  listApprovals: approvals.listApprovals,
  listApprovalRules: approvalRules.listApprovalRules,
  addApprovalRule: approvalRules.addApprovalRule,
  removeApprovalRule: approvalRules.removeApprovalRule,
  testApprovalRules: approvalRules.testApprovalRules,
  getUsage: usage.getUsage,
  listBudgets: budgets.listBudgets,
  getBudget: budgets.getBudget,
  setBudget: budgets.setBudget,
  removeBudget: budgets.removeBudget,
  listProviders: providers.listProviders,
  listModels: providers.listModels,
  ...namedLoginEndpoints,
  getAgentLogin: agentLogins.getAgentLogin,
  listLoginPages: agentLogins.listLoginPages,
  authenticateAgent: agentLogins.authenticateAgent,
  checkAgentLogin: agentLogins.checkAgentLogin,
  logOutAgent: agentLogins.logOutAgent,
  getProviderDiagnostics: providers.getProviderDiagnostics,
  createProcess: processes.createProcess,
  listProcesses: processes.listProcesses,
  getProcess: processes.getProcess,
  getProcessLogs: processes.getProcessLogs,
  streamProcessLogs: processes.streamProcessLogs,
  waitForProcess: processes.waitForProcess,
  killProcess: processes.killProcess,
  restartProcess: processes.restartProcess,
  writeToProcess: processes.writeToProcess,
  getProcessDiagnostics: processes.getProcessDiagnostics,
  createWorktree: worktrees.createWorktree,
  listWorktrees: worktrees.listWorktrees,
  getWorktree: worktrees.getWorktree,
  claimWorktree: worktrees.claimWorktree,
  releaseWorktree: worktrees.releaseWorktree,
  cleanUpWorktree: worktrees.cleanUpWorktree,
  restoreWorktree: worktrees.restoreWorktree,
  collectWorktrees: worktrees.collectWorktrees,
  getWorktreeDiagnostics: worktrees.getWorktreeDiagnostics,
  mergeWorktree: worktreeMerge.mergeWorktree,
  rebaseWorktree: worktreeMerge.rebaseWorktree,
  openPullRequest: worktreeMerge.openPullRequest,
  startRace: races.startRace,
  listRaces: races.listRaces,
  getRace: races.getRace,
  keepContender: races.keepContender,
  stopRace: races.stopRace,
  listTrusted: worktreeTrust.listTrusted,
  lookAtBrought: worktreeTrust.lookAtBrought,
  trustContent: worktreeTrust.trustContent,
  untrustContent: worktreeTrust.untrustContent,
  createTeam: teams.createTeam,
  listTeams: teams.listTeams,
  getTeam: teams.getTeam,
  deleteTeam: teams.deleteTeam,
  addMember: teams.addMember,
  removeMember: teams.removeMember,
  setLead: teams.setLead,
  spawnMember: teams.spawnMember,
  sendMessage: teamMessages.sendMessage,
  broadcast: teamMessages.broadcast,
  listMessages: teamMessages.listMessages,
  cancelMessage: teamMessages.cancelMessage,
  listDeliveries: teamMessages.listDeliveries,
  retryDelivery: teamMessages.retryDelivery,
  interruptTeam: teams.interruptTeam,
  getTeamView: teamView.getTeamView,
  getCommsDiagnostics: teamView.getCommsDiagnostics,
  replayProcessEvents: eventRoutes.process.replay,
  streamProcessEvents: eventRoutes.process.stream,
  replayTeamEvents: eventRoutes.team.replay,
  streamTeamEvents: eventRoutes.team.stream,
  replayEvents: eventRoutes.runtime.replay,
  streamEvents: eventRoutes.runtime.stream,
  replaySessionEvents: eventRoutes.session.replay,
  streamSessionEvents: eventRoutes.session.stream,
  getCapabilities: gateway.getCapabilities,
  invokeTool: gateway.invokeTool,
  search: searchRoutes.search,
  getSearchIndex: searchRoutes.getSearchIndex,
  dropSearchIndex: searchRoutes.dropSearchIndex,
  listTokens: tokens.listTokens,
  createToken: tokens.createToken,
  deleteToken: tokens.deleteToken,
  listHooks: hooks.listHooks,
  testHook: hooks.testHook,
  skipHook: hooks.skipHook,
  linkApproval: hooks.linkApproval,
} as const;
