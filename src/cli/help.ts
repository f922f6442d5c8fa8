import { flagRows, ownFlagRows } from '../config/flag-table.ts';
import { flagName } from '../config/go-flags.ts';
import { version } from '../model/version.ts';
import {
  type ArgumentRow,
  type CommandRow,
  type OptionRow,
  watchersEnvironment,
} from './command-row.ts';
import { commands, type CommandPlace, root } from './commands.ts';
import { wrapped } from './messages.ts';

/** A line of two columns: a name, and what it is. */
export type HelpRow = readonly [left: string, right: string];

/** A part of a help page; the documents show the same parts. */
export interface Section {
  readonly title: string;
  readonly paragraphs?: readonly string[];
  /** Command lines. */
  readonly lines?: readonly string[];
  readonly rows?: readonly HelpRow[];
}

/** What is on the help page of a command. */
export function sectionsOf(place: CommandPlace): readonly Section[] {
  const { path, row } = place;
  const isInstall = path.length === 0 || path[0] === 'install';
  const { description = [], options = {}, argument, examples = [] } = row;
  const sections: readonly Section[] = [
    { title: 'Usage', lines: usageOf(place) },
    { title: 'Description', paragraphs: [...description, ...installNote(place)] },
    { title: 'Commands', rows: commandRows(row) },
    { title: 'Arguments', rows: argument === undefined ? [] : [argumentRow(argument)] },
    { title: 'Options', rows: Object.entries(options).map(optionRow) },
    ...(isInstall ? flagSections : []),
    { title: 'Environment', rows: environmentOf(place) },
    ...(isInstall ? [sources] : []),
    { title: 'Exit codes', rows: exitCodesOf(place) },
    { title: 'Examples', rows: examples },
  ];
  return sections.filter(({ paragraphs = [], lines = [], rows = [] }) =>
    [paragraphs, lines, rows].some(({ length }) => length > 0),
  );
}

/** The help page of a command; no line is wider than 80 columns but for an example. */
export function helpText(place: CommandPlace = root): string {
  const name = place.path.length === 0 ? version : place.path.join(' ');
  const title = wrapped(`bootwright ${name}: ${place.row.summary}`, pageWidth);
  const sections = sectionsOf(place).flatMap(
    ({ title, paragraphs = [], lines = [], rows = [] }) => [
      '',
      title,
      ...paragraphs.flatMap((one) => indented(wrapped(one, pageWidth - 2))),
      ...lines.flatMap((line) => indented(wrapped(line, pageWidth - 4).map(hanging))),
      ...(title === 'Examples' ? rows.flatMap(exampleLines) : columns(rows)),
    ],
  );
  return [...title, ...sections, ''].join('\n');
}

const pageWidth = 80;
const widestLeft = 34;

const indented = (lines: readonly string[]): readonly string[] => lines.map((line) => `  ${line}`);

const hanging = (line: string, index: number): string => (index === 0 ? line : `  ${line}`);

const exampleLines = ([line, purpose]: HelpRow): readonly string[] =>
  indented([`# ${purpose}`, line]);

/** Two columns; what is too long for its own continues in a line of its own. */
function columns(rows: readonly HelpRow[]): readonly string[] {
  const width = Math.min(widestLeft, Math.max(0, ...rows.map(([left]) => left.length)) + 2);
  return rows.flatMap(([left, right]) => {
    const [first = '', ...more] = wrapped(right, pageWidth - 2 - width);
    const rest = more.map((line) => `${' '.repeat(width)}${line}`);
    const isLong = left.length > width - 2;
    const head = isLong
      ? [left, `${' '.repeat(width)}${first}`]
      : [`${left.padEnd(width)}${first}`.trimEnd()];
    return indented([...head, ...rest]);
  });
}

/** The lines by which a command is used. */
function usageOf({ path, row }: CommandPlace): readonly string[] {
  const name = ['bootwright', ...path].join(' ');
  if (path.length === 0) return ['bootwright -r ROLE [flags]', 'bootwright COMMAND [flags]'];
  if (path[0] === 'install') return ['bootwright -r ROLE [flags]', `${name} [flags]`];
  if (row.commands !== undefined) return [`${name} COMMAND [options]`];
  const options = Object.entries(row.options ?? {});
  const required = options.filter(([, { isRequired }]) => isRequired === true).map(optionName);
  const words = [
    name,
    ...required,
    ...(options.length > required.length ? ['[options]'] : []),
    ...(row.takesInstallFlags === true ? ['[flags of an install]'] : []),
    ...(row.argument === undefined ? [] : [argumentName(row.argument)]),
  ];
  return [words.join(' ')];
}

