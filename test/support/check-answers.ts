import fs from 'node:fs';
import path from 'node:path';
import { type Answer, ANSWERS, answerDirectory } from './answer-files.ts';
import { DescribedAnswers } from './described-answers.ts';

/** Faults in the responses of a run, each line once and in order. */
export interface AnswerFaults {
  /** Differences from the description. */
  wrong: string[];
  /** The operations of the description without a successful response. */
  unseen: string[];
}

/** Checks all responses that the processes of a run have recorded below its temporary root. */
export async function checkAnswers(root: string, description: object): Promise<AnswerFaults> {
  const described = new DescribedAnswers(description);
  const wrong = new Set<string>();
  const succeeded = new Set<string>();
  for await (const answer of answersOf(root)) {
    const { request, wrong: faults } = described.check(answer);
    for (const fault of faults) wrong.add(`${request} ${answer.status}: ${fault}`);
    if (answer.status < 400) succeeded.add(request);
  }
  return {
    wrong: [...wrong].toSorted(),
    unseen: requestsOf(description)
      .filter((request) => !succeeded.has(request))
      .toSorted(),
  };
}

async function* answersOf(root: string): AsyncGenerator<Answer> {
  const directory = answerDirectory(root);
  for (const name of fs.readdirSync(directory).filter((one) => one.endsWith(ANSWERS))) {
    // The last line of a killed process may be incomplete. It stays in `rest`.
    let rest = '';
    for await (const part of fs.createReadStream(path.join(directory, name), 'utf8')) {
      const lines = (rest + (part as string)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) yield JSON.parse(line) as Answer;
    }
  }
}

function requestsOf(description: object): string[] {
  const { paths } = description as { paths: Record<string, object> };
  return Object.entries(paths).flatMap(([template, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${template}`),
  );
}
