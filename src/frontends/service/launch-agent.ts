import { sealFor } from './sealed.ts';
import type { ServiceStart } from './start.ts';

/** The name by which launchd knows the server. */
export const LABEL = 'cadre.server';

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
