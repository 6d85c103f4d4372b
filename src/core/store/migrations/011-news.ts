/** What people keep with a session, and what is new in it. */
export const migration011 = {
  table: 'sessions',
  complete: (session: Record<string, unknown>) => ({
    pinned: false,
    snoozed_until: null,
    seen_seq: 0,
    // What happened before counts as seen, so that an upgrade does not present all of it as new.
    news_seq: 0,
    last_activity_at: session.updated_at,
    last_words: null,
    ...session,
  }),
};
