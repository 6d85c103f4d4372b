import { endpoints } from '../../../api/index.ts';
import type { Race } from '../../../api/races.ts';
import { commandGroup } from '../command.ts';
import { endpointCommand } from '../endpoint-command.ts';
import { ago, listOf, plain, shortId } from '../output.ts';
import { limit, race } from '../parameters.ts';
import { raceTable } from '../race-text.ts';
import { cleanupText } from './worktrees.ts';

export const raceCommands = commandGroup(
  'races',
  'Compare sessions with the same prompt, and keep one of them',
  [
    endpointCommand({
      name: 'list',
      description: 'List races, newest first',
      endpoint: endpoints.listRaces,
      parameters: [limit],
      empty: 'no races: start a race with cadre race',
      print: listOf<Race>(
        ['ID', 'STATUS', 'AGE', 'NAME', 'CONTENDERS', 'KEPT', 'PROMPT'],
        (one, now) => [
          shortId(one.id),
          one.status,
          ago(one.created_at, now),
          one.name,
          one.contenders.map(({ contender }) => contender).join(', '),
          one.kept ?? '-',
          one.prompt,
        ],
      ),
    }),
    endpointCommand({
      name: 'show',
      alias: 'get',
      description: 'Show the contenders of a race and their results',
      endpoint: endpoints.getRace,
      parameters: [race],
      print: (one, { layout, now }) => raceTable(one, layout, now),
    }),
    endpointCommand({
      name: 'keep',
      description:
        'Keep one contender of a race, close the other sessions, and archive and remove their worktrees',
      endpoint: endpoints.keepContender,
      parameters: [race, '<contender>  Name of the contender in the table of the race'],
      confirm: (said) =>
        `close the other sessions of race "${said}", and archive and remove their worktrees?`,
      print: ({ race: { contenders, kept }, cleanups }) => {
        const found = contenders.find(({ contender }) => contender === kept);
        const worktree = found?.worktree_name ?? '';
        const lines = [
          `Kept ${kept} (session ${shortId(found?.session_id ?? '')}, worktree "${worktree}")`,
          `Merge the worktree with cadre worktrees merge ${worktree}`,
        ];
        return cleanups.map(cleanupText).join('') + lines.map((one) => `${plain(one)}\n`).join('');
      },
    }),
    endpointCommand({
      name: 'stop',
      description: 'Interrupt the running turns of a race, and cancel its checks',
      endpoint: endpoints.stopRace,
      parameters: [race],
      print: (one, { layout, now }) => raceTable(one, layout, now),
    }),
  ],
);
