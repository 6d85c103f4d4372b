/** An element of the old list, of the new list, or one of each that belong together. */
export type Pair<T> = [before: T | null, now: T | null];

/** How two lists are aligned. */
export interface Costs<T> {
  /** Whether an element of the old list is a cut, which covers any number of elements of the new one. */
  isCut: (element: T) => boolean;
  /** The cost of an element that has no counterpart. */
  alone: (element: T) => number;
  /** The cost of two elements that belong together; Infinity if they cannot. */
  together: (before: T, now: T) => number;
}

/** Aligns two lists at the lowest cost. A cut is paired with each element that it covers, or with null. */
export function align<T>(
  before: readonly T[],
  now: readonly T[],
  { isCut, alone, together }: Costs<T>,
): Pair<T>[] {
  const width = now.length + 1;
  const costs = new Float64Array((before.length + 1) * width);
  const steps = new Uint8Array(costs.length);
  for (let i = before.length; i >= 0; i -= 1) {
    for (let j = now.length; j >= 0; j -= 1) {
      const [one, other] = [before[i], now[j]];
      const cut = one !== undefined && isCut(one);
      const choices: [number, Step][] = [];
      const after = (down: number, right: number) => costs[(i + down) * width + j + right] ?? 0;
      if (one !== undefined && other !== undefined && !cut)
        choices.push([together(one, other) + after(1, 1), Step.Both]);
      if (one !== undefined) choices.push([(cut ? 0 : alone(one)) + after(1, 0), Step.Before]);
      if (other !== undefined) choices.push([(cut ? 0 : alone(other)) + after(0, 1), Step.Now]);
      const [cost, step] = choices.toSorted(([a], [b]) => a - b)[0] ?? [0, Step.Both];
      costs[i * width + j] = cost;
      steps[i * width + j] = step;
    }
  }
  return pairsOf(before, now, steps, isCut);
}

const Step = { Both: 0, Before: 1, Now: 2 } as const;
type Step = (typeof Step)[keyof typeof Step];

function pairsOf<T>(
  before: readonly T[],
  now: readonly T[],
  steps: Uint8Array,
  isCut: (element: T) => boolean,
): Pair<T>[] {
  const pairs: Pair<T>[] = [];
  let [i, j, covered] = [0, 0, false];
  while (i < before.length || j < now.length) {
    const step = steps[i * (now.length + 1) + j];
    const [one = null, other = null] = [before[i], now[j]];
    const cut = one !== null && isCut(one);
    if (step === Step.Both) pairs.push([one, other]);
    else if (step === Step.Now) pairs.push([cut ? one : null, other]);
    else if (!cut || !covered) pairs.push([one, null]);
    covered = step === Step.Now && cut;
    if (step !== Step.Now) i += 1;
    if (step !== Step.Before) j += 1;
  }
  return pairs;
}
