/** The text that stands for a secret. */
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

/** The value behind a name that marks a secret, or in the address of a user with a password. */
const VALUES: readonly RegExp[] = [
  /(?<=\b(?:authorization|proxy-authorization)["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+)[^\s"',;]+/gi,
  /(?<=\b\w*(?:api_?key|secret|token|passw(?:or)?d|passphrase|private_?key)["']?\s*[:=]\s*["']?)[^\s"',;$<>{}()[\]]{6,}(?![\w(])/gi,
  /(?<=\b[a-z][a-z0-9+.-]*:\/\/[^\s/:@]*:)[^\s/@]+(?=@)/gi,
];

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
    for (const form of [...FORMS, ...VALUES]) redacted = redacted.replaceAll(form, REDACTED);
    return homes === null ? redacted : redacted.replaceAll(homes, '~');
  };
}

/** A JSON value with every text in it changed, names of fields excepted. */
export function mapTexts<T>(value: T, change: (text: string) => string): T {
  if (typeof value === 'string') return change(value) as T;
  if (Array.isArray(value)) return value.map((one) => mapTexts(one as unknown, change)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, mapTexts(one as unknown, change)]),
  ) as T;
}
