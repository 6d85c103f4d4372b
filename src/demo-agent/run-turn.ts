import type { PromptResponse, StopReason, Usage } from '@agentclientprotocol/sdk/unstable';
import { greeting } from './greeting.ts';
import { countWords } from './prompt.ts';
import { parseScript } from './script.ts';
import { runStep } from './steps/index.ts';
import type { Turn } from './turn.ts';

const contextSize = 200_000;

/** Runs a turn from its prompt to its answer. The history has the prompt before anything is said. */
export async function runTurn(turn: Turn): Promise<PromptResponse> {
  // Cancelled while it was queued: it was never begun, so the session does not remember it.
  if (turn.signal.aborted) return { stopReason: 'cancelled' };
  turn.session.beginTurn(turn.prompt.text);
  const stopReason = await runScript(turn).finally(() =>
    turn.session.endTurn(turn.messages, countedUsage(turn).totalTokens),
  );
  if (!turn.usage) {
    const used = turn.session.history.tokens;
    await turn.update({ sessionUpdate: 'usage_update', used, size: contextSize });
  }
  // Not waited for: it is what happens outside any turn. It fails when the client is gone by then.
  turn.afterwards?.().catch(() => undefined);
  return { stopReason, usage: scriptedUsage(turn) ?? countedUsage(turn) };
}

async function runScript(turn: Turn): Promise<StopReason> {
  const script = parseScript(turn.prompt.text);
  try {
    if (script.length === 0) await turn.say(greeting(turn.prompt.text));
    for (const command of script) {
      turn.signal.throwIfAborted();
      const stopReason = await runStep(command, turn);
      if (stopReason) return stopReason;
    }
    turn.signal.throwIfAborted();
    return 'end_turn';
  } catch (error) {
    // Every step fails in its own way when the turn is to end; none of them is an error then.
    if (turn.signal.aborted) return 'cancelled';
    throw error;
  }
}

/** A token is a word of the prompt, or a chunk of the answer. */
function countedUsage({ prompt, chunks }: Turn): Usage {
  const inputTokens = countWords(prompt.text);
  return { inputTokens, outputTokens: chunks, totalTokens: inputTokens + chunks };
}

function scriptedUsage({ usage, chunks }: Turn): Usage | undefined {
  if (!usage) return undefined;
  const outputTokens = Math.min(chunks, usage.used);
  return { inputTokens: usage.used - outputTokens, outputTokens, totalTokens: usage.used };
}
