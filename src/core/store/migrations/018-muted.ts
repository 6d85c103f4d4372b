/** Whether a screen stays silent about a session. */
export const migration018 = {
  table: 'sessions',
  complete: (session: Record<string, unknown>) => ({ muted: false, ...session }),
};
