/**
 * The last commit that wrote each format, by the format. The formats 14 to 19, 25, 26 and 28 to 31 have none: their
 * migrations came with others in one commit, or in another order on a branch.
 */
export const commits: Readonly<Record<number, string>> = {
  7: 'a67039e3',
  8: 'dfd2107c',
  9: '1cab97ad',
  10: '7241ccdd',
  11: 'a3dcff1b',
  12: '3229b6c9',
  13: '1b3bdb26',
  20: '6c5044c6',
  21: 'b5c7f19e',
  22: '29290408',
  23: '77ad1315',
  24: 'b7093577',
  27: 'd68009ec',
  32: 'd5c6bddd',
  33: '7d8937e5',
  34: 'c7a5d7c1',
  35: '299d9716',
  36: '5b1ce90e',
  37: '1be27d78',
  38: '1329c9d2',
  39: '5259a931',
  40: '137ad8a3',
};
