/** Sends a signal to each agent. */
export function signal(name: NodeJS.Signals): (agents: number[]) => void {
  return (agents) => {
    for (const pid of agents) {
      try {
        process.kill(pid, name);
      } catch (error) {
        // A short-lived helper may have ended by itself meanwhile.
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    }
  };
}
