import { shellWord } from '../../../core/lib/shell-word.ts';
import { commandGroup, localCommand } from '../command.ts';
import { count } from '../option-values.ts';
import { serverDirectory } from '../context.ts';
import { details } from '../details.ts';
import { exitCodes } from '../exit.ts';
import { configOption } from '../output-options.ts';
import { type ServeOptions, serveOptions } from '../serve-options.ts';
import { managerFor, managerOf, managerToPrint } from '../service/choose-manager.ts';
import {
  type InstallOptions,
  type Installed,
  install,
  restart,
  type Restarted,
  serviceText,
  uninstall,
} from '../service/install.ts';
import { followedFile, type ManagerName, managerNames } from '../service/manager.ts';
import { type ServiceStatus, statusOf, whatRuns } from '../service/status.ts';
import type { LocalContext } from '../command-io.ts';
import { stop } from './stop.ts';
import { existsSync } from 'node:fs';
import { AppError, conflictError, notFoundError } from '../../../api/errors.ts';
import { logFile } from '../../../core/lib/own-log.ts';
import { lineForPeople } from '../../../core/lib/log-line.ts';
import { plain } from '../../../core/lib/plain.ts';
import { type Program, runAndFollow } from '../run-program.ts';

const TAIL_LINES = 50;

const managerOption = {
  line: '--manager <name>  Service manager to use (default: the service manager of this machine)',
  choices: managerNames,
};

/** `cadre service …`: the server as a service of the user, and servers in the background. */
export const serviceCommands = commandGroup(
  'service',
  'Start the server at each login, and show its state and log',
  [
    localCommand({
      name: 'install',
      description: 'Start the server now and at each login with systemd or launchd',
      parameters: [
        ...serveOptions,
        '--print  Print the service file, but do not install the service',
        managerOption,
        '--force  Replace the service file even if cadre did not write the file, or if the file was edited',
        '--allow-root  Allow an installation for the user root (agents then run as root)',
      ],
      run: async ({ io, global, show }: LocalContext<GivenOptions>) => {
        if (global.print) {
          const manager = managerToPrint(global.manager, io.env);
          const text = serviceText(io, global, manager);
          return show({ manager: manager.name, file: manager.file, text }, () => text);
        }
        const installed = await install(io, global, managerFor(global.manager, io.env));
        show(installed, () => installedText(installed));
      },
    }),
    localCommand({
      name: 'uninstall',
      description: 'Stop and remove the service, but keep the data and the configuration',
      parameters: [
        managerOption,
        '--force  Remove the service file even if cadre did not write the file, or if the file was edited',
      ],
      run: async ({ io, show }, own: Chosen & { force?: boolean }) => {
        const manager = managerFor(own.manager, io.env);
        const result = await uninstall(manager, own.force === true);
        const { file, removed, ran } = result;
        show(result, () =>
          removed
            ? `${ran.map((line) => `ran ${line}\n`).join('')}Removed ${file}\n`
            : `No service is installed (${file} not found)\n`,
        );
      },
    }),
    localCommand({
      name: 'status',
      description:
        'Show the running server, its log file, and how the server was started (exit code 6 if no server runs)',
      run: async ({ io, global, show, layout }) => {
        const directory = await serverDirectory(global, io.env);
        const status = await statusOf(directory, managerOf(io.env), io.interrupted());
        show(status, () => details(statusLines(status), { layout }));
        if (status.server?.health == null) io.exit(exitCodes.unreachable);
      },
    }),
    localCommand({
      name: 'logs',
      description: 'Show the log of the service or of a background server',
      parameters: [
        {
          line: '--tail <lines>  Number of the newest log lines to show',
          parse: count,
          default: TAIL_LINES,
        },
        '-f, --follow  Also show new log lines as the server writes them',
      ],
      // The log of the running server, of the service, or of the last background server, in this order.
      async run({ io, global }, { tail, follow = false }: { tail: number; follow?: boolean }) {
        const directory = await serverDirectory(global, io.env);
        const program = await logProgram(io.env, directory, tail, follow);
        const form = global.json ? inJson : forPeople;
        const signal = io.interrupted();
        const write = (line: string) => void io.stdout.write(`${form(line)}\n`);
        const { code, stderr } = await runAndFollow(program, write, signal);
        if (signal.aborted) return io.exit(Number(signal.reason));
        const errorOutput = plain(stderr.trim());
        if (code !== 0)
          throw new AppError(
            'internal',
            `the command ${program.command} exited with code ${code}: ${errorOutput}`,
          );
        // Such as that some of the journal may not be read.
        if (errorOutput !== '') io.stderr.write(`cadre: ${errorOutput}\n`);
      },
    }),
    localCommand({
      name: 'restart',
      description:
        'Start the service again, for example after an upgrade (with server.reattach_ms, running turns continue)',
      parameters: [configOption, managerOption],
      run: async ({ io, global, show }: LocalContext<ServeOptions & Chosen>) => {
        const restarted = await restart(io, global, managerFor(global.manager, io.env));
        show(restarted, () => restartedText(restarted));
      },
    }),
    localCommand({
      name: 'stop',
      description:
        'Stop the running server (if the service is installed, the server starts again at the next login)',
      run: stop,
    }),
  ],
);

interface Chosen {
  manager?: ManagerName;
}

type GivenOptions = InstallOptions & Chosen & { print?: boolean };

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

function restartedText({ ran, url }: Restarted): string {
  const lines = ran.map((line) => `ran ${line}\n`);
  const answer = url === null ? 'the server does not answer yet: see cadre service logs' : null;
  return [...lines, answer === null ? `cadre listens on ${url}\n` : `cadre: ${answer}\n`].join('');
}

function statusLines({ data_dir, server, service }: ServiceStatus): object {
  return {
    ...(server
      ? {
          server: server.health === null ? 'running, but not answering' : 'running',
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
      detail: service.detail ?? '-',
      file: service.edited ? `${service.file} (edited)` : service.file,
      ...(service.remark && { remark: service.remark }),
    }),
  };
}

/** Throws `conflict` if the server logs to a terminal, `not_found` if the service has no log. */
async function logProgram(
  env: NodeJS.ProcessEnv,
  directory: string,
  lines: number,
  isFollowed: boolean,
): Promise<Program> {
  const manager = managerOf(env);
  const { server, state } = await whatRuns(directory, manager);
  const file = server?.log ?? logFile(directory);
  if (server?.started_by === 'foreground')
    throw conflictError(
      `cannot show the log of the server (pid ${server.pid}): a server in the foreground writes its log only to stderr`,
    );
  const isOfManager = server ? server.started_by === manager?.name : state !== null;
  if (manager && isOfManager) return manager.log(lines, isFollowed, file);
  if (!existsSync(file)) throw notFoundError(`no server log found in ${directory}`);
  return followedFile(file, lines, isFollowed, env);
}

function forPeople(line: string): string {
  return isRecord(line) ? lineForPeople(line).trimEnd() : plain(line);
}

/** A line as a record: any other line becomes the message of a record. */
function inJson(line: string): string {
  return isRecord(line) ? line : JSON.stringify({ msg: line });
}

function isRecord(line: string): boolean {
  try {
    const found = JSON.parse(line) as { msg?: unknown } | null;
    return found?.msg !== undefined;
  } catch {
    return false;
  }
}
