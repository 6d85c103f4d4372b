/**
 * Programs that run nothing and ask no other machine, whatever words they get that are not options: a rule to allow may
 * have a `*` behind them. With a second word, only that subcommand.
 */
const KNOWN_SAFE = new Set(
  (
    'b2sum|base32|base64|basename|cargo bench|cargo build|cargo check|cargo clippy|cargo doc|cargo test|cargo tree|cat|' +
    'cksum|cmp|column|comm|cp|cut|df|diff|diff3|dir|dirname|du|echo|egrep|expand|fd|fgrep|file|find|fmt|fold|git add|' +
    'git blame|git branch|git cat-file|git checkout|git cherry|git commit|git describe|git diff|git diff-tree|' +
    'git fetch|git for-each-ref|git grep|git log|git ls-files|git ls-remote|git ls-tree|git merge-base|git mv|' +
    'git name-rev|git pull|git push|git reset|git restore|git rev-list|git rev-parse|git rm|git shortlog|git show|' +
    'git show-ref|git status|git switch|git tag|go doc|go vet|gofmt|grep|head|hexdump|jq|join|ls|md5sum|mkdir|mv|nl|' +
    'npm explain|npm ls|npm outdated|od|paste|pip list|pip show|readlink|realpath|rg|rm|rmdir|rustfmt|sha1sum|sha224sum|' +
    'sha256sum|sha384sum|sha512sum|shellcheck|sort|stat|strings|sum|tac|tail|tee|touch|tr|tree|tsc|uniq|vdir|wc|which'
  ).split('|'),
);

/** Subcommands that ask another machine, by a name that a repository has for it or by any address. */
const REMOTE = new Set(
  'git fetch|git ls-remote|git pull|git push|hg id|hg identify|hg in|hg incoming|hg out|hg outgoing|hg pull|hg push'.split(
    '|',
  ),
);

/** Options of these subcommands that have no value in the next word, and name no machine and no program. */
const REMOTE_OPTIONS = new Set(
  (
    '-4 -6 -a -f -n -p -q -t -u -v --all --atomic --delete --dry-run --exit-code --ff-only --follow-tags --force ' +
    '--force-with-lease --heads --no-rebase --no-tags --no-verify --porcelain --progress --prune --quiet --rebase --refs ' +
    '--set-upstream --symref --tags --unshallow --verbose'
  ).split(' '),
);

/** Options that run what follows them, by their program. */
const RUNNING_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  cargo: ['--config', '--manifest-path', '-C', '-Z'],
  fd: ['-x', '-X', '--exec', '--exec-batch'],
  find: ['-exec', '-execdir', '-ok', '-okdir'],
  git: ['-O', '--open-files-in-pager', '--upload-pack', '--receive-pack', '--exec'],
  rg: ['--pre', '--hostname-bin'],
  sort: ['--compress-program'],
};

/** Whether the words of a pattern begin with a program, by its plain name, that a `*` is known to be harmless for. */
export function isKnownSafe(words: readonly string[]): boolean {
  const [program = '', subcommand = ''] = words;
  const name = program.replace(/^\/(?:usr\/)?(?:local\/)?bin\//, '');
  if (!KNOWN_SAFE.has(name) && !KNOWN_SAFE.has(`${name} ${subcommand}`)) return false;
  // A directory to search is in words that find may also take for something else.
  return (
    name !== 'find' ||
    words.every((word, at) => !word.includes('*') || (word !== '**' && isOption(words[at - 1])))
  );
}

/** Whether a program takes a word as an address that has a `:` before any `/`. */
export function takesAddresses(words: readonly string[]): boolean {
  const [program = '', subcommand = ''] = words;
  return !isKnownSafe(words) || REMOTE.has(`${program} ${subcommand}`);
}

/** The option of a pattern that runs what follows it; undefined if there is none. */
export function runningOption(name: string, words: readonly string[]): string | undefined {
  return words.find((word) => isRunningOption(name, word));
}

/** Whether a word is an option of a program that runs what follows it, or what stands in the same word behind it. */
export function isRunningOption(name: string, word: string): boolean {
  const [option = ''] = word.split('=');
  return (RUNNING_OPTIONS[name] ?? []).some(
    (one) =>
      one === option ||
      (/^--../.test(option) && one.startsWith(option)) ||
      (/^-\w$/.test(one) && word.startsWith(one)),
  );
}

/** Whether a `*` of a pattern may stand for another machine than a remote that the pattern names. */
export function mayReachAnywhere(name: string, words: readonly string[]): boolean {
  const [, subcommand = '', ...others] = words;
  if (!REMOTE.has(`${name} ${subcommand}`)) return false;
  const remote = others.find((word) => !REMOTE_OPTIONS.has(word));
  if (remote === undefined || remote.includes('*') || isOption(remote)) return true;
  return others.some((word) => isOption(word) && !REMOTE_OPTIONS.has(word));
}

function isOption(word = ''): boolean {
  return word.startsWith('-');
}
