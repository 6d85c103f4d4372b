import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

/** A transcript of Claude Code in a home directory, which grows as if the program wrote it. */
export class Transcript {
  readonly ref = randomUUID();
  readonly file: string;
  readonly #cwd: string;
  parent: string | null = null;
  #at: number;

  constructor(home: string, { cwd = home, at = Date.UTC(2026, 0, 1) } = {}) {
    this.#cwd = cwd;
    this.#at = at;
    const project = path.join(home, '.claude', 'projects', cwd.replaceAll(/[^a-zA-Z0-9]/g, '-'));
    fs.mkdirSync(project, { recursive: true });
    this.file = path.join(project, `${this.ref}.jsonl`);
    fs.writeFileSync(this.file, '');
  }

  /** Adds a row of the conversation; returns its id. */
  row(type: string, content: unknown, more: object = {}): string {
    const uuid = randomUUID();
    this.add({
      uuid,
      parentUuid: this.parent,
      type,
      isSidechain: false,
      timestamp: new Date((this.#at += 1000)).toISOString(),
      cwd: this.#cwd,
      entrypoint: 'cli',
      sessionId: this.ref,
      message: { role: type, content, stop_reason: stopOf(content) },
      ...more,
    });
    this.parent = uuid;
    return uuid;
  }

  add(row: object): void {
    fs.appendFileSync(this.file, `${JSON.stringify(row)}\n`);
  }

  /** Adds a prompt and its answer; returns the id of the prompt. */
  turn(prompt: string, answer = `answer to ${prompt}`): string {
    const ref = this.row('user', prompt);
    this.row('assistant', [{ type: 'text', text: answer }]);
    return ref;
  }

  /** Continues the times of the rows at a time. */
  moveTo(at: number): void {
    this.#at = at;
  }
}

/** Registers a process as the one that has a transcript open; returns the file of the registry. */
export function openElsewhere(home: string, ref: string, pid: number): string {
  const directory = path.join(home, '.claude', 'sessions');
  fs.mkdirSync(directory, { recursive: true });
  const file = path.join(directory, `${pid}.json`);
  fs.writeFileSync(
    file,
    JSON.stringify({ pid, sessionId: ref, status: 'idle', kind: 'interactive' }),
  );
  return file;
}

function stopOf(content: unknown): string {
  return JSON.stringify(content).includes('"tool_use"') ? 'tool_use' : 'end_turn';
}
