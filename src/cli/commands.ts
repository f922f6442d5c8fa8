/** The commands with what each is for, in the order of the help text. */
export const commands = {
  install: 'install this host; the same as flags alone',
  plan: 'print what an install would do',
  config: 'show, validate or describe the configuration',
  journal: 'show what an earlier run on this host did',
  'after-pivot': 'in the cluster: follow a bootstrap host',
  completion: 'print the completion script of a shell',
  help: 'print this text',
} as const;

/** A command by its name. */
export type CommandName = keyof typeof commands;

/** Whether a word is a command. */
export const isCommandName = (word: string): word is CommandName => Object.hasOwn(commands, word);

/** The forms that `plan` can print. */
export const planFormats = ['text', 'json', 'dot', 'markdown'] as const;

/** The forms that `config show` and `journal` can print. */
export const listFormats = ['text', 'json'] as const;

/** The shells that a completion script exists for. */
export const shells = ['bash', 'zsh', 'fish'] as const;

/** What `config` can do. */
export const configActions = {
  show: 'print every setting with its origin, secrets masked',
  validate: 'check the configuration of an install and say what is missing',
  schema: 'print the JSON Schema of a configuration file',
} as const;
