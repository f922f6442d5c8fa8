import { setSourceMapsSupport } from 'node:module';
import {
  Command,
  CommanderError,
  type ErrorOptions,
  type HelpContext,
  Option,
  type OutputConfiguration,
} from 'commander';
import type { Environment } from '../config/environment.ts';
import { flagFailure } from '../config/failures.ts';
import { nearestName } from '../lib/nearest.ts';
import { AgentError } from '../model/failure.ts';
import { cliFailure } from './failures.ts';

/** A command line with the flags of an install. */
export interface InstallLine {
  readonly argv: readonly string[];
  readonly environment: Environment;
  /** One of the output formats of the command. */
  readonly format: string;
}

/** A command line of a command that takes arguments. */
export interface FilesCall {
  readonly values: readonly string[];
  readonly format: string;
}

/** A row of two columns: a name and its description. */
export type HelpRow = readonly [left: string, right: string];

/**
 * Meanings of the exit codes that all commands share; the numbers come from the kinds of failures.
 */
export const commonExitCodes: Readonly<Record<string, string>> = {
  0: 'done',
  1: 'an unexpected error: report it as a bug',
  2: 'the input is wrong: command line, setting, file, or data of the service',
  3: 'this build does not support it',
  4: 'the state of the host does not allow it',
  5: 'a remote service is out of reach, or refuses',
  6: 'an image or its medium is damaged',
  7: 'a time limit expired',
  8: 'the state of the cluster does not allow it',
  '128+N': 'stopped by signal N',
};

/**
 * A command of the program. Parsing, help, suggestions and `docs/cli.md` are made from it.
 */
export class ProgramCommand extends Command {
  /** Takes every flag of an install. The code of an install parses the flags, by Go's rules. */
  takesInstallFlags = false;
  /** Exit codes of this command that the common table does not have. */
  readonly exitCodes: Record<string, string> = {};
  readonly sections: Record<string, readonly HelpRow[]> = {};
  readonly examples: HelpRow[] = [];
  #exitCode = 0;
  #environment: Environment = {};

  override createCommand(name?: string): ProgramCommand {
    return new ProgramCommand(name).helpOption('-h, --help', 'print this help').helpCommand(false);
  }

  /**
   * Adds a command: a summary as short as the list of commands needs it, and further paragraphs for
   * its page.
   */
  add(name: string, summary: string, ...more: readonly string[]): ProgramCommand {
    return this.command(name)
      .summary(summary)
      .description([`${summary}${more.length > 0 ? '.' : ''}`, ...more].join('\n\n'));
  }

  /** Takes the flags of an install in addition to its own options. */
  installFlags(): this {
    this.takesInstallFlags = true;
    this.usage(`${this.usage()} [flags of an install]`);
    this.description(
      `${this.description()}\n\nTakes the flags and the environment of an install: see "bootwright help install".`,
    );
    return this.allowUnknownOption().allowExcessArguments();
  }

  /** Takes a required option. */
  needs(flags: string, summary: string): this {
    return this.requiredOption(flags, `${summary}; required`);
  }

  ends(exitCodes: Readonly<Record<number, string>>): this {
    Object.assign(this.exitCodes, exitCodes);
    return this;
  }

  section(title: string, rows: readonly HelpRow[]): this {
    this.sections[title] = rows;
    return this;
  }

  /** Environment variables of this command in addition to the common ones. */
  reads(environment: Readonly<Record<string, string>>): this {
    return this.section('Environment', Object.entries(environment));
  }

  example(line: string, purpose: string): this {
    this.examples.push([line, purpose]);
    return this;
  }

  /**
   * Sets how to load the function of the command, which happens after the line is parsed. The
   * function gets options by their names in camel case, `values` of its arguments, `argv` and
   * `environment`.
   */
  runs(load: () => Promise<(call: never) => number | Promise<number>>): this {
    return this.action(async () => {
      // Stack traces show lines of the sources. Reading the source maps takes a third of the start.
      setSourceMapsSupport(true);
      const switches = this.options.filter((option) => option.isBoolean());
      const call = {
        ...Object.fromEntries(switches.map((option) => [option.attributeName(), false])),
        ...this.opts(),
        ...(this.takesInstallFlags ? { argv: this.args } : { values: this.args }),
        environment: this.#root.#environment,
      };
      const run = await load();
      try {
        this.#root.#exitCode = await run(call as never);
      } catch (thrown) {
        throw this.#withOwnOptions(thrown);
      }
    });
  }

