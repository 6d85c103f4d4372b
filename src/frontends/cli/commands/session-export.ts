import type { Command } from 'commander';
import { endpoints } from '../../../api/index.ts';
import type { ExportOptions } from '../export/write.ts';
import { sessionArgument, sessionId, teamArgument, teamId } from '../find.ts';
import { clientAction, type CommandContext, type World } from '../world.ts';

/** `cadre sessions export`. */
export function sessionExport(sessions: Command, world: World): void {
  withExportOptions(
    sessions
      .command('export')
      .description('Export the conversation of a session as HTML, Markdown or JSON')
      .argument(...sessionArgument),
  ).action(clientAction(world, exportSession));
}

/** `cadre teams export`. */
export function teamExport(teams: Command, world: World): void {
  withExportOptions(
    teams
      .command('export')
      .description('Export the conversations of all members of a team as HTML, Markdown or JSON')
      .argument(...teamArgument),
  ).action(clientAction(world, exportTeam));
}

function withExportOptions(command: Command): Command {
  return command
    .option('--html', 'Write the conversation as one HTML file without scripts (default)')
    .option('--markdown', 'Write the conversation as Markdown')
    .option('--redact', 'Mask the home directory and secrets of known kinds, such as API keys')
    .option('--file <file>', 'File to write (default: stdout)')
    .option('--force', 'Replace the file if it exists');
}

async function exportSession(
  context: CommandContext,
  said: string,
  options: ExportOptions,
): Promise<void> {
  const { client } = context;
  const { documentOf, readSession, sessionExport: exportOf } = await import('../export/read.ts');
  const { writeExport } = await import('../export/write.ts');
  const read = await readSession(client, await sessionId(client, said));
  await writeExport(context, options, { document: documentOf(read), exported: exportOf(read) });
}

async function exportTeam(
  context: CommandContext,
  said: string,
  options: ExportOptions,
): Promise<void> {
  const { client } = context;
  const { documentOf, readSession, teamExport: exportOf } = await import('../export/read.ts');
  const { writeExport } = await import('../export/write.ts');
  const params = { team_id: await teamId(client, said) };
  const found = await client.call(endpoints.getTeam, { params });
  const sessions = [];
  for (const { agent_id } of found.members) sessions.push(await readSession(client, agent_id));
  const document = { ...found, sessions: sessions.map(documentOf) };
  await writeExport(context, options, { document, exported: exportOf(found, sessions) });
}
