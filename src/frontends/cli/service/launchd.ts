import fs from 'node:fs';
import path from 'node:path';
import { unreachableError } from '../../../api/errors.ts';
import { systemClock } from '../../../core/lib/clock.ts';
import { logFile } from '../../../core/lib/own-log.ts';
import { homeDirectory } from '../../../core/lib/home-directory.ts';
import { version } from '../../../core/lib/self.ts';
import { followedFile, type Manager, Runner, type ServiceState } from './manager.ts';
import { sealFor } from '../../service/sealed.ts';
import type { ServiceStart } from '../../service/start.ts';

/** launchd of macOS, for the graphical session of the user. */
export function launchd(env: NodeJS.ProcessEnv): Manager {
  const file = path.join(homeDirectory(env), 'Library', 'LaunchAgents', `${LABEL}.plist`);
  const domain = `gui/${process.getuid?.() ?? 0}`;
  const service = `${domain}/${LABEL}`;
  const runner = new Runner(env);
  const launchctl = (...words: string[]) => runner.must('launchctl', ...words);
  const isLoaded = async () => (await runner.run('launchctl', 'print', service)).code === 0;
  return {
    name: 'launchd',
    file,
    restartCommand: `launchctl kickstart -k ${service}`,
    text: (start) => launchAgent(start, { version }),
    names: (text, directory) => text.includes(xml(logFile(directory))),
    async assertReachable() {
      const { code } = await runner.run('launchctl', 'print', domain);
      if (code !== 0)
        throw unreachableError(
          'launchd has no graphical session for this user: log in on the desktop of this machine, or start the server with cadre serve --detach',
        );
    },
    // A file in that directory is read at each login.
    enable: async () => [await launchctl('enable', service)],
    async start() {
      // A service that runs with the previous file ends first.
      const ran = (await isLoaded()) ? [await launchctl('bootout', service)] : [];
      return [...ran, await launchctl('bootstrap', domain, file)];
    },
    stop: async () => [await launchctl('kill', 'SIGTERM', service)],
    async restart(handsOver) {
      const ran = [await launchctl('kill', handsOver ? 'SIGUSR2' : 'SIGTERM', service)];
      // launchd does not start a service again that has exited with 0.
      for (let waited = 0; waited < EXIT_SECONDS * 1000; waited += ENDS_MS) {
        const { stdout } = await runner.run('launchctl', 'print', service);
        if (printedState(stdout).pid === null) break;
        await systemClock.sleep(ENDS_MS);
      }
      return [...ran, await launchctl('kickstart', '-k', service)];
    },
    async remove(removeFile) {
      const ran = (await isLoaded()) ? [await launchctl('bootout', service)] : [];
      removeFile();
      return ran;
    },
    async state() {
      const { code, stdout } = await runner.run('launchctl', 'print', service);
      if (code === 0) return printedState(stdout);
      return fs.existsSync(file)
        ? { state: 'stopped', pid: null, enabled: true, detail: null }
        : null;
    },
    log: (lines, isFollowed, log) => followedFile(log, lines, isFollowed, env),
    remark: () => 'the service runs while you are logged in at the screen',
  };
}

/** The state in the output of `launchctl print`, which is a text for people: a missing value counts as stopped. */
export function printedState(text: string): ServiceState {
  const value = (name: string) => new RegExp(`^\\t${name} = (.*)$`, 'm').exec(text)?.[1] ?? null;
  const pid = Number(value('pid'));
  const code = value('last exit code');
  const hasFailed = code !== null && /^[1-9]/.test(code);
  return {
    state: pid > 0 ? 'running' : hasFailed ? 'failed' : 'stopped',
    pid: pid > 0 ? pid : null,
    enabled: true,
    detail: hasFailed ? `exited with code ${code}` : null,
  };
}

const LABEL = 'cadre.server';

/** The time between two looks at a service that ends, in milliseconds. */
const ENDS_MS = 100;

/** A stop takes up to this many seconds before launchd kills the server. */
const EXIT_SECONDS = 45;

type Value = string | number | boolean | readonly string[] | { readonly [key: string]: Value };

/**
 * The property list of the server's launchd agent. It starts the server at login, and again after it has failed. The keeper
 * leads a session of its own, so launchd, which ends the process group of the server, leaves it its time.
 */
export function launchAgent(
  { command, variables, log }: ServiceStart,
  { version }: { version: string },
): string {
  const job = {
    Label: LABEL,
    ProgramArguments: command,
    EnvironmentVariables: variables,
    RunAtLoad: true,
    KeepAlive: { SuccessfulExit: false },
    ThrottleInterval: 10,
    ExitTimeOut: EXIT_SECONDS,
    StandardOutPath: log,
    StandardErrorPath: log,
  };
  const below = `<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
${xml(job)}
</plist>
`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<!-- ${sealFor(below, version)} -->\n${below}`;
}

function xml(value: Value): string {
  if (typeof value === 'string') return `<string>${escaped(value)}</string>`;
  if (typeof value === 'number') return `<integer>${value}</integer>`;
  if (typeof value === 'boolean') return `<${value}/>`;
  if (isList(value)) return `<array>\n${value.map((one) => `${xml(one)}\n`).join('')}</array>`;
  const entries = Object.entries(value).map(
    ([key, one]) => `<key>${escaped(key)}</key>\n${xml(one)}\n`,
  );
  return `<dict>\n${entries.join('')}</dict>`;
}

function isList(value: Value): value is readonly string[] {
  return Array.isArray(value);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
