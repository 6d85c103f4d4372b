import { z } from 'zod';
import {
  failed,
  limited,
  type ReportedLimit,
  type TurnOutcome,
  unknownLimit,
} from '../provider.ts';
import { shorten } from '../../core/lib/shorten.ts';
import { loginHint, type LoginSituation, missingVariable } from '../login-watch.ts';
import { maybe, maybeText } from '../lenient.ts';

const turnError = z.looseObject({
  message: z.string(),
  codexErrorInfo: z.unknown().optional(),
  additionalDetails: maybeText,
});

export type TurnError = z.output<typeof turnError>;

const errorNotice = z.looseObject({ error: turnError, willRetry: z.boolean().catch(false) });

/** The error in an `error` notification, which comes before the turn ends; null where codex tries again. */
export function readError(params: unknown): TurnError | null {
  const { data } = errorNotice.safeParse(params);
  return data && !data.willRetry ? data.error : null;
}

const DETAIL_CHARACTERS = 200;

/** Returns the text for an error after which codex tries again; null for any other error. */
export function readRetry(params: unknown): string | null {
  const { data } = errorNotice.safeParse(params);
  if (!data?.willRetry) return null;
  const { message, additionalDetails } = data.error;
  const attempt = /\d+\/\d+/.exec(message)?.[0];
  const what = attempt === undefined ? message : `stream error, retry ${attempt}`;
  return shorten(
    `codex: ${what}${additionalDetails ? `: ${additionalDetails}` : ''}`,
    DETAIL_CHARACTERS,
  );
}

const ended = z.looseObject({
  turn: z.looseObject({
    id: z.string(),
    status: z.string().catch(''),
    error: maybe(turnError),
  }),
});

/** The id of the turn that a message describes; null where it describes none. */
export function turnIn(params: unknown): string | null {
  return ended.safeParse(params).data?.turn.id ?? null;
}

/**
 * Returns the outcome of a turn. `earlier`: the newest error that codex has reported for the turn; `limit`: its report
 * about limits.
 */
export function outcomeOf(
  params: unknown,
  earlier: TurnError | null,
  login: LoginSituation,
  limit: () => ReportedLimit = () => unknownLimit,
): TurnOutcome {
  const turn = ended.safeParse(params).data?.turn;
  switch (turn?.status) {
    case 'completed':
      return { status: 'completed', error: null, ref: turn.id };
    case 'interrupted':
      return { status: 'interrupted', error: null };
    default: {
      const error = turn?.error ?? earlier;
      if (error?.codexErrorInfo === 'usageLimitExceeded')
        return limited('codex', error.message, limit());
      const way = error && wayToLogIn(error, login);
      return way
        ? failed('auth_required', `codex failed: ${reasonOf(error)}: ${way}`)
        : failed('provider_error', `codex failed: ${reasonOf(error)}`);
    }
  }
}

function reasonOf(error: TurnError | null): string {
  if (!error) return 'no reason given';
  const kind = kindOf(error.codexErrorInfo);
  const details = error.additionalDetails ? `: ${error.additionalDetails}` : '';
  const remedy = kind === 'contextWindowExceeded' ? ': continue in a new session' : '';
  return `${error.message}${details}${kind ? ` (${kind})` : ''}${remedy}`;
}

/** Codex names the kind of an error by a word, or by an object with that word as its only key. */
function kindOf(info: unknown): string | undefined {
  if (typeof info === 'string') return info;
  return info && typeof info === 'object' ? Object.keys(info)[0] : undefined;
}

const LOGOUT_WORDS =
  /\b401\b|"httpStatusCode":401|not logged in|(log|sign) ?in again|access token could not be refreshed/i;

/** The variable of the key that codex's own configuration names (`env_key`), where codex does not have it. */
const MISSING_WORDS = /missing environment variable:? `?(\w+)/i;

/** How to log in, where a turn failed because nobody is; null for any other failure. */
function wayToLogIn(error: TurnError, login: LoginSituation): string | null {
  const [, variable] = MISSING_WORDS.exec(error.message) ?? [];
  if (variable !== undefined) return missingVariable(login, variable);
  return isLogout(error) ? loginHint(login) : null;
}

/** Reports whether a request was refused because nobody is logged in, or the login has ended. */
function isLogout({ message, codexErrorInfo: info }: TurnError): boolean {
  return kindOf(info) === 'unauthorized' || LOGOUT_WORDS.test(message + JSON.stringify(info));
}