  /**
   * Runs the command that a line names, and resolves with its exit code.
   * @throws AgentError of parsing, `cli.bad-flag`, `cli.unknown-command`; also every error of the
   * command itself
   */
  async run(argv: readonly string[], environment: Environment = {}): Promise<number> {
    this.#environment = environment;
    try {
      await this.parseAsync(argv, { from: 'user' });
    } catch (thrown) {
      if (!(thrown instanceof CommanderError)) throw thrown;
      // Commander shows help unasked when the command is missing.
      return thrown.exitCode === 0 ? 0 : 2;
    }
    return this.#exitCode;
  }

  /** The words that name the command, without the name of the program. */
  get path(): readonly string[] {
    return this.parent instanceof ProgramCommand ? [...this.parent.path, this.name()] : [];
  }

  get subcommands(): readonly ProgramCommand[] {
    return this.commands as readonly ProgramCommand[];
  }

  /** The command and all its subcommands. */
  get all(): readonly ProgramCommand[] {
    return [this, ...this.subcommands.flatMap(({ all }) => all)];
  }

  get #root(): ProgramCommand {
    return this.parent instanceof ProgramCommand ? this.parent.#root : this;
  }

  /** @throws AgentError `cli.unknown-command` */
  find(words: readonly string[]): ProgramCommand {
    const [word, ...more] = words;
    if (word === undefined) return this;
    const found = this.subcommands.find((command) => command.name() === word);
    return (found ?? this.#unknown(word)).find(more);
  }

  /**
   * Refuses the name of a command, also a mistyped one, after the flags of an install.
   * @throws AgentError `cli.command-after-flags` with the right order
   */
  refuseLate(words: readonly string[], firstFlag = ''): void {
    const named = (name: string | undefined, among: readonly ProgramCommand[]) =>
      among.find((command) => command.name() === name);
    const below = this.all.slice(1);
    const names = this.#candidates('commander.unknownCommand');
    for (const [at, word] of words.entries()) {
      const command = named(word, below) ?? named(nearestName(word, names), below);
      if (command === undefined) continue;
      const path = (named(words[at + 1], command.all.slice(1)) ?? command).path.join(' ');
      const [flag = ''] = firstFlag.split('=');
      throw cliFailure(
        'cli.command-after-flags',
        `${JSON.stringify(word)} is written after flags, where an install would ignore it`,
        {
          hint: `write the command first: bootwright ${path} ${flag} …`,
          context: { command: path },
        },
      );
    }
  }

  #unknown(word: string): never {
    return this.error(`error: unknown command '${word}'`, { code: 'commander.unknownCommand' });
  }

  /** Help is shown only for a command that exists. */
  override outputHelp(context?: unknown): void {
    const [word = '-'] = this.args;
    if (this.commands.length > 0 && !word.startsWith('-')) this.find([word]);
    super.outputHelp(context as HelpContext);
  }

  override helpInformation(context?: HelpContext): string {
    const help = this.createHelp();
    help.prepareContext({ helpWidth: pageWidth });
    const codes = this.commands.length === 0 ? commonExitCodes : {};
    const sections = {
      ...this.sections,
      'Exit codes': Object.entries({ ...codes, ...this.exitCodes }),
    };
    return [
      super.helpInformation(context).trimEnd(),
      '',
      ...Object.entries(sections).flatMap(([title, rows]) => {
        const width = Math.max(...rows.map(([left]) => left.length));
        const items = rows.map(([left, right]) => help.formatItem(left, width, right, help));
        return help.formatItemList(`${title}:`, items, help);
      }),
      ...help.formatItemList(
        'Examples:',
        this.examples.map(([line, purpose]) => `  # ${purpose}\n  ${line}`),
        help,
      ),
    ].join('\n');
  }

  /** @throws AgentError in place of commander's own message and exit */
  override error(message: string, { code }: ErrorOptions = {}): never {
    const flag = this.args.find((word) => word.startsWith('-'));
    // Refuse a mistyped option first, before a missing option.
    if (code === 'commander.missingMandatoryOptionValue' && flag !== undefined)
      return this.error(`error: unknown option '${flag}'`, { code: 'commander.unknownOption' });
    const text = message.replace(/^error: /, '').replace(/\.$/, '');
    const [, typed = ''] = /(?:unknown \w+|argument|value) '([^'=]*)/.exec(text) ?? [];
    const near = nearestName(typed, this.#candidates(code));
    const path = this.path.join(' ');
    const before = ['bootwright', ...this.path].join(' ');
    if (code === 'commander.unknownCommand')
      throw cliFailure('cli.unknown-command', path === '' ? text : `\`${path}\`: ${text}`, {
        hint:
          near !== undefined
            ? `did you mean ${before} ${near}`
            : this.commands.length === 0
              ? `see "bootwright help ${path}"`
              : `run ${before} with one of ${this.#candidates(code).join(', ')}; see "${before} --help"`,
        context: { command: typed },
      });
    throw flagFailure('cli.bad-flag', `\`${path}\`: ${text}`, {
      hint: near === undefined ? `see "bootwright help ${path}"` : `did you mean ${near}`,
    });
  }

  /** The names to compare with a mistyped word. */
  #candidates(code?: string): readonly string[] {
    if (code === 'commander.unknownCommand') return this.commands.map((command) => command.name());
    if (code === 'commander.unknownOption') return this.options.flatMap(({ long }) => long ?? []);
    if (code !== 'commander.invalidArgument') return [];
    return [...this.options, ...this.registeredArguments].flatMap(
      ({ argChoices = [] }) => argChoices,
    );
  }

  /**
   * The code of an install knows only its own flags; a mistyped flag may be an option of this
   * command.
   */
  #withOwnOptions(thrown: unknown): unknown {
    if (!(thrown instanceof AgentError) || thrown.code !== 'cli.unknown-flag') return thrown;
    const { message, context } = thrown;
    const near = nearestName(
      `--${String(context['flag'])}`,
      this.#candidates('commander.unknownOption'),
    );
    if (near === undefined) return thrown;
    return flagFailure('cli.unknown-flag', message, { hint: `did you mean ${near}`, context });
  }
}

