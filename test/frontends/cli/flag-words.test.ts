import { Command } from 'commander';
import { expect, test } from 'vitest';
import { AppError } from '../../../src/api/errors.ts';
import { inFlags } from '../../../src/frontends/cli/command-io.ts';

const command = new Command('send')
  .argument('<member>')
  .argument('[text...]')
  .option('--expect <turn>')
  .option('--from <member>')
  .option('--reply-to <message>')
  .option('-L, --limit <n>');

test.for([
  ['query.limit', '--limit'],
  ['body.expected_turn_id', '--expect'],
  ['body.input.0.text', '<text>'],
  ['body.sender_agent_id', '--from'],
  ['body.recipient_agent_id', '<member>'],
  ['body.reply_to_message_id', '--reply-to'],
  ['body.unknown', 'body.unknown'],
])('A refusal of %s names %s.', ([field, flag]) => {
  const refused = new AppError('invalid', `${field}: is too long`);
  expect(inFlags(refused, command).message).toBe(`${flag}: is too long`);
});
