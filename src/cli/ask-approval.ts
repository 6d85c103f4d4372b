import { createInterface } from 'node:readline/promises';
import type { Approval } from '../api/approvals.ts';
import { endpoints } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import { AppError } from '../errors.ts';
import { plain } from './output.ts';
import type { World } from './world.ts';

/** Asks on the terminal for the approvals of a turn. Without a terminal it prints the command that answers one. */
export class ApprovalAsker {
  readonly #world: World;
  readonly #client: Client;
  readonly #questions = new Map<string, AbortController>();

  constructor(world: World, client: Client) {
    this.#world = world;
    this.#client = client;
  }

  /** Shows a new approval and asks for the answer. Returns before the answer is given. */
  asked(approval: Approval): void {
    const { stdin, stderr } = this.#world;
    stderr.write(`\n[${approval.kind}] the agent asks: ${plain(approval.title)}\n`);
    if (stdin.isTTY && stderr.isTTY && approval.kind !== 'question') void this.#ask(approval);
    else stderr.write(`  answer with: cadre approvals accept ${approval.id}   (or decline)\n`);
  }

  /** Shows how an approval was resolved, and withdraws the question if it is still on the terminal. */
  resolved({ id, status }: Pick<Approval, 'id' | 'status'>): void {
    this.#questions.get(id)?.abort();
    this.#world.stderr.write(`  ${status}\n`);
  }

  async #ask({ id, session_id }: Approval): Promise<void> {
    const moot = new AbortController();
    this.#questions.set(id, moot);
    const lines = createInterface({ input: this.#world.stdin, output: this.#world.stderr });
    try {
      const answer = await lines.question('  allow it, for this once? [y/N] ', {
        signal: moot.signal,
      });
      const decision = /^y(es)?$/i.test(answer.trim()) ? 'accept' : 'decline';
      const params = { session_id, approval_id: id };
      await this.#client.call(endpoints.decideApproval, { params, body: { decision } });
    } catch (error) {
      // The question was withdrawn, or the approval was resolved elsewhere: `resolved` has shown that already.
      if (error instanceof AppError && error.code !== 'approval_resolved') {
        this.#world.stderr.write(`cadre: ${error.message}\n`);
      }
    } finally {
      lines.close();
      this.#questions.delete(id);
    }
  }
}
