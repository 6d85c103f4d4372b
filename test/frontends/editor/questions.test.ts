import { expect, test } from 'vitest';
import type { Question } from '../../../src/api/approvals.ts';
import { openEditor } from '../../support/acp/editor.ts';
import { sharedRuntime } from '../../support/runtime.ts';
import { completed, scriptedProvider, type ScriptedTurn } from '../../support/scripted-provider.ts';

const provider = scriptedProvider((turn) => void asking(turn));
const withRuntime = sharedRuntime({ providers: [provider] });

const colour: Question = {
  id: 'q1',
  question: 'Which colour?',
  header: 'Colour',
  options: [
    { label: 'red', description: 'like fire' },
    { label: 'blue', description: null },
  ],
  free: true,
  multiple: false,
  required: true,
  type: 'text',
};
const sizes: Question = {
  ...colour,
  id: 'q2',
  question: 'Which sizes?',
  header: null,
  free: false,
  multiple: true,
};
const count: Question = {
  ...colour,
  id: 'q3',
  question: 'How many?',
  header: null,
  options: [],
  required: false,
  type: 'integer',
};
const asked: Record<string, readonly Question[]> = {
  all: [colour, sizes, count],
  one: [{ ...colour, free: false }],
  named: [{ ...count, id: 'constructor' }],
};

/** An agent that sends questions and repeats the answers as a message. */
async function asking({ input, sink, end }: ScriptedTurn): Promise<void> {
  const [said] = input;
  const questions = asked[said?.type === 'text' ? said.text : ''] ?? [];
  const answer = await sink.ask(
    {
      kind: 'question',
      title: 'some questions',
      request: {},
      details: [],
      questions,
      subject: null,
    },
    new AbortController().signal,
  );
  await sink.update({ type: 'message', text: JSON.stringify(answer) });
  end(completed);
}

test('Questions are a form in an editor that supports forms.', async () => {
  const { url, token, directory } = withRuntime();
  const editor = await openEditor(
    { url, token },
    {
      fillForm(request) {
        expect(request).toMatchObject({
          mode: 'form',
          message:
            'Colour: Which colour?\n- red: like fire\n- blue\n\nWhich sizes?\n- red: like fire\n- blue\n\nHow many?',
          requestedSchema: {
            type: 'object',
            required: ['q2'],
            properties: {
              q1: {
                type: 'string',
                title: 'Colour',
                oneOf: [{ const: 'red' }, { const: 'blue' }],
              },
              q1_other: { type: 'string' },
              q2: { type: 'array', items: { anyOf: [{ const: 'red' }, { const: 'blue' }] } },
              q3: { type: 'integer' },
            },
          },
        });
        return {
          action: 'accept',
          content: { q1: 'red', q1_other: 'green', q2: ['red', 'blue'], q3: 3 },
        };
      },
    },
  );
  const { sessionId } = await editor.open(directory);
  await editor.prompt(sessionId, 'all');
  expect(JSON.parse(editor.text())).toMatchObject({
    decision: 'accept',
    answers: { q1: ['green'], q2: ['red', 'blue'], q3: ['3'] },
  });
});

test('A question whose id is also the name of a property of every object can be left out.', async () => {
  const { url, token, directory } = withRuntime();
  const fillForm = () => ({ action: 'accept', content: {} }) as const;
  const editor = await openEditor({ url, token }, { fillForm });
  const { sessionId } = await editor.open(directory);
  await editor.prompt(sessionId, 'named');
  expect(JSON.parse(editor.text())).toMatchObject({ decision: 'accept', answers: {} });
});

test('Questions are declined with their form.', async () => {
  const { url, token, directory } = withRuntime();
  const editor = await openEditor({ url, token }, { fillForm: () => ({ action: 'decline' }) });
  const { sessionId } = await editor.open(directory);
  await editor.prompt(sessionId, 'all');
  expect(JSON.parse(editor.text())).toMatchObject({ decision: 'decline' });
});

test('A single question with options is a permission request in an editor without forms.', async () => {
  const { url, token, directory } = withRuntime();
  const editor = await openEditor(
    { url, token },
    {
      askUser({ options, toolCall }) {
        expect(options.map(({ name }) => name)).toEqual(['red', 'blue', 'Decline']);
        expect(JSON.stringify(toolCall.content)).toContain('Which colour?');
        return { outcome: 'selected', optionId: options[1]?.optionId ?? '' };
      },
    },
  );
  const { sessionId } = await editor.open(directory);
  await editor.prompt(sessionId, 'one');
  expect(JSON.parse(editor.text())).toMatchObject({
    decision: 'accept',
    answers: { q1: ['blue'] },
  });
});

test('Questions that an editor cannot show name the other places for the answer.', async () => {
  const { url, token, directory } = withRuntime();
  let shown = '';
  const editor = await openEditor(
    { url, token },
    {
      askUser({ options, toolCall }) {
        shown = JSON.stringify(toolCall.content);
        return { outcome: 'selected', optionId: options[0]?.optionId ?? '' };
      },
    },
  );
  const { sessionId } = await editor.open(directory);
  await editor.prompt(sessionId, 'all');
  expect(shown).toContain(`cadre sessions attach ${sessionId}`);
  expect(JSON.parse(editor.text())).toMatchObject({ decision: 'decline' });
});
