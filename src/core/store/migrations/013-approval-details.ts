/** Approvals of which only the request says what they would do. Each could be accepted once. */
export const migration013 = {
  table: 'approvals',
  complete: (approval: Record<string, unknown>) => ({
    ...approval,
    details: [],
    scopes: ['once'],
    session_allows: null,
    scope: approval.status === 'accepted' ? 'once' : null,
  }),
};
