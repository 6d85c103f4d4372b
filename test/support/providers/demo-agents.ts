import fs from 'node:fs';
import path from 'node:path';
import { selfCommand } from '../../../src/core/lib/self.ts';

/** The configuration of the demo agent as an ACP agent. */
export function demoSection(more: object = {}): object {
  const { file, args } = selfCommand();
  return { command: file, args: [...args, 'demo-agent'], ...more };
}

/** Puts the demo agent on a PATH under the name of another program; returns that PATH. */
export function pathWith(directory: string, ...programs: string[]): string {
  const { file, args } = selfCommand();
  const line = [file, ...args, 'demo-agent'].map((word) => `'${word}'`).join(' ');
  for (const program of programs) putProgram(directory, program, `exec ${line}`);
  return `${directory}:${process.env.PATH}`;
}

/** Writes a program that is a line of shell. */
export function putProgram(directory: string, program: string, line: string): void {
  fs.writeFileSync(path.join(directory, program), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
}
