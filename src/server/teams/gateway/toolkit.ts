import type { z } from 'zod';
import type { Session } from '../../../api/sessions.ts';
import type { ToolDescription } from '../../../api/tools.ts';

/** Who calls a tool: a session, or a program outside of cadre with a token of its own. */
export type Caller = SessionCaller | ExternalCaller;

interface AnyCaller {
  /** The owner of what it starts: the id of its session or of its token. */
  id: string;
  /** Aborts when the caller no longer waits for the answer. */
  signal: AbortSignal;
}

export interface SessionCaller extends AnyCaller {
  session: Session;
  /** Whether the call came with a token of the operator instead of the session's own. */
  isOperator: boolean;
  /** The permission mode of a token with the scope tools that the call came with: the stricter mode counts. */
  tokenMode?: string | null;
}

/** A caller without a session has no directory, no turn in which a person could be asked, and no team. */
interface ExternalCaller extends AnyCaller {
  session: null;
  isOperator: false;
  mode: string | null;
}

export type Answer = Record<string, unknown>;

/** Runs a tool with checked arguments. Throws ToolError or AppError. */
type Run<Description> =
  Description extends ToolDescription<infer Args>
    ? (args: z.output<Args>, caller: Caller) => Promise<Answer>
    : never;

export type Runs<Tools> = { [Name in keyof Tools]: Run<Tools[Name]> };

export interface Toolkit {
  namespace: string;
  /** Returns why none of the tools can be called at the moment; null if they can. */
  disabled(): string | null;
  descriptions: Readonly<Record<string, ToolDescription>>;
  runs: Readonly<Record<string, (args: never, caller: Caller) => Promise<Answer>>>;
}

/** Joins descriptions and functions; the compiler checks that each description has its function. */
export function toolkit<Tools extends Record<string, ToolDescription>>(kit: {
  namespace: string;
  disabled?: () => string | null;
  descriptions: Tools;
  runs: Runs<Tools>;
}): Toolkit {
  return { disabled: () => null, ...kit };
}
