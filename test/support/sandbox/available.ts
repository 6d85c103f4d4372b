import { probeBriefly } from '../../../src/core/children/sandbox/run-probe.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';

const level = await probeBriefly(
  { searchPath: process.env.PATH ?? '', network: 'none', nests: false },
  systemClock,
);

/** Whether this machine allows a sandbox. `make sandbox` fails without one; other runs skip its tests. */
export const hasSandbox = level.level !== 'none';

if (level.level === 'none' && process.env.SANDBOX_TESTS === 'required')
  throw new Error(`no sandbox is available: ${level.reason} (${level.help})`);

/** The configuration of a server that requires a sandbox. */
export const required = (more: Record<string, unknown> = {}) => ({
  sandbox: { mode: 'require', ...more },
});
