import { type Command, Option } from 'commander';
import { shellWord } from '../../../core/lib/shell-word.ts';
import { count } from '../count.ts';
import { serverDirectory } from '../context.ts';
import { details } from '../details.ts';
import { exitCodes } from '../exit.ts';
import { layoutOf } from '../layout.ts';
import { type ServeOptions, withServeOptions } from '../serve-options.ts';
import { managerFor, managerOf, managerToPrint } from '../service/choose-manager.ts';
import {
  type Installed,
  install,
  type InstallOptions,
  serviceText,
  uninstall,
} from '../service/install.ts';
import { showLog } from '../service/logs.ts';
import { type ManagerName, managerNames } from '../service/manager.ts';
import { type ServiceStatus, statusOf } from '../service/status.ts';
import { stopServer } from '../service/stop.ts';
import { showDocument, type World } from '../world.ts';

const TAIL_LINES = 50;

/** `cadre service …`: the server as a service of the user, and servers in the background. */
export function serviceCommands(program: Command, world: World): void {
  const service = program
    .command('service')
    .description('the server as a service of yours, and servers in the background');
  installCommand(service, world);
  uninstallCommand(service, world);
  statusCommand(service, world);
  logsCommand(service, world);
  stopCommand(service, world);
}

function installCommand(service: Command, world: World): void {
  withServeOptions(
    service
      .command('install')
      .description('have systemd or launchd start the server now and when you log in'),
  )
    .option('--print', 'only print the file that would be written')
    .addOption(managerOption())
    .option('--force', 'replace a file that cadre has not written, or that was edited')
    .option('--allow-root', 'install a service of root, with agents that are root')
    .action(async (own: InstallOptions & Chosen & { print?: boolean }, command: Command) => {
      const options = { ...command.optsWithGlobals<ServeOptions>(), ...own };
      if (own.print) {
        const manager = managerToPrint(own.manager, world.env);
        const text = serviceText(world, options, manager);
        const document = { manager: manager.name, file: manager.file, text };
        return showDocument(world, options, document, () => text);
      }
      const installed = await install(world, options, managerFor(own.manager, world.env));
      showDocument(world, options, installed, () => installedText(installed));
    });
}

interface Chosen {
  manager?: ManagerName;
}

function managerOption(): Option {
  return new Option('--manager <name>', 'which (default: the one of this machine)').choices(
    managerNames,
  );
}

function installedText(installed: Installed): string {
  const { file, change, command, path, data_dir, ran, url, remarks } = installed;
  const shown = details({
    [change]: file,
    starts: command.map(shellWord).join(' '),
    PATH: path,
    data: data_dir,
  });
  return [
    shown,
    ...ran.map((line) => `ran ${line}\n`),
    url === null ? '' : `cadre listens on ${url}\n`,
    ...remarks.map((remark) => `cadre: ${remark}\n`),
  ].join('');
}

function uninstallCommand(service: Command, world: World): void {
  service
    .command('uninstall')
    .description('stop the service and remove it; data and configuration stay')
    .addOption(managerOption())
    .option('--force', 'remove a file that cadre has not written, or that was edited')
    .action(async (own: Chosen & { force?: boolean }, command: Command) => {
      const manager = managerFor(own.manager, world.env);
      const result = await uninstall(manager, own.force === true);
      const { file, removed, ran } = result;
      showDocument(world, command.optsWithGlobals<ServeOptions>(), result, () =>
        removed
          ? `${ran.map((line) => `ran ${line}\n`).join('')}removed ${file}\n`
          : `no service is installed: there is no ${file}\n`,
      );
    });
}

function statusCommand(service: Command, world: World): void {
  service
    .command('status')
    .description('show what runs, who started it and where it logs; ends with 6 where nothing runs')
    .action(async (_given: object, command: Command) => {
      const options = command.optsWithGlobals<ServeOptions>();
      const directory = await serverDirectory(options, world.env);
      const status = await statusOf(directory, managerOf(world.env), world.interrupted());
      showDocument(world, options, status, () =>
        details(statusLines(status), { layout: layoutOf(world.stdout, world.env) }),
      );
      if (status.server?.health == null) world.exit(exitCodes.unreachable);
    });
}

/** The status as people read it. */
function statusLines({ data_dir, server, service }: ServiceStatus): object {
  return {
    ...(server
      ? {
          server: server.health === null ? 'runs, and does not answer' : 'running',
          health: server.health ?? '-',
          url: server.url,
          pid: String(server.pid),
          'started by': server.started_by,
          log: server.log ?? (server.started_by === 'systemd' ? 'the journal' : 'its terminal'),
        }
      : { server: 'not running' }),
    data: data_dir,
    service: service
      ? `${service.state}, ${service.enabled ? 'starts' : 'does not start'} when you log in`
      : 'not installed',
    ...(service && {
      says: service.detail ?? '-',
      file: service.edited ? `${service.file} (not as cadre wrote it)` : service.file,
      ...(service.remark && { remark: service.remark }),
    }),
  };
}

function logsCommand(service: Command, world: World): void {
  service
    .command('logs')
    .description('show the log of the service, or of a server in the background')
    .option('--tail <lines>', 'how many of the newest lines', count, TAIL_LINES)
    .option('-f, --follow', 'show what comes, too')
    .action(async (own: { tail: number; follow?: boolean }, command: Command) => {
      const options = command.optsWithGlobals<ServeOptions>();
      await showLog(world, managerOf(world.env), {
        directory: await serverDirectory(options, world.env),
        tail: own.tail,
        isFollowed: own.follow === true,
        isJson: options.json === true,
      });
    });
}

function stopCommand(service: Command, world: World): void {
  service
    .command('stop')
    .description(
      'stop the server in order, however it was started; a service starts again at login',
    )
    .action(async (_given: object, command: Command) => {
      const options = command.optsWithGlobals<ServeOptions>();
      const directory = await serverDirectory(options, world.env);
      const pid = await stopServer(world, directory, managerOf(world.env));
      showDocument(world, options, { stopped: pid !== null, pid }, () =>
        pid === null ? `no server runs on ${directory}\n` : `stopped ${pid}\n`,
      );
    });
}
