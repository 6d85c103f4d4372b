/** A mode of an agent, in the agent's words. */
export interface ModeWords {
  id: string;
  name: string;
  description?: string | null | undefined;
}

const ASKING = 'ask(s|ing)?|approvals?|confirm(s|ing|ations?)?|permissions?|prompt(s|ing)?';

/** Names of modes in which the agent never requests approval. */
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
export function isPermissive({ id, name, description }: ModeWords): boolean {
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
