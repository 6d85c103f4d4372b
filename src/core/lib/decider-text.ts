/** The token, rule or consent that decided an approval, for people: the API token of the server is the user's own. */
export function deciderText(decidedBy: string): string {
  return decidedBy === 'api' ? 'you (token api)' : decidedBy;
}
