import { errorMessage } from '../../../core/lib/error-message.ts';
import { configOption } from '../output-options.ts';
import { agentFindings, providerFindings, rules, server } from '../doctor/server.ts';
import {
  configuration,
  dataDirectory,
  diskSpace,
  registration,
  token,
  git,
  node,
  prerequisites,
  sandbox,
} from '../doctor/machine.ts';
import {
  type Check,
  fail,
  type Finding,
  type CheckInput,
  checkInput,
  type CheckResult,
} from '../doctor/check.ts';
import { localCommand } from '../command.ts';
import type { GlobalOptions } from '../context.ts';
import { exitCodes } from '../exit.ts';
import { type Layout, stateStyle } from '../layout.ts';
import { plain } from '../output.ts';
import type { LocalContext } from '../command-io.ts';

const checks: Record<string, Check> = {
  node,
  prerequisites,
  git,
  configuration,
  'data directory': dataDirectory,
  'disk space': diskSpace,
  token,
  registration,
  sandbox,
  server,
};

export const doctorCommand = localCommand({
  name: 'doctor',
  description: 'Check this machine and print fixes (exit code 1 on failure)',
  parameters: [
    configOption,
    '--agents  Also start each agent, and open a session with each ACP agent',
  ],
  async run({ io, global, show, layout }: LocalContext<GlobalOptions & { agents?: boolean }>) {
    const input = checkInput(io, global);
    const findings = await allFindings(input);
    if (global.agents) findings.push(...(await agentFindings(input)));
    const passed = findings.every(({ status }) => status !== 'fail');
    show({ ok: passed, checks: findings }, () => linesOf(findings, layout));
    if (!passed) io.exit(exitCodes.failed);
  },
});

async function allFindings(input: CheckInput): Promise<Finding[]> {
  const findingOf = async (name: string, check: Check) => [
    { check: name, ...(await resultOf(check, input)) },
  ];
  const found = await Promise.all([
    ...Object.entries(checks).map(([name, check]) => findingOf(name, check)),
    providerFindings(input),
    findingOf('rules', rules),
  ]);
  return found.flat();
}

async function resultOf(check: Check, input: CheckInput): Promise<CheckResult> {
  try {
    return await check(input);
  } catch (error) {
    return fail(errorMessage(error));
  }
}

function linesOf(findings: readonly Finding[], { palette }: Layout): string {
  const width = Math.max(14, ...findings.map(({ check }) => check.length));
  return findings
    .map(({ status, check, detail }) => {
      const text = plain(detail).replaceAll(/\s+/g, ' ');
      return `${stateStyle(palette, status)(status.padEnd(4))}  ${check.padEnd(width)}  ${text}\n`;
    })
    .join('');
}
