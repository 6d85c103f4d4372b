import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { launchAgent, launchd } from '../../../src/frontends/cli/service/launchd.ts';
import { sealOf } from '../../../src/frontends/service/sealed.ts';
import {
  lastingFile,
  type ServiceStart,
  settingsLeftBehind,
  variablesOf,
} from '../../../src/frontends/service/start.ts';
import { systemdUnit } from '../../../src/frontends/cli/service/systemd.ts';
import { python } from '../../support/python.ts';
import { tempDirectory, testDirectory } from '../../support/temp.ts';

const hasAnalyze = spawnSync('systemd-analyze', ['--version']).status === 0;
const hasPython = spawnSync(python, ['-ISc', 'import plistlib']).status === 0;

const start: ServiceStart = {
  command: ['/c'],
  variables: {},
  variablesFile: '/e',
  log: '/l',
  agentsOutlive: false,
};

/** A start whose paths have special characters. */
function odd(directory: string): ServiceStart {
  const program = path.join(directory, 'my 100% $HOME');
  fs.writeFileSync(program, '', { mode: 0o755 });
  return {
    command: [program, 'serve', '--config', "it's $1 & <50%>.toml"],
    variables: { PATH: '/usr/bin:/opt/my tools/bin', ODD: '%h "$HOME" \\n <&>' },
    variablesFile: path.join(directory, 'service.env'),
    log: path.join(directory, 'serve.log'),
    agentsOutlive: false,
  };
}

test.skipIf(!hasAnalyze).for([
  [true, false],
  [false, true],
] as const)(
  'The systemd unit is valid for systemd, even with unusual paths (Type=notify: %s, agents outlive the server: %s).',
  async ([canNotify, agentsOutlive]) => {
    await using place = tempDirectory('unit');
    const unit = path.join(place.path, 'cadre.service');
    const given = { ...odd(place.path), agentsOutlive };
    fs.writeFileSync(unit, systemdUnit(given, { version: '1.2.3', canNotify }));
    const found = spawnSync('systemd-analyze', ['verify', '--user', unit], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, HOME: place.path, XDG_RUNTIME_DIR: place.path },
    });
    expect(found).toMatchObject({ status: 0, stdout: '', stderr: '' });
  },
);

test('The launchd agent names its data directory.', () => {
  const { text, names } = launchd({ HOME: '/home/ada' });
  const agent = text({ ...start, log: '/srv/a & b/serve.log' });
  expect(['/srv/a & b', '/srv/a'].map((directory) => names(agent, directory))).toEqual([
    true,
    false,
  ]);
});

test('The systemd unit has Type=notify only if systemd-notify is installed.', () => {
  const notifying = systemdUnit(start, { version: '1', canNotify: true });
  expect(notifying).toMatch(/^Type=notify\nNotifyAccess=all\nWatchdogSec=2min$/m);
  expect(systemdUnit(start, { version: '1', canNotify: false })).not.toMatch(/notify|Watchdog/);
});

test('The systemd unit leaves agents to the next server only if they may outlive the server.', () => {
  const options = { version: '1', canNotify: true };
  expect(systemdUnit(start, options)).toMatch(/^ExecStop=.*\nKillMode=control-group$/m);
  const outliving = systemdUnit({ ...start, agentsOutlive: true }, options);
  expect(outliving).toMatch(/^KillMode=process\nRestartKillSignal=SIGUSR2$/m);
  expect(outliving).not.toContain('ExecStop=');
});

test.skipIf(!hasPython)(
  'The launchd agent is a property list with the same command and variables.',
  async () => {
    const { command, variables, log, ...rest } = odd(testDirectory('agent'));
    const { stdout, stderr } = spawnSync(
      python,
      [
        '-ISc',
        'import json, plistlib, sys; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))',
      ],
      {
        input: launchAgent({ command, variables, log, ...rest }, { version: '1.2.3' }),
        encoding: 'utf8',
      },
    );
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual({
      Label: 'cadre.server',
      ProgramArguments: command,
      EnvironmentVariables: variables,
      RunAtLoad: true,
      KeepAlive: { SuccessfulExit: false },
      ThrottleInterval: 10,
      ExitTimeOut: 45,
      StandardOutPath: log,
      StandardErrorPath: log,
    });
  },
);

