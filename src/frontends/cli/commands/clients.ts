import type { Commands } from '../program.ts';

/** The commands that are clients of a server and nothing else; bundles/choose.ts has the same names. */
export const clients = {
  sessions: async () => (await import('./sessions.ts')).sessionCommands,
  diff: async () => (await import('./diff.ts')).diffCommand,
  queue: async () => (await import('./queue.ts')).queueCommands,
  usage: async () => (await import('./usage.ts')).usageCommand,
  budgets: async () => (await import('./usage.ts')).budgetCommands,
  review: async () => (await import('./review.ts')).reviewCommands,
  approvals: async () => (await import('./approvals.ts')).approvalCommands,
  providers: async () => (await import('./providers.ts')).providerCommands,
  processes: async () => (await import('./processes.ts')).processCommands,
  templates: async () => (await import('./templates.ts')).templateCommands,
  worktrees: async () => (await import('./worktrees.ts')).worktreeCommands,
  races: async () => (await import('./races.ts')).raceCommands,
  teams: async () => (await import('./teams.ts')).teamCommands,
  events: async () => (await import('./events.ts')).eventCommands,
  hooks: async () => (await import('./hooks.ts')).hookCommands,
  tokens: async () => (await import('./tokens.ts')).tokenCommands,
  search: async () => (await import('./search.ts')).searchCommand,
  status: async () => (await import('./status.ts')).statusCommand,
  diagnostics: async () => (await import('./diagnostics.ts')).diagnosticsCommands,
  metrics: async () => (await import('./diagnostics.ts')).metricsCommand,
} satisfies Commands['named'];
