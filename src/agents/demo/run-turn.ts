import type { PromptResponse, StopReason, Usage } from '@agentclientprotocol/sdk/unstable';
import { greeting, parseScript } from './script.ts';
import { countWords, type Turn } from './turn.ts';
import { runStep } from './steps.ts';

const contextSize = 200_000;

/** Runs a turn to its end. The prompt is stored before the first output is sent. */
export async function runTurn(turn: Turn): Promise<PromptResponse> {
  // A turn that was cancelled while it was queued never began, so it is not stored.
  if (turn.signal.aborted) return { stopReason: 'cancelled' };
  turn.session.beginTurn(turn.prompt.text);
  const stopReason = await runScript(turn).finally(() =>
    turn.session.endTurn(turn.messages, countedUsage(turn).totalTokens),
  );
  if (!turn.usage) {
    const used = turn.session.history.tokens;
    await turn.update({ sessionUpdate: 'usage_update', used, size: contextSize });
  }
  // Not awaited, because it happens outside any turn. It fails if the client has disconnected by then.
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
    // An abort makes each step throw a different error; all of them mean that the turn was cancelled.
    if (turn.signal.aborted) return 'cancelled';
    throw error;
  }
}

/** Usage by the agent's own count: each word of the prompt and each chunk of the reply is one token. */
function countedUsage({ prompt, chunks }: Turn): Usage {
  const inputTokens = countWords(prompt.text);
  return { inputTokens, outputTokens: chunks, totalTokens: inputTokens + chunks };
}

/** Usage as the script's `usage` command set it. */
function scriptedUsage({ usage, chunks }: Turn): Usage | undefined {
  if (!usage) return undefined;
  const outputTokens = Math.min(chunks, usage.used);
  return { inputTokens: usage.used - outputTokens, outputTokens, totalTokens: usage.used };
}
