// opencode loads this as a plugin, which brings it to what it does not do by itself. The first line of a prompt
// may be an order:
//
// - `order: noise TEXT` writes the text among its messages, once a tool has run
// - `order: later PROMPT` continues with another prompt, once the turn has ended
// - `order: dawdle FILE` makes the file, waits for an interrupt, and then begins as if there had been none
import { writeFileSync } from 'node:fs';

/** The part that is used here of opencode's interface for plugins. */
interface Opencode {
  client: {
    session: {
      prompt(request: { path: { id: string }; body: { parts: Part[] } }): Promise<unknown>;
    };
  };
}
interface Part {
  type: string;
  text?: string;
}
interface OpencodeEvent {
  type: string;
  properties: { sessionID?: string };
}

export async function followOrders({ client }: Opencode) {
  const noises = new Map<string, string>();
  /** By session: what is done when it is idle, as it also is when it is interrupted before it has begun. */
  const whenIdle = new Map<string, () => unknown>();

  return {
    async 'chat.message'({ sessionID: id }: { sessionID: string }, { parts }: { parts: Part[] }) {
      const [, order, rest = ''] = /^order: (\w+) (.+)/.exec(parts[0]?.text ?? '') ?? [];
      if (order === 'noise') noises.set(id, rest);
      if (order === 'later') {
        const body = { parts: [{ type: 'text', text: rest }] };
        whenIdle.set(id, () => client.session.prompt({ path: { id }, body }));
      }
      if (order === 'dawdle') {
        const interrupted = Promise.withResolvers<void>();
        whenIdle.set(id, interrupted.resolve);
        writeFileSync(rest, '');
        await interrupted.promise;
      }
    },

    async 'tool.execute.after'({ sessionID }: { sessionID: string }, result: { output: string }) {
      const noise = noises.get(sessionID);
      if (noise === undefined) return;
      process.stdout.write(`${noise}\n`);
      result.output = 'there was noise';
    },

    async event({ event }: { event: OpencodeEvent }) {
      const { sessionID = '' } = event.properties;
      if (event.type !== 'session.idle') return;
      const act = whenIdle.get(sessionID);
      whenIdle.delete(sessionID);
      await act?.();
    },
  };
}
