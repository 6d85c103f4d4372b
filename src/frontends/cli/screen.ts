import { endpoints } from '../../api/index.ts';
import { noDefaults } from '../../client/defaults.ts';
import type { Start } from '../tui/app.tsx';
import { configuration } from './context.ts';
import { editorOf } from './editor.ts';
import { exitCodes } from './exit.ts';
import { defaultsOf } from './talk/defaults.ts';
import { visitorOf } from './visit.ts';
import { promptHistory } from './talk/history.ts';
import { type CommandContext, terminalOf } from './world.ts';

/**
 * Opens the screen and waits until the user leaves it. Answers false, without a screen, where there is no terminal for
 * it, and with `--json`. Unless the server is known to answer, it is asked first. Throws `unreachable`.
 */
export async function openScreen(
  { world, client, global }: CommandContext,
  start: Start,
  answers = false,
): Promise<boolean> {
  const terminal = terminalOf(world);
  if (global.json || !terminal) return false;
  // Fails before the screen is opened. Of several servers the screen shows which of them answer.
  if (!answers && !client.servers) await client.call(endpoints.getVersion, {});
  const { clock, env } = world;
  const signal = world.interrupted();
  // The page of events opens no session.
  const defaults = start.page === 'top' ? await defaultsOf({ world, global }) : noDefaults;
  const screen = await import('../tui/open.tsx');
  const { interrupted } = await screen.openScreen({
    ...terminal,
    client,
    clock,
    env,
    signal,
    defaults,
    start,
    settings: (await configuration(global, env))?.screen,
    history: await promptHistory({ world, global }),
    edit: editorOf(env),
    visit: visitorOf(world, global),
  });
  if (signal.aborted) world.exit(Number(signal.reason));
  else if (interrupted) world.exit(exitCodes.interrupted);
  return true;
}
