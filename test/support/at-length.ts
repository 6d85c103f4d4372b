/** How often something is done that chance decides: `short` in the suite, `long` in a campaign (`make lengths`). */
export function atLength(short: number, long: number): number {
  return process.env.TEST_LENGTH === 'long' ? long : short;
}
