import type { Command } from 'commander';
import { endpoints } from '../../../api/index.ts';
import { sessionArgument, sessionId } from '../find.ts';
import { count } from '../count.ts';
import { chosenMode } from '../agent-mode.ts';
import { plain } from '../output.ts';
import { conversationDocument, readConversation } from '../talk/read-conversation.ts';
import { markSeen } from '../talk/seen.ts';
import { asRecord, isQuiet } from '../output-options.ts';
import { clientAction, type CommandContext, type World, jsonFor } from '../world.ts';

interface ShowOptions {
  markdown?: boolean;
  full?: boolean;
  turns?: number;
  turn?: string;
}

/** `cadre sessions show`. */
export function sessionShow(sessions: Command, world: World): void {
  asRecord(sessions.command('show'))
    .description('Show the conversation of a session')
    .argument(...sessionArgument)
    .option('--turns <n>', 'Number of the newest turns to show (default: all turns)', count)
    .option('--turn <turn>', 'Show only the turn with this id')
    .option('--full', "Include the agent's thoughts, and the input and output of tool calls")
    .option('--markdown', 'Print the conversation as a Markdown document')
    .action(clientAction(world, show));
}

/** The width of lines where the output has none. */
const COLUMNS = 100;

async function show(
  context: CommandContext,
  said: string,
  { markdown = false, full = false, turns: count, turn }: ShowOptions,
): Promise<void> {
  const { world, client, global, layout } = context;
  const session_id = await sessionId(client, said);
  const { value: session, headers } = await client.ask(endpoints.getSession, {
    params: { session_id },
  });
  const read = await readConversation(client, session_id, turn ?? count);
  if (isQuiet(global)) return context.show(session, () => '');
  if (global.json) {
    world.stdout.write(`${jsonFor(world, conversationDocument(session, read), 2)}\n`);
    return;
  }
  const { conversation, conversationMarkdown } = await import('../../terminal/conversation.ts');
  const blocks = conversation(read.turns, read.approvals, read.notices);
  if (markdown) {
    world.stdout.write(conversationMarkdown(blocks));
    return;
  }
  const { conversationLines } = await import('../../terminal/conversation-lines.ts');
  const columns = Number.isFinite(layout.columns) ? layout.columns : COLUMNS;
  const mode = await chosenMode(client, session);
  const heading = mode === null ? [] : [layout.palette.faint(`mode: ${plain(mode)}`), ''];
  const lines = conversationLines(blocks, { columns, palette: layout.palette, folded: !full });
  const { writePaged } = await import('../talk/pager.ts');
  await writePaged([...heading, ...lines].map((line) => `${line}\n`).join(''), world);
  await markSeen(context, session_id, Number(headers['x-seq'] ?? 0));
}
