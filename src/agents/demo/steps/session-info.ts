import type { Step } from './step.ts';

/** A title for the session. */
export const title: Step<'title'> = ({ text }, turn) =>
  turn.update({ sessionUpdate: 'session_info_update', title: text });

export const notice: Step<'notice'> = ({ text }, turn) =>
  turn.update({ sessionUpdate: 'notice', severity: 'info', title: text });

/** Names slash commands. None of them does anything. */
export const commands: Step<'commands'> = ({ entries }, turn) =>
  turn.update({
    sessionUpdate: 'available_commands_update',
    availableCommands: entries.map((name) => ({
      name,
      description: 'Does nothing: this is a demo',
      input: { hint: 'anything' },
    })),
  });
