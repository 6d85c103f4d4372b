import type { Command } from 'commander';
import { endpoints } from '../../api/index.ts';
import { AppError } from '../../errors.ts';
import { serverDirectory, type GlobalOptions } from '../context.ts';
import { exitCodes } from '../exit.ts';
import { openScreen } from '../screen.ts';
import { clientAction, terminalOf, type World } from '../world.ts';

interface HomeOptions extends GlobalOptions {
  select?: string;
}

/** `cadre` alone, on a terminal: opens the screen. Where no server runs it offers to start one. */
export function homeCommand(program: Command, world: World): void {
  program.action(async (options: HomeOptions) => {
    if ((await isServed(world, options)) || (await offerServer(world, options))) {
      const open = clientAction(world, async (context) => {
        await openScreen(context, { page: 'top', select: options.select });
      });
      await open(program);
    }
  });
}

/** Whether a server answers. Throws what `connect` throws, unless it can be helped by starting one. */
async function isServed(world: World, options: HomeOptions): Promise<boolean> {
  try {
    const client = await world.connect(options);
    await client.call(endpoints.getVersion, {}).finally(() => client.close());
    return true;
  } catch (error) {
    const isElsewhere = options.url !== undefined || world.env.CADRE_URL !== undefined;
    if (isElsewhere || !(error instanceof AppError) || error.code !== 'unreachable') throw error;
    return false;
  }
}

/** Asks whether a server shall be started, and starts it. False where the user leaves instead. */
async function offerServer(world: World, options: HomeOptions): Promise<boolean> {
  const terminal = terminalOf(world);
  if (!terminal) return false;
  const directory = await serverDirectory(options, world.env);
  const { openOffer } = await import('../../tui/offer.tsx');
  const { ServerStart } = await import('../server-start.ts');
  const start = new ServerStart(world, options, directory);
  const signal = world.interrupted();
  const { isStarted, interrupted } = await openOffer({
    ...terminal,
    env: world.env,
    signal,
    directory,
    log: start.log,
    start: (isDemo) => start.run(isDemo),
  });
  if (signal.aborted) world.exit(Number(signal.reason));
  else if (interrupted) world.exit(exitCodes.interrupted);
  return isStarted;
}
