import { commonExitCodes, type HelpRow, type ProgramCommand } from '../../src/cli/command.ts';
import { bootwright } from '../../src/cli/program/commands.ts';
import { codeCell, pageOf, sections, table } from './markdown.ts';

const program = bootwright();

/** The commands that do something, in the order of the help. */
const leaves = program.all.filter(({ commands }) => commands.length === 0);

const nameOf = ({ path }: ProgramCommand): string => ['bootwright', ...path].join(' ');

/** A part of what the page shows of a command. */
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
