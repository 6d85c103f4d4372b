/** Why a block of a page is not run. Each has to be one of these; how many there are of each, the test says. */
export const reasons = {
  agent: 'it needs an agent with a login, and a model that nobody can foresee',
  machines: 'it needs other machines, or a NATS server between them',
  editor: 'it is the configuration of an editor, in a language that nothing here reads',
  install: 'it installs into the home of whoever builds, or takes the minutes that a build takes',
  bench: 'it measures for minutes, alone on the machine',
} as const;

export type Reason = keyof typeof reasons;
