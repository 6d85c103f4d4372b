/** The name of the key that makes the fleet, with `cadre fleet init`. */
export const ADMIN = 'admin';

/** The names of the files with the keys, without their ending. */
export const keyNames = {
  admin: ADMIN,
  node: (name: string) => `node-${name}`,
  person: (name: string) => `person-${name}`,
};
