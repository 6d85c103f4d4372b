import fs from 'node:fs';
import path from 'node:path';
import { findRegistration } from '../../../core/config/registration.ts';
import { dataDirectory, loadConfig } from '../../../core/config/load.ts';
import { prepareDirectory } from '../../../core/config/data-directory.ts';
import { defaultConfigFile } from '../../../core/config/paths.ts';
import { conflictError, notFoundError, usageError } from '../../../api/errors.ts';
import { makeDirectory } from '../../../core/lib/make-directory.ts';
import { logFile } from '../../../core/lib/own-log.ts';
import { nullUnlessShort } from '../../../core/lib/system-error.ts';
import { removeLeftDrafts, replaceFile } from '../../../core/lib/replace-file.ts';
import { type Seal, sealOf } from '../../service/sealed.ts';
import { type ServiceStart, settingsLeftBehind, variablesOf } from '../../service/start.ts';
import { serverOnceItAnswers } from '../answering.ts';
import { lastingCommand } from '../lasting-command.ts';
import { refuseRemote, type ServeOptions, serveWords } from '../serve-options.ts';
import type { CommandIo } from '../command-io.ts';
import type { Manager } from './manager.ts';

/** The maximum time to wait for the answer of a started service. */
const ANSWER_MS = 30_000;

export interface InstallOptions extends ServeOptions {
  force?: boolean;
  allowRoot?: boolean;
}

export interface Installed {
  manager: string;
  file: string;
  change: 'written' | 'replaced' | 'unchanged';
  command: readonly string[];
  path: string;
  data_dir: string;
  /** The command lines that were run. */
  ran: string[];
  /** Null where no server answers. */
  url: string | null;
  /** Advice for the user, each in a sentence. */
  remarks: string[];
}

export interface Restarted {
  /** The command lines that were run. */
  ran: string[];
  /** Null where no server answers. */
  url: string | null;
}

/** The text that describes the service to its manager. Throws `invalid` for a configuration that is wrong. */
export function serviceText(io: CommandIo, options: ServeOptions, manager: Manager): string {
  return manager.text(planOf(io, options).start);
}

/** Writes the file of the service, and has it started now and at each login. */
export async function install(
  io: CommandIo,
  options: InstallOptions,
  manager: Manager,
): Promise<Installed> {
  refuseRoot(options.allowRoot === true);
  const { start, directory } = planOf(io, options);
  await manager.assertReachable();
  const text = manager.text(start);
  const change = write(manager.file, text, options.force === true);
  // launchd opens the log before the server is there.
  prepareDirectory(directory);
  const before = await manager.state();
  const ran = await manager.enable();
  const remarks = remarksOn(io, manager);
  const running = findRegistration(directory);
  if (!running?.runs) ran.push(...(await manager.start()));
  else if (running.server.pid !== before?.pid)
    remarks.push(otherServer(directory, running.server.pid, manager));
  else if (change !== 'unchanged')
    remarks.push(
      `the running server does not use the new file: restart it with ${manager.restartCommand}`,
    );
  const signal = io.interrupted();
  const isOther = running?.runs === true;
  const server = await serverOnceItAnswers(directory, {
    clock: io.clock,
    signal,
    limitMs: isOther ? 0 : ANSWER_MS,
  });
  if (server === null && !isOther)
    remarks.push('the server does not answer yet: see cadre service logs');
  return {
    manager: manager.name,
    file: manager.file,
    change,
    command: start.command,
    path: start.variables.PATH ?? '',
    data_dir: directory,
    ran,
    url: server?.url ?? null,
    remarks,
  };
}

/**
 * Starts the service again; resolves once it answers. With `server.reattach_ms`, its running turns continue. Throws `not_found`
 * without a service, `conflict` if another server has the data directory.
 */
