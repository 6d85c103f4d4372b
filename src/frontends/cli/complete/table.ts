/** A command as completion knows it. */
export interface CommandTree {
  name: string;
  /** Old names, which are understood and not offered. */
  aliases: string[];
  description: string;
  commands: CommandTree[];
  /** The options of the command itself; the options of its parents apply, too. */
  options: { flags: string[]; description: string; value: CommandValue | null }[];
  operands: CommandValue[];
}

/** The value of an option or an argument; `name` is its placeholder. */
export interface CommandValue {
  name: string;
  choices: readonly string[];
  variadic: boolean;
}

/** All that completion knows without a server. It is made when the program is built, and is an asset of it. */
export interface CompletionTable {
  tree: CommandTree;
  /** Values that are not the only ones possible, by the placeholder they are offered for. */
  values: Readonly<Record<string, readonly string[]>>;
}

export const tableAsset = 'commands.json';
