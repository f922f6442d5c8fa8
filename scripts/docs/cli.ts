import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commonExitCodes, type HelpRow, type ProgramCommand } from '../../src/cli/command.ts';
import { bootwright } from '../../src/cli/program/commands.ts';
import { wrapped } from '../../src/cli/messages.ts';
import { bundlePathFor, journalPath, statusPath } from '../../src/config/complete.ts';
import { checkConfig } from '../../src/config/load.ts';
import { defaultConfigFile } from '../../src/config/files.ts';
import { version } from '../../src/model/version.ts';
import { codeCell, pageOf, sections, table } from './markdown.ts';

const program = bootwright();

/** The commands that do something, in the order of the help. */
const leaves = program.all.filter(({ commands }) => commands.length === 0);

const nameOf = ({ path }: ProgramCommand): string => ['bootwright', ...path].join(' ');

/** A part of what the documents show of a command. */
interface Section {
  readonly title: string;
  readonly paragraphs: readonly string[];
  /** Command lines. */
  readonly lines: readonly string[];
  readonly rows: readonly HelpRow[];
}

/** The flags of an install and the common exit codes are shown once, elsewhere. */
function ownSections(command: ProgramCommand): readonly Section[] {
  const help = command.createHelp();
  const own = Object.entries(command.sections).filter(
    ([title]) => !/^(?:Flags|Settings)/.test(title),
  );
  const lines = help.commandUsage(command).split('\n');
  const sections: readonly (Pick<Section, 'title'> & Partial<Section>)[] = [
    { title: 'Usage', lines: lines.map((line) => line.trim()) },
    { title: 'Description', paragraphs: command.description().split('\n\n').slice(1) },
    {
      title: 'Arguments',
      rows: command.registeredArguments.map((argument) => [
        help.argumentTerm(argument),
        help.argumentDescription(argument),
      ]),
    },
    {
      title: 'Options',
      rows: command.options.map((option) => [
        help.optionTerm(option),
        help.optionDescription(option),
      ]),
    },
    ...own.map(([title, rows]) => ({ title, rows })),
    { title: 'Exit codes', rows: Object.entries(command.exitCodes) },
    { title: 'Examples', rows: command.examples },
  ];
  return sections
    .map((section): Section => ({ paragraphs: [], lines: [], rows: [], ...section }))
    .filter((one) => one.paragraphs.length + one.lines.length + one.rows.length > 0);
}

/** The page of every command. */
export const cliPage = (): string =>
  pageOf('cli', {
    list: leaves
      .map((place) => `- [${nameOf(place)}](#${anchorOf(nameOf(place))}): ${place.summary()}`)
      .join('\n'),
    commands: sections(leaves.flatMap(commandPage)),
    exitCodes: table(
      ['Code', 'Meaning'],
      Object.entries(commonExitCodes).map(([code, meaning]) => [codeCell(code), meaning]),
    ),
  });

const anchorOf = (command: string): string => command.replaceAll(' ', '-');

const commandPage = (place: ProgramCommand): readonly string[] => [
  `## ${nameOf(place)}`,
  sentence(place.summary()),
  ...ownSections(place).flatMap(sectionPage),
];

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

const shell = (lines: readonly string[]): string => ['```sh', ...lines, '```'].join('\n');

function sectionPage({ title, paragraphs, lines, rows }: Section): readonly string[] {
  if (title === 'Examples')
    return [shell(rows.flatMap(([line, purpose]) => [`# ${purpose}`, line]))];
  const cells = rows.map(([left, right]) => [codeCell(left), right]);
  return [
    ...paragraphs.map(linked),
    ...(lines.length === 0 ? [] : [shell(lines)]),
    ...(cells.length === 0 ? [] : [table([title, 'Meaning'], cells)]),
  ];
}

/** A command that a text names in quotes is its section here. */
const linked = (text: string): string =>
  text.replaceAll(/"bootwright help ([a-z ]+)"/g, (_, name: string) => {
    const whole = `bootwright ${name}`;
    return `[${whole}](#${anchorOf(whole)})`;
  });

