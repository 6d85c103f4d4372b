import fs from 'node:fs';
import path from 'node:path';
import { baseDirectory } from '../../../core/config/paths.ts';
import { AppError, conflictError, unreachableError } from '../../../api/errors.ts';
import { findProgram } from '../../../core/lib/find-program.ts';
import { accountName } from '../../../core/lib/home-directory.ts';
import { version } from '../../../core/lib/self.ts';
import { type Manager, Runner, type ServiceState } from './manager.ts';
import { sealFor } from '../../service/sealed.ts';
import type { ServiceStart } from '../../service/start.ts';

export const UNIT = 'cadre.service';

const STATES: Readonly<Record<string, ServiceState['state']>> = {
  active: 'running',
  reloading: 'running',
  activating: 'starting',
  deactivating: 'stopping',
  failed: 'failed',
};

/** The variable of a unit that names the data directory. */
const DATA_DIRECTORY = 'CADRE_DATA_ROOT_DIR';

export function systemd(env: NodeJS.ProcessEnv): Manager {
  const file = path.join(baseDirectory(env, 'XDG_CONFIG_HOME', '.config'), 'systemd', 'user', UNIT);
  const runner = new Runner(env);
  const systemctl = (...words: string[]) => runner.must('systemctl', '--user', ...words);
  async function begin(how: 'start' | 'restart'): Promise<string[]> {
    try {
      return [await systemctl(how, UNIT)];
    } catch (error) {
      const why = (await propertiesOf(runner)).StatusText;
      throw why ? new AppError('internal', `the service did not start: ${why}`) : error;
    }
  }
  return {
    name: 'systemd',
    file,
    restartCommand: 'systemctl --user restart cadre',
    text: (start) => systemdUnit(start, { version, canNotify: canNotify(env) }),
    names(text, directory) {
      if (text.includes('--data-dir ')) return text.includes(`--data-dir ${argument(directory)} `);
      if (!text.includes(DATA_DIRECTORY)) return null;
      return text.includes(`${word(`${DATA_DIRECTORY}=${directory}`)}\n`);
    },
    assertReachable: () => assertReachable(runner),
    async enable() {
      const ran = [await systemctl('daemon-reload')];
      await assertRead(runner, file);
      return [...ran, await systemctl('enable', UNIT)];
    },
    start: () => begin('start'),
    // The unit has the signal.
    restart: () => begin('restart'),
    stop: async () => [await systemctl('stop', UNIT)],
    async remove(removeFile) {
      const ran = [await systemctl('disable', '--now', UNIT)];
      removeFile();
      return [...ran, await systemctl('daemon-reload')];
    },
    state: () => stateOf(runner),
    log: (lines, isFollowed) => ({
      command: 'journalctl',
      args: [
        // Not --user, which leaves out a journal that is kept in memory alone.
        '--user-unit',
        UNIT,
        '--output',
        'cat',
        '--lines',
        String(lines),
        ...(isFollowed ? ['--follow'] : ['--no-pager']),
      ],
      env,
    }),
    remark: lingering,
  };
}

/** Nearly every systemd brings the program; a unit that is printed here for another machine has it there. */
function canNotify({ PATH }: NodeJS.ProcessEnv): boolean {
  return findProgram('systemd-notify', PATH) !== null || findProgram('systemctl', PATH) === null;
}

async function assertReachable(runner: Runner): Promise<void> {
  const { code, stderr } = await runner.run('systemctl', '--user', 'show-environment');
  if (code === 0) return;
  throw unreachableError(
    `systemd does not run for this user (${stderr.trim().split('\n')[0]}): log in as this user without su or sudo, or start the server with cadre serve --detach`,
  );
}

/** Throws `conflict` where systemd takes the unit from another file, or does not look there. */
async function assertRead(runner: Runner, file: string): Promise<void> {
  const { FragmentPath: read } = await propertiesOf(runner);
  if (read && realPath(read) === realPath(file)) return;
  throw conflictError(
    read
      ? `systemd uses the unit file ${read} instead of ${file}: remove the file ${read}`
      : `systemd does not read the unit file ${file}: unset XDG_CONFIG_HOME, or set XDG_CONFIG_HOME for systemd too`,
  );
}

async function stateOf(runner: Runner): Promise<ServiceState | null> {
  const found = await propertiesOf(runner);
  if (found.LoadState !== 'loaded') return null;
  const pid = Number(found.MainPID);
  const failure = found.Result === 'success' ? '' : found.Result;
  const state = STATES[found.ActiveState ?? ''] ?? 'stopped';
  return {
    state,
    pid: pid > 0 ? pid : null,
    enabled: found.UnitFileState === 'enabled',
    // The last status text of the server does not apply to a stopped service.
    detail: state === 'stopped' ? null : found.StatusText || failure || null,
  };
}

