/** Sessions of the provider whose agents have names now: it had one agent, the one that is named `default`. */
export const migration014 = {
  table: 'sessions',
  complete: (session: Record<string, unknown>) => ({
    agent: session.provider === 'acp' ? 'default' : null,
    ...session,
  }),
};
