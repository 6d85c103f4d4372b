import { lettersOfMode } from '../../api/permission-modes.ts';
import type { TurnSettings } from '../provider.ts';
import type { AgentModes } from './catalogue-entry.ts';
import type { Offered } from './options.ts';
import { ownEntry } from '../../core/lib/own-entry.ts';

/** Modes that have two names: an agent may know either. */
const aliases: Readonly<Record<string, string>> = {
  accept_edits: 'workspace_write',
  workspace_write: 'accept_edits',
  bypass: 'full_access',
  full_access: 'bypass',
};

/**
 * The mode that an agent has to be in for the settings; null: the one that the session began with. `agent_mode` is the
 * agent's own name for it. `permission_mode` says who is asked, and names a mode of the agent besides: the one that
 * `modes` says, else the agent's mode of that name. Nothing is named by `default`, nor by `require_approval` where it is
 * not known in which mode the agent asks. A name that the agent does not offer is returned as it is.
 */
export function modeFor(
  { agentMode, permissionMode: mode }: Pick<TurnSettings, 'agentMode' | 'permissionMode'>,
  modes: AgentModes,
  offered: readonly string[],
): string | null {
  if (agentMode !== null) return agentMode;
  if (mode === null || mode === 'default') return null;
  const alias = ownEntry(aliases, mode);
  const byName: Readonly<Record<string, string | undefined>> = modes;
  const configured = ownEntry(byName, mode) ?? (alias === undefined ? undefined : byName[alias]);
  if (configured !== undefined && offered.includes(configured)) return configured;
  if (mode === 'require_approval') return null;
  const names = alias === undefined ? [mode] : [mode, alias];
  return (
    names.find((name) => offered.includes(name)) ??
    names.flatMap((name) => offered.find((one) => isSameName(one, name)) ?? [])[0] ??
    mode
  );
}

/** Agents write the same name as `read_only`, `read-only` or `readOnly`. */
function isSameName(one: string, other: string): boolean {
  return lettersOfMode(one) === lettersOfMode(other);
}

const ASKING = 'ask(s|ing)?|approvals?|confirm(s|ing|ations?)?|permissions?|prompt(s|ing)?';

/** Names of modes in which an agent asks nobody. */
const PERMISSIVE_NAME = new RegExp(
  String.raw`\b(auto(?! (accept )?(edits?|complete|compact|detect|save))|autopilot|autonom(y|ous)|bypass\w*|yolo|full\w*|never|` +
    String.raw`danger(ous(ly)?)?|un(restricted|attended|safe|supervised)|(allow|accept|approve|trust) (all|everything)|` +
    `(do not|dont|no|without|skip) (${ASKING}))\\b`,
);

const NEGATION = 'never|no|not|nothing|cannot|dont|doesnt';

/** A sentence without a double negation is about a mode that asks nobody, or about one that asks. */
const DOUBLE_NEGATION = new RegExp(String.raw`\b(${NEGATION}) .*\bwithout\b`);
const ASKS_NOBODY = new RegExp(
  String.raw`\b(${NEGATION}|without|skip(s|ping)?|bypass(es|ing)?|disabl(es|ing)) (\w+ ){0,4}(${ASKING})\b`,
);
const ASKS = /\b(ask(s|ing)?|requires?|requests?|needs?|prompts?|confirms?) /;
const PERMISSIVE = new RegExp(
  String.raw`\b(auto(matically)? (approv|accept|allow|execut|run)\w* (all|any|every(thing)?|commands?|tools?|actions?)|` +
    String.raw`(approv|accept|allow)(es|s)? (all|every(thing)?)|full access|autonomous(ly)?|danger(ous(ly)?)?|unrestricted|yolo)\b`,
);

/** Reports whether a mode is, by the usual words for it, one in which the agent asks nobody. */
export function isPermissive({ id, name, description }: Offered): boolean {
  if (PERMISSIVE_NAME.test(`${wordsOf(id)} ${wordsOf(name)}`)) return true;
  const sentences = (description ?? '').slice(0, MAX_DESCRIPTION).split(/[.;!?\n]/);
  return sentences.map(wordsOf).some(isPermissiveSentence);
}

/** The maximum length of a description that is read, in UTF-16 code units. */
const MAX_DESCRIPTION = 2000;

function isPermissiveSentence(words: string): boolean {
  if (DOUBLE_NEGATION.test(words)) return false;
  return ASKS_NOBODY.test(words) || (!ASKS.test(words) && PERMISSIVE.test(words));
}

/** A text in lower case with one blank between its words: agents write `dontAsk`, `dont_ask` and `Don't ask`. */
function wordsOf(text: string): string {
  return text
    .replaceAll(/['\u2019]/g, '')
    .replaceAll(/(?<=[a-z\d])(?=[A-Z])/g, ' ')
    .toLowerCase()
    .replaceAll(/[^\p{L}\d]+/gu, ' ')
    .trim();
}
