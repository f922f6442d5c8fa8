import type { Environment } from '../config/environment.ts';
import { configFailure } from '../config/failures.ts';
import { asksHelp } from '../config/flags.ts';
import { decideEarlyReport, journalPathOf, type ReportRequest } from './early-report.ts';
import { readCommandLine } from './command-line.ts';
import { exitCodeOf, failureText } from './messages.ts';
import { helpText } from './help.ts';
import type { SentReport } from './first-report.ts';
import type { Program } from './program.ts';
import { type CommandSettings, defaultConfigFile, readSettings } from '../config/sources.ts';
import { version } from './commands.ts';

/** The world as the start of the program sees it. */
export interface Surroundings {
  /** The words behind the name of the program. */
  readonly argv: readonly string[];
  readonly environment: Environment;
  readonly print: (text: string) => void;
  readonly complain: (text: string) => void;
  readonly fileExists: (path: string) => boolean;
  /** Sends the first report; called at most once. */
  readonly report: (request: ReportRequest) => Promise<SentReport>;
  /** Loads the rest of the program, which takes longer than everything before it. */
  readonly loadProgram: () => Promise<Program>;
}

/**
 * Runs one command line and resolves with the exit code. Help, the version and every mistake on
 * the command line are dealt with before the rest of the program is loaded.
 */
export async function start(surroundings: Surroundings): Promise<number> {
  const { argv, print, complain } = surroundings;
  try {
    const { command, words } = readCommandLine(argv);
    if (command === 'help') {
      print(helpText());
      return 0;
    }
    if (command === 'install') return await startInstall(surroundings, words);
    const program = await surroundings.loadProgram();
    return await program.runCommand({ command, words, environment: surroundings.environment });
  } catch (thrown) {
    complain(failureText(thrown));
    return exitCodeOf(thrown);
  }
}

async function startInstall(surroundings: Surroundings, words: readonly string[]): Promise<number> {
  if (asksHelp(words)) {
    surroundings.print(helpText());
    return 0;
  }
  const { environment } = surroundings;
  const settings = readSettings(words, environment);
  if (settings.flags.asksVersion) {
    surroundings.print(`${version}\n`);
    return 0;
  }
  const early = await reportEarly(surroundings, settings);
  await early?.hasLeft;
  const program = await surroundings.loadProgram();
  try {
    return await program.runInstall({
      words,
      environment,
      ...(early === undefined ? {} : { firstReport: early.report }),
    });
  } finally {
    early?.close();
  }
}

/** A file can change every setting and takes a parser to read, so with one the report waits. */
async function reportEarly(
  { fileExists, report }: Surroundings,
  { flags, layers }: CommandSettings,
): Promise<SentReport | undefined> {
  if (flags.configFiles.length > 0 || fileExists(defaultConfigFile)) return undefined;
  const request = decideEarlyReport(layers);
  if (request === undefined) return undefined;
  requireCaFile(request, fileExists);
  if (!flags.isFresh && fileExists(journalPathOf(layers))) return undefined;
  return report(request);
}

/** The report itself drops what it cannot trust; a mistake on the line is to be told before it. */
function requireCaFile(
  { caFile, isInsecure }: ReportRequest,
  fileExists: Surroundings['fileExists'],
): void {
  if (caFile === '' || isInsecure || fileExists(caFile)) return;
  throw configFailure('config.file-not-read', `service.caFile: ${caFile} does not exist`, {
    context: { file: caFile },
  });
}