const pageWidth = 80;

/** Output of commander for pages only: a fixed width, no queries to the streams of the process. */
export const pageOutput = (
  print: (text: string) => void,
  printError: (text: string) => void,
): OutputConfiguration => ({
  writeOut: print,
  writeErr: printError,
  getOutHelpWidth: () => pageWidth,
  getErrHelpWidth: () => pageWidth,
  getOutHasColors: () => false,
  getErrHasColors: () => false,
});

/** The option `--format`; the first form is the default. */
export const format = (...forms: readonly [string, ...string[]]): Option =>
  new Option('--format <FORMAT>', 'output format').choices(forms).default(forms[0]);

/** Adds the options of programs that run in a pod. */
export const inPod = (command: ProgramCommand): ProgramCommand =>
  command
    .option(
      '--kubeconfig <FILE>',
      'kubeconfig of the cluster; default: the service account of the pod',
    )
    .option('--verbose', 'log at level debug');

/** Adds the options of programs that run until they are stopped. */
export const managing = (command: ProgramCommand): ProgramCommand =>
  inPod(command).option('--metrics <ADDR>', 'serve Prometheus metrics on HOST:PORT');

/** Environment variables for the API server; every pod has them. */
export const podEnvironment = {
  KUBERNETES_SERVICE_HOST: 'address of the API; set in every pod',
  KUBERNETES_SERVICE_PORT: 'its port; 443 unless set',
} as const;

/** Environment variables for the user's proxies. */
export const proxyEnvironment = {
  'HTTP_PROXY HTTPS_PROXY NO_PROXY': 'proxies, in upper or lower case',
} as const;
