import { type Commands, createProgram } from '../program.ts';
import { clients } from './clients.ts';

export const commands: Commands = {
  named: {
    serve: async () => (await import('./serve.ts')).serveCommand,
    service: async () => (await import('./service.ts')).serviceCommands,
    run: async () => (await import('./run.ts')).runCommand,
    sessions: clients.sessions,
    diff: clients.diff,
    queue: clients.queue,
    usage: clients.usage,
    budgets: clients.budgets,
    review: clients.review,
    approvals: clients.approvals,
    providers: clients.providers,
    processes: clients.processes,
    worktrees: clients.worktrees,
    teams: clients.teams,
    events: clients.events,
    search: clients.search,
    mcp: async () => (await import('./mcp.ts')).mcpCommands,
    acp: async () => (await import('./acp.ts')).acpCommand,
    fleet: async () => (await import('./fleet.ts')).fleetCommands,
    hooks: clients.hooks,
    tokens: clients.tokens,
    db: async () => (await import('./db.ts')).dbCommands,
    config: async () => (await import('./config.ts')).configCommands,
    doctor: async () => (await import('./doctor.ts')).doctorCommand,
    top: async () => (await import('./top.ts')).topCommand,
    status: clients.status,
    completion: async () => (await import('./completion.ts')).completionCommand,
    diagnostics: clients.diagnostics,
    metrics: clients.metrics,
    licenses: async () => (await import('./licenses.ts')).licensesCommand,
    version: async () => (await import('./version.ts')).versionCommand,
    __commands: async () =>
      (await import('./completion.ts')).commandTableCommand((world) =>
        createProgram(world, commands),
      ),
    'demo-agent': async () => (await import('./demo-agent.ts')).demoAgentCommand,
  },
  screen: async () => (await import('./home.ts')).homeCommand,
};