/** The man page, for groff and mandoc. */
export function manPage(): string {
  const flags = Object.entries(program.sections).filter(([title]) => title.startsWith('Flags'));
  return [
    '.\\" Written by npm run docs from src/cli/program/commands.ts.',
    `.TH BOOTWRIGHT 1 ${releaseDate()} "bootwright ${version}" "User Commands"`,
    '.SH NAME',
    `bootwright \\- ${roff(program.description())}`,
    '.SH SYNOPSIS',
    ...(ownSections(program)[0]?.lines ?? []).flatMap((line) => [bold(line), '.br']).slice(0, -1),
    '.SH DESCRIPTION',
    ...filled(
      'Turns a bare-metal host into a node of an OpenShift cluster; further commands show, check and complete that.',
    ),
    '.SH COMMANDS',
    ...leaves.flatMap(commandManual),
    ...flags.flatMap(([title, rows]) => [
      `.SH ${quoted(title.replace(/ \(.*/, '').toUpperCase())}`,
      ...rows.flatMap(tagged),
    ]),
    '.SH "EXIT STATUS"',
    ...Object.entries(commonExitCodes).flatMap(tagged),
    '.SH ENVIRONMENT',
    ...(program.sections['Environment'] ?? []).flatMap(tagged),
    '.SH FILES',
    ...files().flatMap(tagged),
    '.SH "SEE ALSO"',
    `.BR ${seeAlso.join(',\n.BR ')}`,
    '',
  ].join('\n');
}

/** The date of the release; a man page without one is of no known age. */
function releaseDate(): string {
  const changelog = readFileSync(join(import.meta.dirname, '../../CHANGELOG.md'), 'utf8');
  const [, date] =
    new RegExp(`^## \\[${version}\\] - (\\d{4}-\\d\\d-\\d\\d)$`, 'm').exec(changelog) ?? [];
  if (date === undefined) throw new Error(`CHANGELOG.md has no date of ${version}`);
  return date;
}

/**
 * What an install reads and leaves on its host, by the paths that it has unless a setting says
 * otherwise.
 */
function files(): readonly HelpRow[] {
  const { config } = checkConfig([]);
  const atAnyTime = (path: string): string => path.replace(/[\dTZ]+(?=\.)/, 'TIME');
  return [
    [defaultConfigFile, 'settings of this host'],
    [journalPath, 'what a run did, by which the next one continues'],
    [statusPath, 'where the run is: what "bootwright status" prints'],
    [atAnyTime(bundlePathFor(0)), 'logs of a failed run, for "bootwright logs read"'],
    [
      atAnyTime(bundlePathFor(0, 'logs')),
      'logs that "bootwright logs collect" has collected, for "bootwright logs read"',
    ],
    [config.log.file, 'log'],
  ];
}

/** Manuals of what it runs, or is run by. */
const seeAlso = [
  ...['bootc (8)', 'coreos\\-installer (8)', 'nm\\-settings\\-keyfile (5)', 'nsenter (1)'],
  ...['podman (1)', 'podman\\-systemd.unit (5)', 'rpm\\-ostree (1)', 'ssh (1)'],
];

const commandManual = (place: ProgramCommand): readonly string[] => [
  `.SS ${quoted(nameOf(place))}`,
  ...filled(sentence(place.summary())),
  ...ownSections(place).flatMap(sectionManual),
];

function sectionManual({ title, paragraphs, lines, rows }: Section): readonly string[] {
  const example = ([line, purpose]: HelpRow): readonly string[] => [
    ...['.PP', ...filled(sentence(purpose)), '.br', bold(line)],
  ];
  if (title === 'Examples') return rows.flatMap(example);
  const isNamed = rows.length > 0 && !['Options', 'Arguments'].includes(title);
  return [
    ...(isNamed ? ['.PP', `${title}:`] : []),
    ...lines.flatMap((line) => ['.PP', bold(line)]),
    ...paragraphs.flatMap((text) => ['.PP', ...filled(text)]),
    ...rows.flatMap(tagged),
  ];
}

const tagged = ([left, right]: readonly [string, string]): readonly string[] => [
  '.TP',
  bold(left),
  ...filled(right),
];

/**
 * A paragraph: roff fills lines by itself, and none of its source is to be longer than 80 bytes.
 */
const filled = (text: string): readonly string[] => wrapped(roff(text), 80).map(literal);

/** A line that is no request. */
const literal = (line: string): string => line.replace(/^\./, '\\&.');

const bold = (text: string): string => `\\fB${roff(text)}\\fR`;

const quoted = (text: string): string => `"${roff(text)}"`;

/** A text as roff takes it for itself: backslashes, dashes and quotes unchanged. */
const roff = (text: string): string =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('"', '\\(dq')
    .replaceAll("'", '\\(aq')
    .replaceAll('…', '...');
