import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { loginProviderIds, providerId } from '../../../src/api/provider-kinds.ts';
import { sandboxMode, sandboxNetwork } from '../../../src/api/session-sandbox.ts';
import { choicesOf } from '../../../src/frontends/cli/choices.ts';
import { scripts } from '../../../src/frontends/cli/commands/completion.ts';
import { states } from '../../../src/frontends/cli/commands/session-files.ts';
import { mcpAgents } from '../../../src/frontends/cli/mcp/agents.ts';
import { managerNames } from '../../../src/frontends/cli/service/manager.ts';
import { commands } from '../../../src/frontends/cli/commands/index.ts';
import { createProgram } from '../../../src/frontends/cli/program.ts';
import type { CommandIo } from '../../../src/frontends/cli/command-io.ts';
import { keys } from '../../../src/core/config/keys.ts';

const bodyOf = (endpoint: { body: unknown }, field: string) =>
  (endpoint.body as { shape: Record<string, unknown> }).shape[field];

/** The schema behind each option and argument that has choices. */
const schemas: Record<string, unknown> = {
  'acp --provider': bodyOf(endpoints.createSession, 'provider'),
  'approvals accept --scope': bodyOf(endpoints.decideApproval, 'scope'),
  'approvals list --status': endpoints.listApprovals.query.status,
  'approvals rules add --provider': bodyOf(endpoints.addApprovalRule, 'provider'),
  'approvals rules add effect': bodyOf(endpoints.addApprovalRule, 'effect'),
  'approvals rules test --provider': bodyOf(endpoints.testApprovalRules, 'provider'),
  'budgets set --per': bodyOf(endpoints.setBudget, 'per'),
  'mcp install --permission-mode': bodyOf(endpoints.createToken, 'permission_mode'),
  'processes list --status': endpoints.listProcesses.query.status,
  'ps --status': endpoints.listProcesses.query.status,
  'logs --stream': endpoints.getProcessLogs.query.stream,
  'ls --provider': endpoints.listSessions.query.provider,
  'ls --status': endpoints.listSessions.query.status,
  'processes logs --stream': endpoints.getProcessLogs.query.stream,
  'providers auth provider': providerId,
  'providers models provider': endpoints.listModels.params.provider,
  'queue add --overlap': bodyOf(endpoints.addToQueue, 'overlap'),
  'queue edit --overlap': bodyOf(endpoints.editQueueEntry, 'overlap'),
  'queue list --status': endpoints.listQueue.query.status,
  'race --network': sandboxNetwork,
  'race --sandbox': sandboxMode,
  'run --network': sandboxNetwork,
  'run --provider': bodyOf(endpoints.createSession, 'provider'),
  'run --sandbox': sandboxMode,
  'search --kind': endpoints.search.query.kind,
  'search --provider': endpoints.search.query.provider,
  'service install --log-level': keys.find(({ name }) => name === 'log.level')?.schema,
  'serve --log-level': keys.find(({ name }) => name === 'log.level')?.schema,
  'sessions create --network': sandboxNetwork,
  'sessions create --provider': bodyOf(endpoints.createSession, 'provider'),
  'sessions create --sandbox': sandboxMode,
  'sessions handoff --provider': bodyOf(endpoints.handOffSession, 'provider'),
  'sessions import --provider': bodyOf(endpoints.createSession, 'provider'),
  'sessions import list --provider': bodyOf(endpoints.createSession, 'provider'),
  'sessions list --provider': endpoints.listSessions.query.provider,
  'sessions list --status': endpoints.listSessions.query.status,
  'sessions send --overlap': bodyOf(endpoints.addToQueue, 'overlap'),
  'teams broadcast --policy': bodyOf(endpoints.broadcast, 'policy'),
  'teams broadcast --priority': bodyOf(endpoints.broadcast, 'priority'),
  'teams deliveries --status': endpoints.listDeliveries.query.status,
  'teams message --policy': bodyOf(endpoints.sendMessage, 'policy'),
  'teams message --priority': bodyOf(endpoints.sendMessage, 'priority'),
  'teams spawn --provider': bodyOf(endpoints.spawnMember, 'provider'),
  'tokens create --permission-mode': bodyOf(endpoints.createToken, 'permission_mode'),
  'tokens create --scope': bodyOf(endpoints.createToken, 'scope'),
  'usage --by': endpoints.getUsage.query.by,
  'worktrees claim --role': bodyOf(endpoints.claimWorktree, 'claim_role'),
  'worktrees create --policy': bodyOf(endpoints.createWorktree, 'deletion_policy'),
  'worktrees list --status': endpoints.listWorktrees.query.status,
};

/** Choices that no schema has. */
const unlisted = {
  'completion shell': Object.keys(scripts),
  'mcp install agent': mcpAgents.map(({ name }) => name),
  'mcp uninstall agent': mcpAgents.map(({ name }) => name),
  // The providers with their own home for the login.
  'providers login provider': [...loginProviderIds, 'acp'],
  'providers logout provider': [...loginProviderIds, 'acp'],
  'sessions snapshots state': [...states],
  'service install --manager': [...managerNames],
  'service restart --manager': [...managerNames],
  'service uninstall --manager': [...managerNames],
};

it('The choices equal the enum of the schema, if the schema has one.', async () => {
  const listed = Object.entries(schemas).map(([place, schema]) => [place, choicesOf(schema)]);
  expect(choicesIn(await createProgram({} as CommandIo, commands))).toEqual({
    ...Object.fromEntries(listed),
    ...unlisted,
  });
});

it('The choices are found in optional, nullable and default schemas, and nowhere else.', () => {
  expect(choicesOf(providerId.nullish().default('acp'))).toEqual(providerId.options);
  expect(choicesOf(endpoints.listSessions.query.limit)).toBeNull();
  expect(choicesOf(undefined)).toBeNull();
});

/** Returns all choices of a command and the commands below it, by paths such as `teams message --priority`. */
function choicesIn(command: Command, above = ''): Record<string, readonly string[]> {
  const words = [
    // The output forms only exist on the command line.
    ...command.options
      .filter(({ long }) => long !== '--output')
      .map(({ long, argChoices }) => [long, argChoices] as const),
    ...command.registeredArguments.map((one) => [one.name(), one.argChoices] as const),
  ];
  const own = words.flatMap(([name, choices]) => (choices ? [[`${above}${name}`, choices]] : []));
  const below = command.commands.map((one) => choicesIn(one, `${above}${one.name()} `));
  return Object.assign(Object.fromEntries(own), ...below) as Record<string, readonly string[]>;
}