test('A service file counts as ours until it is changed, whoever wrote its first lines.', () => {
  const options = { version: '1', canNotify: true };
  for (const text of [systemdUnit(start, options), launchAgent(start, options)]) {
    expect(sealOf(text)).toBe('ours');
    expect(sealOf(`${text} `)).toBe('edited');
    expect(sealOf(text.replace('/c', '/d'))).toBe('edited');
    expect(sealOf(text.slice(text.indexOf('\n') + 1).replace(/^<!--.*\n/, ''))).toBe('foreign');
  }
  expect(sealOf('')).toBe('foreign');
});

test('The variables are PATH and directories without secrets, and left-out settings are named.', () => {
  const env = {
    PATH: '/opt/a:relative:/opt/b::/opt/a:.',
    XDG_DATA_HOME: '/data',
    CADRE_CONFIG: '/etc/cadre.toml',
    CADRE_AUTH_TOKEN: 'secret',
    CADRE_LOG_LEVEL: 'debug',
    ANTHROPIC_API_KEY: 'secret',
    HTTPS_PROXY: 'http://me:secret@127.0.0.1:1',
  };
  expect(variablesOf(env)).toEqual({
    PATH: '/opt/a:/opt/b',
    XDG_DATA_HOME: '/data',
    CADRE_CONFIG: '/etc/cadre.toml',
  });
  expect(settingsLeftBehind(env)).toEqual(['CADRE_AUTH_TOKEN', 'CADRE_LOG_LEVEL']);
  // Programs ignore relative paths in variables of XDG, and resolve others.
  const relative = { XDG_DATA_HOME: 'data', XDG_CONFIG_HOME: './config', CADRE_CONFIG: 'c.toml' };
  expect(variablesOf(relative)).toEqual({
    PATH: '/usr/local/bin:/usr/bin:/bin',
    CADRE_CONFIG: path.resolve('c.toml'),
  });
  expect(variablesOf({})).toEqual({ PATH: '/usr/local/bin:/usr/bin:/bin' });
});

test('The variables have permanent directories if a version manager links one per shell.', async () => {
  const [installed, shell] = ['versions/24/bin', 'fnm_multishells/1_2'].map((name) =>
    path.join(testDirectory('path'), name),
  ) as [string, string];
  fs.mkdirSync(installed, { recursive: true });
  fs.mkdirSync(path.dirname(shell), { recursive: true });
  fs.symlinkSync(path.dirname(installed), shell);
  expect(variablesOf({ PATH: `${shell}/bin:/usr/bin` }).PATH).toBe(`${installed}:/usr/bin`);
  const node = path.join(installed, 'node');
  fs.writeFileSync(node, '');
  expect(lastingFile(node, `${shell}/bin`)).toBe(node);
});

test('The service starts the link that an upgrade replaces, not the file of one version.', async () => {
  await using place = tempDirectory('path');
  const [bin, version] = [path.join(place.path, 'bin'), path.join(place.path, 'cellar')];
  for (const directory of [bin, version]) fs.mkdirSync(directory);
  const file = path.join(version, 'cadre');
  fs.writeFileSync(file, '');
  expect(lastingFile(file, bin)).toBe(file);
  fs.writeFileSync(path.join(bin, 'cadre'), '');
  expect(lastingFile(file, bin)).toBe(file);
  fs.rmSync(path.join(bin, 'cadre'));
  fs.symlinkSync(file, path.join(bin, 'cadre'));
  expect(lastingFile(file, `/nowhere:${bin}`)).toBe(path.join(bin, 'cadre'));
});
