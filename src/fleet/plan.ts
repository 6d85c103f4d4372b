/** Who is in a fleet, and where its engine runs. */
export interface FleetPlan {
  fleet: string;
  /** The hosts of the NATS servers: one, or three, which go on while any two of them run. */
  hosts: readonly string[];
  nodes: readonly string[];
  /** People who may do everything, and people who may only read. */
  admins: readonly string[];
  readers: readonly string[];
  /** The directory of the certificates on each host. */
  tlsDirectory: string;
  /** The directory of JetStream on each host. */
  storeDirectory: string;
}
