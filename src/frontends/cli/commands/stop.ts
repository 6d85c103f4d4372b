import type { Command } from 'commander';
import { serverDirectory } from '../context.ts';
import type { ServeOptions } from '../serve-options.ts';
import { managerOf } from '../service/choose-manager.ts';
import { stopServer } from '../service/stop.ts';
import { showDocument, type World } from '../world.ts';

/** `cadre stop`: stops the server of this machine, however it was started. */
export function stopCommand(program: Command, world: World): void {
  describeStop(program.command('stop').description('Stop the server'), world).option(
    '--now',
    'Stop at once: interrupt running turns without waiting for their end',
  );
}

/** Adds the action of a command that stops the server. */
export function describeStop(command: Command, world: World): Command {
  return command.action(async (own: { now?: boolean }, self: Command) => {
    const options = self.optsWithGlobals<ServeOptions>();
    const directory = await serverDirectory(options, world.env);
    const manager = managerOf(world.env);
    const pid = await stopServer(world, directory, { manager, isNow: own.now === true });
    showDocument(world, options, { stopped: pid !== null, pid }, () =>
      pid === null ? `No server is running on ${directory}\n` : `Stopped the server (pid ${pid})\n`,
    );
  });
}
