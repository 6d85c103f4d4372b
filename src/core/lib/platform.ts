/**
 * How this machine is looked at: Linux by the files of /proc, every other system by the programs that POSIX has. It is
 * decided once, when the program starts.
 */

/** The one value that the variable takes. Any other is ignored. */
const POSIX = 'posix';

/**
 * Whether this is a test that lets Linux be looked at as a system without /proc. The variable is for tests alone: its name
 * says so, it belongs to no key of the configuration, and the server warns where it is set.
 */
export const isTestOfPosix: boolean =
  process.platform === 'linux' && process.env.CADRE_TEST_ONLY_PLATFORM === POSIX;

/** Whether the files of /proc say what processes, limits and open files there are. */
export const hasProc: boolean = process.platform === 'linux' && !isTestOfPosix;
