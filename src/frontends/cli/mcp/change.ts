import fs from 'node:fs';
import path from 'node:path';
import { AppError } from '../../../api/errors.ts';
import { findProgram } from '../../../core/lib/find-program.ts';
import { makeDirectory } from '../../../core/lib/make-directory.ts';
import { plain } from '../../../core/lib/plain.ts';
import { runAndRead } from '../run-program.ts';
import { fileToChange, fileWithEntry, type McpAgent, type ServerStart } from './agents.ts';

/** Writes the entry, in place of an earlier one. Throws where the agent is not installed or refuses it. */
export async function addEntry(
  agent: McpAgent,
  server: ServerStart,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const program = programOf(agent, env);
  const { own, edit } = agent;
  if (!own) return changeFile(fileToChange(agent, env), (text) => edit?.add(text, server) ?? text);
  // Some agents refuse a name that they have.
  if (fileWithEntry(agent, env) !== null) await run(program, own.remove, env);
  await run(program, own.add(server), env);
}

/** Removes the entry; false where there is none. Throws where the agent is not installed or refuses. */
export async function removeEntry(agent: McpAgent, env: NodeJS.ProcessEnv): Promise<boolean> {
  const file = fileWithEntry(agent, env);
  if (file === null) return false;
  const { own, edit } = agent;
  if (own) await run(programOf(agent, env), own.remove, env);
  else changeFile(file, (text) => edit?.remove(text) ?? text);
  return true;
}

/** What `addEntry` would do, for people. */
export function plannedChange(
  agent: McpAgent,
  server: ServerStart,
  env: NodeJS.ProcessEnv,
): { command: string[] | null; file: string; content: string | null } {
  const file = fileToChange(agent, env);
  if (agent.own) return { command: [agent.command, ...agent.own.add(server)], file, content: null };
  const text = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '';
  return { command: null, file, content: agent.edit?.add(text, server) ?? null };
}

/** The file of the agent's command. Throws `usage` where it is not installed. */
export function programOf({ name, command }: McpAgent, env: NodeJS.ProcessEnv): string {
  const program = findProgram(command, env.PATH);
  if (program !== null) return program;
  throw new AppError(
    'usage',
    `the program of ${name} was not found on PATH: install ${name} first`,
  );
}

async function run(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const { code, stdout, stderr } = await runAndRead({ command: program, args, env });
  if (code === 0) return;
  const said = plain((stderr.trim() || stdout.trim()).split('\n').slice(-3).join(' '));
  const shown = [path.basename(program), ...args.slice(0, 2)].join(' ');
  throw new AppError(
    'provider_unavailable',
    `the command ${shown} exited with code ${code}: ${said}`,
  );
}

/** Changes a file at once, with its rights, and where a link leads to. Throws `invalid`, naming the file. */
function changeFile(name: string, change: (text: string) => string): void {
  const exists = fs.existsSync(name);
  const file = exists ? fs.realpathSync(name) : name;
  const before = exists ? fs.readFileSync(file, 'utf8') : '';
  let after: string;
  try {
    after = change(before);
  } catch (error) {
    if (error instanceof AppError) throw new AppError(error.code, `${name}: ${error.message}`);
    throw error;
  }
  if (exists && after === before) return;
  makeDirectory(path.dirname(file), 0o777);
  const draft = `${file}.cadre-${process.pid}`;
  const mode = exists ? fs.statSync(file).mode & 0o777 : 0o600;
  fs.writeFileSync(draft, after, { flag: 'wx', mode, flush: true });
  fs.renameSync(draft, file);
}
