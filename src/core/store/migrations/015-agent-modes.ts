/** Sessions and turns from before an agent's own mode had a field: agents of acp had theirs in `permission_mode`. */
export const migration015 = {
  sessions: {
    table: 'sessions',
    complete: (session: Record<string, unknown>) => {
      const began = (session.provider_defaults ?? null) as Record<string, unknown> | null;
      const mode = session.provider === 'acp' ? (began?.permission_mode ?? null) : null;
      return {
        ...session,
        agent_mode: null,
        agent_asks: null,
        provider_defaults: began && { ...began, agent_mode: mode },
      };
    },
  },
  turns: {
    table: 'turns',
    complete: (turn: Record<string, unknown>) => ({ ...turn, agent_mode: null }),
  },
};
