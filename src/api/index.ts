import * as approvals from './approvals.ts';
import * as events from './events.ts';
import * as gateway from './gateway.ts';
import * as providers from './providers.ts';
import * as processes from './processes.ts';
import * as runtime from './runtime.ts';
import * as sessions from './sessions.ts';
import * as tokens from './tokens.ts';

/** Every endpoint by name: server, client, openapi.yaml and tests are made from this table. */
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
  createSession: sessions.createSession,
  listSessions: sessions.listSessions,
  getSession: sessions.getSession,
  sendTurn: sessions.sendTurn,
  listTurns: sessions.listTurns,
  getTurn: sessions.getTurn,
  listItems: sessions.listItems,
  getItem: sessions.getItem,
  interruptTurn: sessions.interruptTurn,
  closeSession: sessions.closeSession,
  resumeSession: sessions.resumeSession,
  decideApproval: approvals.decideApproval,
  listSessionApprovals: approvals.listSessionApprovals,
  listApprovals: approvals.listApprovals,
  listProviders: providers.listProviders,
  listModels: providers.listModels,
  getAcpAuthStatus: providers.getAcpAuthStatus,
  getClaudeAuthStatus: providers.getClaudeAuthStatus,
  setClaudeApiKey: providers.setClaudeApiKey,
  endClaudeLogin: providers.endClaudeLogin,
  getProviderDiagnostics: providers.getProviderDiagnostics,
  createProcess: processes.createProcess,
  listProcesses: processes.listProcesses,
  getProcess: processes.getProcess,
  getProcessLogs: processes.getProcessLogs,
  streamProcessLogs: processes.streamProcessLogs,
  waitForProcess: processes.waitForProcess,
  killProcess: processes.killProcess,
  getProcessDiagnostics: processes.getProcessDiagnostics,
  replayProcessEvents: events.replayProcessEvents,
  streamProcessEvents: events.streamProcessEvents,
  replayEvents: events.replayEvents,
  streamEvents: events.streamEvents,
  replaySessionEvents: events.replaySessionEvents,
  streamSessionEvents: events.streamSessionEvents,
  getCapabilities: gateway.getCapabilities,
  invokeTool: gateway.invokeTool,
  listTokens: tokens.listTokens,
  createToken: tokens.createToken,
  deleteToken: tokens.deleteToken,
} as const;