const PROPERTIES = [
  'LoadState',
  'ActiveState',
  'MainPID',
  'UnitFileState',
  'StatusText',
  'Result',
  'FragmentPath',
];

/** The properties of the unit, by their names; none where systemd cannot be asked. */
async function propertiesOf(runner: Runner): Promise<Partial<Record<string, string>>> {
  const words = ['show', '--property', PROPERTIES.join(','), UNIT];
  const { stdout } = await runner.run('systemctl', '--user', ...words);
  return Object.fromEntries(
    stdout.split('\n').flatMap((line) => {
      const at = line.indexOf('=');
      return at > 0 ? [[line.slice(0, at), line.slice(at + 1)]] : [];
    }),
  ) as Partial<Record<string, string>>;
}

/** Without lingering, the services of a user end with their last session. */
function lingering(): string | null {
  const name = accountName();
  if (name === null || fs.existsSync(path.join('/var/lib/systemd/linger', name))) return null;
  return 'the service runs only while you are logged in: start it at boot with loginctl enable-linger';
}

function realPath(file: string): string {
  return fs.existsSync(file) ? fs.realpathSync(file) : file;
}

const ENDING = `# The server stops its agents first; then systemd stops the remaining processes. After a crash, the keeper stops the agents, which takes a moment.
ExecStop=/bin/sh -c 'kill -TERM "$$1"; while kill -0 "$$1" 2>/dev/null; do sleep 0.1; done' sh $MAINPID
KillMode=control-group`;

const OUTLIVING = `# Agents outlive the server for server.reattach_ms: systemd signals the server only. A restart leaves them to the next server.
KillMode=process
RestartKillSignal=SIGUSR2`;

/** `canNotify`: whether `systemd-notify` can report that the server is ready. */
interface UnitOptions {
  version: string;
  canNotify: boolean;
}

/**
 * The systemd user unit of the server; docs/decisions/056 has the reasons. Sandboxing that implies NoNewPrivileges is left
 * out, because the commands of agents may need sudo, rootless containers and namespaces.
 */
export function systemdUnit(
  { command, variables, variablesFile, agentsOutlive }: ServiceStart,
  { version, canNotify }: UnitOptions,
): string {
  const [program, ...words] = command;
  const environment = Object.entries(variables).map(
    ([name, value]) => `Environment=${word(`${name}=${value}`)}`,
  );
  const below = `# Put changes into a drop-in (systemctl --user edit cadre): cadre does not replace an edited copy of this file.

[Unit]
Description=cadre, a server for coding agents
StartLimitIntervalSec=2min
StartLimitBurst=6

[Service]
${readiness(canNotify)}
ExecStart=${[word(program), ...words.map((one) => argument(one))].join(' ')}
ExecReload=/bin/kill -HUP $MAINPID
${agentsOutlive ? OUTLIVING : ENDING}
TimeoutStartSec=5min
TimeoutStopSec=45s
TimeoutAbortSec=10s
SyslogIdentifier=cadre
Restart=on-failure
RestartSec=2s
# A restart does not fix an invalid configuration, or another server on the same data.
RestartPreventExitStatus=2 7
# If a build runs out of memory, the server must not be killed.
OOMPolicy=continue
# The memory of the server contains tokens. A command may raise the limit.
LimitCORE=0:infinity
${environment.join('\n')}
# Optional file for secret or user-specific variables, such as proxies.
EnvironmentFile=-${escaped(variablesFile)}

[Install]
WantedBy=default.target
`;
  return `# ${sealFor(below, version)}\n${below}`;
}

/** Messages come from a child of the server, the program systemd-notify, hence NotifyAccess=all. */
function readiness(canNotify: boolean): string {
  return canNotify ? 'Type=notify\nNotifyAccess=all\nWatchdogSec=2min' : 'Type=exec';
}

/** An argument as ExecStart has it, which replaces variables there, but not in the path of the program. */
function argument(text: string): string {
  return word(text.replaceAll('$', '$$$$'));
}

/** One word, in quotes where it needs them. */
function word(text: string): string {
  if (/^[\w@%+=:,./~$-]+$/.test(text)) return escaped(text);
  return `"${escaped(text).replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}

/** Without specifiers, which begin with a percent sign. */
function escaped(text: string): string {
  return text.replaceAll('%', '%%');
}
