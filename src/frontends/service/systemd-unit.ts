import { sealFor } from './sealed.ts';
import type { ServiceStart } from './start.ts';

/** How a unit learns that the server is ready: told by `systemd-notify`, or not at all where that is not installed. */
export interface UnitOptions {
  version: string;
  canNotify: boolean;
}

/**
 * The systemd user unit of the server; docs/decisions/056 has the reasons. Sandboxing that implies NoNewPrivileges is left
 * out, because the commands of agents may need sudo, rootless containers and namespaces.
 */
export function systemdUnit(
  { command, variables, variablesFile }: ServiceStart,
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
# The server stops its agents first; then systemd stops the remaining processes. After a crash, the keeper stops the agents, which takes a moment.
ExecStop=/bin/sh -c 'kill -TERM "$$1"; while kill -0 "$$1" 2>/dev/null; do sleep 0.1; done' sh $MAINPID
KillMode=control-group
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