export async function restart(
  io: CommandIo,
  options: ServeOptions,
  manager: Manager,
): Promise<Restarted> {
  const config = loadConfig(options, io.env);
  const directory = dataDirectory(config, io.env);
  await manager.assertReachable();
  const before = await manager.state();
  if (!before)
    throw notFoundError('no service is installed: install the service with cadre service install');
  const running = findRegistration(directory);
  if (running?.runs && running.server.pid !== before.pid)
    throw conflictError(otherServer(directory, running.server.pid, manager));
  const ran = await manager.restart(config.server.reattach_ms > 0);
  const signal = io.interrupted();
  const limits = { clock: io.clock, signal, limitMs: ANSWER_MS };
  const server = await serverOnceItAnswers(directory, limits);
  return { ran, url: server?.url ?? null };
}

function otherServer(directory: string, pid: number, { restartCommand }: Manager): string {
  return `another server is running on ${directory} (pid ${pid}): stop it with cadre stop, then start the service with ${restartCommand}`;
}

/** Removes the service and its file. Data, configuration and token stay. */
export async function uninstall(
  manager: Manager,
  isForced: boolean,
): Promise<{ file: string; removed: boolean; ran: string[] }> {
  const { file } = manager;
  const seal = sealIn(file);
  if (seal === null) return { file, removed: false, ran: [] };
  refuseForeign(file, seal, isForced, 'remove');
  await manager.assertReachable();
  const ran = await manager.remove(() => fs.rmSync(file, { force: true }));
  return { file, removed: true, ran };
}

/** How the file of a service stands to what an install has written; null where there is none. */
export function sealIn(file: string): Seal | null {
  const found = lookAt(file);
  if (found === null) return null;
  // A link shows that the user keeps the file in another place.
  return found.isFile() ? sealOf(fs.readFileSync(file, 'utf8')) : 'foreign';
}

/** Returns the status of a file. Null if the file does not exist or the system denies access, as with a HOME of `/dev/null`. */
function lookAt(file: string): fs.Stats | null {
  try {
    return fs.lstatSync(file);
  } catch (error) {
    return nullUnlessShort(error);
  }
}

function planOf(io: CommandIo, options: ServeOptions): { start: ServiceStart; directory: string } {
  const { env } = io;
  const config = loadConfig(options, env);
  refuseRemote(config.server.bind_address, options.allowRemote === true, io);
  const directory = dataDirectory(config, env);
  const command = [...lastingCommand(env), ...serveWords(options, io.cwd())] as const;
  const variablesFile = path.join(path.dirname(defaultConfigFile(env)), 'service.env');
  const variables = variablesOf(env);
  const agentsOutlive = config.server.reattach_ms > 0;
  const log = logFile(directory);
  return { start: { command, variables, variablesFile, log, agentsOutlive }, directory };
}

function refuseRoot(isAllowed: boolean): void {
  if (process.geteuid?.() !== 0 || isAllowed) return;
  throw usageError(
    'the server and all its agents would run as root: run this command without sudo, as the owner of the projects, or pass --allow-root',
  );
}

function write(file: string, text: string, isForced: boolean): Installed['change'] {
  const seal = sealIn(file);
  if (seal === 'ours' && fs.readFileSync(file, 'utf8') === text) return 'unchanged';
  if (seal !== null) refuseForeign(file, seal, isForced, 'replace');
  makeDirectory(path.dirname(file), 0o777);
  replaceFile(file, text);
  removeLeftDrafts(file);
  return seal === null ? 'written' : 'replaced';
}

function refuseForeign(file: string, seal: Seal, isForced: boolean, does: string): void {
  if (seal === 'ours' || isForced) return;
  throw conflictError(
    seal === 'edited'
      ? `the service file ${file} was edited: pass --force to ${does} the file`
      : `the service file ${file} was not written by cadre: pass --force to ${does} the file`,
  );
}

function remarksOn({ env }: CommandIo, manager: Manager): string[] {
  const left = settingsLeftBehind(env);
  const names = left.join(', ');
  return [
    manager.remark(),
    left.length > 0
      ? `the service does not use ${names} of this shell: add these settings to ${defaultConfigFile(env)}`
      : null,
  ].filter((remark) => remark !== null);
}
