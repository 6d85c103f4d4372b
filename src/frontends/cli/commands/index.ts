import { shortcut } from '../endpoint-command.ts';
import { type Commands, createProgram } from '../program.ts';
import { clients } from './clients.ts';

export const commands: Commands = {
  named: {
    run: async () => (await import('./run.ts')).runCommand,
    acp: async () => (await import('./acp.ts')).acpCommand,
    providers: clients.providers,
    sessions: clients.sessions,
    approvals: clients.approvals,
    processes: clients.processes,
    worktrees: clients.worktrees,
    teams: clients.teams,
    diff: clients.diff,
    review: clients.review,
    queue: clients.queue,
    events: clients.events,
    search: clients.search,
    usage: clients.usage,
    top: async () => (await import('./top.ts')).topCommand,
    status: clients.status,
    mcp: async () => (await import('./mcp.ts')).mcpCommands,
    hooks: clients.hooks,
    budgets: clients.budgets,
    tokens: clients.tokens,
    serve: async () => (await import('./serve.ts')).serveCommand,
    stop: async () => (await import('./stop.ts')).stopCommand,
    service: async () => (await import('./service.ts')).serviceCommands,
    fleet: async () => (await import('./fleet.ts')).fleetCommands,
    db: async () => (await import('./db.ts')).dbCommands,
    config: async () => (await import('./config.ts')).configCommands,
    doctor: async () => (await import('./doctor.ts')).doctorCommand,
    diagnostics: clients.diagnostics,
    metrics: clients.metrics,
    completion: async () => (await import('./completion.ts')).completionCommand,
    licenses: async () => (await import('./licenses.ts')).licensesCommand,
    version: async () => (await import('./version.ts')).versionCommand,
    ps: async () => shortcut('ps', (await import('./processes.ts')).processCommands, 'list'),
    logs: async () => shortcut('logs', (await import('./processes.ts')).processCommands, 'logs'),
    ls: async () => shortcut('ls', (await import('./sessions.ts')).sessionCommands, 'list'),
    __commands: async () =>
      (await import('./completion.ts')).commandTableCommand((world) =>
        createProgram(world, commands),
      ),
    'demo-agent': async () => (await import('./demo-agent.ts')).demoAgentCommand,
  },
  screen: async () => (await import('./home.ts')).homeCommand,
};
