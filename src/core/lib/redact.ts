export const REDACTED = '[redacted]';

/** The forms of secrets that can be recognised anywhere: keys of well-known services, tokens and private keys. */
const FORMS: readonly RegExp[] = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /\bsk-[A-Za-z0-9_-]{16,}/g,
  /\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})/g,
  /\bglpat-[\w-]{16,}/g,
  /\bxox[abeprs]-[\w-]{10,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bAIza[\w-]{30,}/g,
  /\bya29\.[\w-]{20,}/g,
  /\bnpm_[A-Za-z0-9]{30,}/g,
  /\bhf_[A-Za-z0-9]{20,}/g,
  /\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}/g,
  /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g,
];

/** A part of a name that marks its value as a secret. */
const SECRET_WORD =
  '(?:api[_-]?key|access[_-]?key|private[_-]?key|secrets?|token|passw(?:or)?d|passphrase|credentials?)';
/** A name with such a part, behind it `:` or `=`, or a blank if the name is an option. All repeats have a limit. */
const NAME =
  `(?:[A-Za-z0-9]{1,40}[_-]){0,6}${SECRET_WORD}(?:[_-][A-Za-z0-9]{1,40}){0,4}` +
  String.raw`\\{0,2}["']?`;
const BETWEEN = String.raw`[ \t]{0,8}[:=][ \t]{0,8}`;
/** A value in quotes, which may be escaped, or up to the next blank or bracket. A variable such as `$TOKEN` is not a secret. */
const VALUE = String.raw`(?:(\\{0,2}["'])[^\n]{1,4000}?\2|(?!\$[A-Z{(])[^\s"'\\,;<>(){}[\]]{6,4000}(?![\w(]))`;
const NAMED = [
  new RegExp(`(?<![A-Za-z0-9])(${NAME}${BETWEEN})${VALUE}`, 'gi'),
  new RegExp(String.raw`(--${NAME}[ \t]{1,8})${VALUE}`, 'gi'),
];
const AUTHORIZATION =
  /((?:authorization|cookie)\\{0,2}["']?[ \t]{0,8}[:=][ \t]{0,8}["']?(?:(?:bearer|basic|token)[ \t]{1,8})?)[^\s"',;]{4,4000}/gi;
const IN_URL = /(\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@"']{0,200}:)[^\s"']{1,400}(?=@[^\s@/"']+)/gi;

/**
 * Returns a function that replaces secrets in a text: the given ones, each whole, and what has the form of a secret. The
 * home directory becomes `~`. Secrets without a known form stay; a reader has to look for those.
 */
export function redactor(
  secrets: readonly string[],
  home: string | null,
): (text: string) => string {
  const known = secrets.filter((one) => one !== '').toSorted((a, b) => b.length - a.length);
  const isHome = home !== null && home !== '/' && home !== '';
  const homes = isHome
    ? new RegExp(`${home.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}(?![\\w.-])`, 'g')
    : null;
  return (text) => {
    let redacted = text;
    for (const one of known) redacted = redacted.replaceAll(one, REDACTED);
    for (const form of FORMS) redacted = redacted.replaceAll(form, REDACTED);
    redacted = redacted
      .replaceAll(AUTHORIZATION, `$1${REDACTED}`)
      .replaceAll(IN_URL, `$1${REDACTED}`);
    for (const named of NAMED)
      redacted = redacted.replaceAll(
        named,
        (_all, name: string, quote: string = '') => `${name}${quote}${REDACTED}${quote}`,
      );
    return homes === null ? redacted : redacted.replaceAll(homes, '~');
  };
}

/** A JSON value with each text changed, names excepted; the text of a field that `isSecret` is replaced whole. */
export function mapTexts<T>(
  value: T,
  change: (text: string) => string,
  isSecret: (name: string) => boolean = () => false,
): T {
  if (typeof value === 'string') return change(value) as T;
  if (Array.isArray(value))
    return value.map((one) => mapTexts(one as unknown, change, isSecret)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      typeof one === 'string' && one !== '' && isSecret(name)
        ? REDACTED
        : mapTexts(one as unknown, change, isSecret),
    ]),
  ) as T;
}
