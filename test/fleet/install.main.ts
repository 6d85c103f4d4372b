import { installNatsServer } from '../support/fleet/nats-server.ts';

/** Installs NATS, or says why the tests of fleets are skipped: then the exit code is 3. */
const reason = await installNatsServer();
if (reason !== null) {
  process.stderr.write(`test-fleet: skipped, because ${reason}\n`);
  process.exitCode = 3;
}