const installNote = ({ path, row }: CommandPlace): readonly string[] =>
  row.takesInstallFlags === true && path[0] !== 'install'
    ? ['Takes the flags and the environment of an install: see "bootwright help install".']
    : [];

function argumentName({ placeholder, isRepeatable, isOptional }: ArgumentRow): string {
  const name = `${placeholder}${isRepeatable === true ? '...' : ''}`;
  return isOptional === true ? `[${name}]` : name;
}

const argumentRow = (argument: ArgumentRow): HelpRow => [
  argumentName(argument),
  `${argument.summary}${argument.words === undefined ? '' : `: ${argument.words.join(', ')}`}`,
];

/** An option with the name of its value. */
const optionName = ([name, { value }]: readonly [string, OptionRow]): string =>
  `--${name}${value === undefined ? '' : ` ${value.placeholder}`}`;

const optionRow = ([name, option]: readonly [string, OptionRow]): HelpRow => [
  optionName([name, option]),
  [
    option.summary,
    ...(option.byDefault === undefined ? [] : [`default: ${option.byDefault}`]),
    ...(option.isRequired === true ? ['required'] : []),
  ].join('; '),
];

const commandRows = ({ commands: below = {} }: CommandRow): readonly HelpRow[] =>
  Object.entries(below).map(([name, { summary }]) => [name, summary]);

const flagRow = ([name, { placeholder, summary }]: readonly [
  string,
  { readonly placeholder?: string; readonly summary: string },
]): HelpRow => [`${flagName(name)}${placeholder === undefined ? '' : ` ${placeholder}`}`, summary];

const isLongName = ([name]: readonly [string, unknown]): boolean => name.length > 1;

const oldAndNew = Object.entries(flagRows).filter(isLongName);

const flagSections: readonly Section[] = [
  {
    title: 'Flags (-x is the same as --x; a value may also follow =)',
    rows: oldAndNew.filter(([, { era }]) => era === undefined).map(flagRow),
  },
  {
    title: 'Flags of Bootwright',
    rows: [
      ...Object.entries(ownFlagRows).filter(isLongName).map(flagRow),
      ['--SECTION.KEY VALUE', 'any setting, --image.url for example'],
    ],
  },
  {
    title: 'Flags that older services send',
    rows: oldAndNew.filter(([, { era }]) => era !== undefined).map(flagRow),
  },
];

const sources: Section = {
  title: 'Settings',
  paragraphs: [
    'Settings come from /etc/bootwright/config.yaml, each --config FILE, the environment and the flags; the later source wins.',
  ],
};

const watchedEnvironment = Object.entries(watchersEnvironment);

const installEnvironment: readonly HelpRow[] = [
  ['PULL_SECRET_TOKEN', 'token of the service'],
  ['AWS_ACCESS_KEY_ID …', 'credentials of an object store'],
  ['BOOTWRIGHT_SECTION_KEY', 'any setting, BOOTWRIGHT_IMAGE_URL'],
  ['S3_URL BUCKET CLUSTER_ID DEVICE', 'Ignition from an object store, no service'],
  ['HTTP_PROXY HTTPS_PROXY NO_PROXY', 'proxies, in upper or lower case'],
  ['DRY_ENABLE …', 'load-test the service'],
  ...watchedEnvironment,
];

const environmentOf = ({ path, row }: CommandPlace): readonly HelpRow[] =>
  path.length === 0 || path[0] === 'install'
    ? installEnvironment
    : Object.entries(row.environment ?? {});

/** What the exit codes mean for every command; the numbers are those of the kinds of failures. */
export const commonExitCodes: Readonly<Record<string, string>> = {
  0: 'done',
  1: 'a bug, or anything else that is not expected',
  2: 'the input is wrong: command line, setting, file, or data of the service',
  3: 'this build does not support it',
  4: 'the state of the host does not allow it',
  5: 'a remote service is out of reach, or refuses',
  6: 'an image or its medium is damaged',
  7: 'a time limit expired',
  8: 'the state of the cluster does not allow it',
  '128+N': 'stopped by signal N',
};

const exitCodesOf = ({ row }: CommandPlace): readonly HelpRow[] =>
  row.commands !== undefined && row.commands !== commands
    ? []
    : Object.entries({ ...commonExitCodes, ...row.exitCodes });
