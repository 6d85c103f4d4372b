/**
 * The events of a kind. An index entry is 25 bytes, and one more page is written in a transaction for each kind in it;
 * without it, a stream of a rare kind reads all events of the log.
 */
export const migration021 = `
CREATE INDEX IF NOT EXISTS events_kind ON events (kind, seq);
CREATE INDEX IF NOT EXISTS deltas_kind ON deltas (kind, seq);
`;
