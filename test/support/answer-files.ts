import path from 'node:path';

/** Where a run, by its temporary root, keeps what its answers are checked against and what was found. */
export function answerFiles(root: string) {
  const directory = path.join(root, 'answers');
  return {
    directory,
    /** openapi.yaml as JSON, which is quicker to read. */
    description: path.join(directory, 'openapi.json'),
    /** A line for each thing that was wrong; some are there more than once. */
    wrong: path.join(directory, 'wrong'),
    /** A line for each request that was answered with success. */
    succeeded: path.join(directory, 'succeeded'),
  };
}
