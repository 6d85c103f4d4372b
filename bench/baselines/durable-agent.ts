import path from 'node:path';
import { PipedAgent } from './piped-agent.ts';
import { SyncedFile } from './synced-file.ts';

/** The agent on pipes, and a file: what a server that promises durability has to do at the least. */
export class DurableAgent {
  readonly #agent: PipedAgent;
  readonly #file: SyncedFile;

  private constructor(agent: PipedAgent, file: SyncedFile) {
    this.#agent = agent;
    this.#file = file;
  }

  static async start(directory: string): Promise<DurableAgent> {
    const file = new SyncedFile(path.join(directory, 'durable-agent.log'));
    return new DurableAgent(await PipedAgent.start(), file);
  }

  /** One more agent that appends to the same file. */
  async another(): Promise<DurableAgent> {
    return new DurableAgent(await PipedAgent.start(), this.#file);
  }

  async createSession(): Promise<void> {
    await this.#agent.createSession();
    await this.#file.append('a session\n');
  }

  /** Sends a prompt that is on disk; hands each word to `onWord` once it is. Resolves once the turn's end is. */
  async prompt(text: string, onWord: (text: string) => void): Promise<void> {
    await this.#file.append(`${text}\n`);
    const words: Promise<void>[] = [];
    await this.#agent.prompt(text, (word) => {
      words.push(this.#file.append(`${word}\n`).then(() => onWord(word)));
    });
    await Promise.all([...words, this.#file.append('the end\n')]);
  }

  end(): Promise<void> {
    return this.#agent.end();
  }
}
