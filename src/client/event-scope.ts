/** The part of the log that is read; the whole log where nothing is named. */
export interface EventScope {
  /** Only events of this session. */
  sessionId?: string | undefined;
  /** Only events of this process. */
  processId?: string | undefined;
  /** Only events of this team. */
  teamId?: string | undefined;
  /** Only events of these kinds, or groups of kinds. */
  kinds?: readonly string[] | undefined;
}
