import { derive, journalPathOf, requireComplete } from '../config/complete.ts';
import { type Environment, isControllerEnvironment } from '../config/environment.ts';
import { configFailure } from '../config/failures.ts';
import { asksHelp, wordsBehindFlags } from '../config/flags.ts';
import { type Layer, mergeLayers, proxiesOf, textIn } from '../config/settings.ts';
import { type CommandSettings, defaultConfigFile, readSettings } from '../config/sources.ts';
import { asAgentError } from '../engine/failures.ts';
import { exitCodes } from '../model/failure.ts';
import { Secret } from '../model/secret.ts';
import { version } from '../model/version.ts';
import {
  type CommandName,
  type CommandPlace,
  findCommand,
  type Found,
  refuseLateCommand,
} from './commands.ts';
import { cliFailure } from './failures.ts';
import type { ReportRequest, SentReport } from './first-report.ts';
import { helpText } from './help.ts';
import { exitCodeOf, failureText } from './messages.ts';
import type { Program } from './program.ts';
import type { FailedStart } from './service.ts';
import { type StopSignal, stopSignal } from './stop-signal.ts';

/** What the start of the program needs of the process. */
export interface StartContext {
  /** The arguments of the program. */
  readonly argv: readonly string[];
  readonly environment: Environment;
  readonly print: (text: string) => void;
  readonly printError: (text: string) => void;
  readonly fileExists: (path: string) => boolean;
  /** Sends the first report; called at most once. */
  readonly report: (request: ReportRequest) => Promise<SentReport>;
  /** Loads the rest of the program, which takes longer than everything before it. */
  readonly loadProgram: (command: CommandName) => Promise<Program>;
}

/**
 * Runs one command line and resolves with the exit code. Help, the version and the refusal of a
 * wrong command line need no more of the program than this.
 */
export async function start(context: StartContext): Promise<number> {
  const { argv, print, printError } = context;
  try {
    const { place, args } = readCommandLine(argv, context.environment);
    const [command = 'install', ...below] = place.path as readonly CommandName[];
    if (argv.length === 0 && place.path.length === 0) {
      printError(helpText());
      return exitCodes.input;
    }
    if (command === 'install') return await startInstall(context, place, args);
    if (command === 'help' || asksPage(args)) {
      print(helpText(command === 'help' ? pageOf(args) : place));
      return 0;
    }
    const program = await context.loadProgram(command);
    return await program.runCommand({
      command,
      args: [...below, ...args],
      environment: context.environment,
    });
  } catch (thrown) {
    printError(failureText(thrown));
    return exitCodeOf(thrown);
  }
}

async function startInstall(
  context: StartContext,
  place: CommandPlace,
  argv: readonly string[],
): Promise<number> {
  if (asksHelp(argv)) {
    context.print(helpText(place));
    return 0;
  }
  refuseLateCommand(wordsBehindFlags(argv), argv[0]);
  using stop = stopSignal();
  try {
    return await runInstall(context, argv, stop);
  } catch (thrown) {
    context.printError(failureText(thrown));
    await reportFailure(context, { argv, failure: asAgentError(thrown), stop });
    return stop.exitCode() ?? exitCodeOf(thrown);
  }
}

/** @throws AgentError what is wrong before the install begins; what comes then is reported by the run */
async function runInstall(
  context: StartContext,
  argv: readonly string[],
  stop: StopSignal,
): Promise<number> {
  const settings = readSettings(argv, context.environment);
  if (settings.flags.asksVersion) {
    context.print(`${version}\n`);
    return 0;
  }
  const early = await reportEarly(context, settings);
  await early?.hasLeft;
  const program = await context.loadProgram('install');
  try {
    return await program.runInstall({
      settings,
      stop,
      ...(early === undefined ? {} : { early }),
    });
  } finally {
    early?.close();
  }
}

/** The service hears of a start that failed as it does of a run. Whatever goes wrong in that changes nothing. */
async function reportFailure(
  { environment, loadProgram }: StartContext,
  start: Omit<FailedStart, 'environment'>,
): Promise<void> {
  try {
    const program = await loadProgram('install');
    await program.reportFailedStart({ ...start, environment });
  } catch {
    // The failure itself was printed.
  }
}

/** A file can change every setting and takes a parser to read, so with one the report waits. */
async function reportEarly(
  { fileExists, report }: StartContext,
  { flags, layers }: CommandSettings,
): Promise<SentReport | undefined> {
  if (flags.configFiles.length > 0 || fileExists(defaultConfigFile)) return undefined;
  const request = decideEarlyReport(layers);
  if (request === undefined) return undefined;
  requireCaFile(request, fileExists);
  if (!flags.isFresh && fileExists(journalPathOf(layers))) return undefined;
  return report(request);
}

/** The report itself would only fail without the file; a mistake on the command line ends the start. */
function requireCaFile(
  { caFile, isInsecure }: ReportRequest,
  fileExists: StartContext['fileExists'],
): void {
  if (caFile === '' || isInsecure || fileExists(caFile)) return;
  throw configFailure('config.file-not-read', `service.caFile: ${caFile} does not exist`, {
    context: { file: caFile },
  });
}

/**
 * Decides whether the first report can leave before the rest of the program is loaded: the line
 * must be complete, and name a version 2 service and this host. Undefined when the report has to
 * wait; then the run sends it.
 * @throws AgentError `config.incomplete` when an install cannot start at all
 */
function decideEarlyReport(layers: readonly Layer[]): ReportRequest | undefined {
  const given = derive(mergeLayers(layers));
  requireComplete(given);
  const service = textIn(given, 'service.url');
  const infraEnvId = textIn(given, 'cluster.infraEnvId');
  const hostId = textIn(given, 'cluster.hostId');
  if (service === '' || infraEnvId === '' || hostId === '') return undefined;
  if (textIn(given, 'service.api', 'v2') !== 'v2') return undefined;
  if (textIn(given, 'service.tokenFile') !== '') return undefined;
  if (textIn(given, 'dry.clusterHosts') !== '') return undefined;
  const token = given.get('service.token')?.value;
  return {
    stage: 'Starting installation',
    info: textIn(given, 'role', 'master'),
    service,
    infraEnvId,
    hostId,
    token: token instanceof Secret ? token : new Secret(''),
    isInsecure: given.get('service.insecure')?.value === true,
    caFile: textIn(given, 'service.caFile'),
    proxies: proxiesOf(given),
  };
}

/**
 * Finds the command of a command line: flags alone mean `install`; nothing at all means help, and in the job of the
 * controller, which names no command, `controller`.
 * @throws AgentError `cli.unknown-command`
 */
function readCommandLine(argv: readonly string[], environment: Environment): Found {
  if (argv.length === 0 && isControllerEnvironment(environment)) return findCommand(['controller']);
  return findCommand(argv);
}

/** Whether the page of a command is asked for; what follows `--` is an argument. */
function asksPage(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  const flags = end < 0 ? args : args.slice(0, end);
  return flags.some((word) => word === '-h' || word === '--help' || word === '-help');
}

/**
 * The command that `help` is asked for.
 * @throws AgentError `cli.unknown-command`
 */
function pageOf(words: readonly string[]): CommandPlace {
  const { place, args } = findCommand(words);
  const [extra] = args;
  if (extra === undefined || extra.startsWith('-')) return place;
  throw cliFailure(
    'cli.unknown-command',
    `\`${place.path.join(' ')}\` has no subcommand ${JSON.stringify(extra)}`,
    {
      hint: `see "bootwright help ${place.path.join(' ')}"`,
      context: { command: extra },
    },
  );
}
