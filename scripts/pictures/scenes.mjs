/** The steps of the agent of the pictures for each prompt; `wait` is in ms. */
export const scenes = {
  'explain this repository': [
    { tool: 'read README.md', output: '42 lines' },
    { tool: 'read src/cart.ts', output: '118 lines' },
    {
      say: 'This repository is a small **shop**:\n\n- `src/cart.ts` adds up the items of a cart\n- `src/tax.ts` computes the tax of a country\n- `test/` has 12 tests, and all of them pass\n',
    },
  ],
  'fix the login test': [
    { tool: 'npm test', output: '1 of 12 tests fails: login keeps the session' },
    { say: 'The session ends too early: `login` compares seconds with milliseconds.\n' },
    {
      tool: 'edit src/login.ts',
      output:
        '--- a/src/login.ts\n+++ b/src/login.ts\n@@ -1,3 +1,3 @@\n export function isOver(session: Session): boolean {\n-  return Date.now() > session.end;\n+  return Date.now() > session.end * 1000;\n }\n',
    },
    {
      say: '```ts\nexport function isOver(session: Session): boolean {\n  return Date.now() > session.end * 1000;\n}\n```\nNow I clear the cache, and run the tests again.\n',
    },
    { ask: 'rm -rf node_modules/.cache && npm test', output: 'All 12 tests pass.' },
    { say: 'All 12 tests pass.\n' },
  ],
  'review the pull request about taxes': [
    { think: 'Read the change first.' },
    { tool: 'git diff main...taxes', output: '3 files, 41 insertions' },
    { say: 'Two remarks: the rate of Norway is missing, and `round` should round to cents.\n' },
  ],
  'update the dependencies': [
    { tool: 'npm outdated', output: '7 packages' },
    {
      say: 'Seven packages have a newer version. I update one after the other, with the tests in between.\n',
    },
    { tool: 'npm test', output: 'ok', wait: 600_000 },
  ],
};
