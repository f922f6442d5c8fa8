import { Arg, DockerfileParser, Env, type Instruction as Parsed, Keyword } from 'dockerfile-ast';
import { jsonIn } from '../../lib/json.ts';

/** The instructions that a builder knows. */
export const keywords: readonly string[] = Object.values(Keyword);

/** Whether a word is an instruction, in whichever case. */
export const isKeyword = (word: string): boolean => keywords.includes(word.toUpperCase());

/** An instruction of a Containerfile. */
export interface Instruction {
  /** In upper case: `RUN`, `COPY`. */
  readonly keyword: string;
  /** What follows the flags, as words: those of the form in brackets, else split at blanks. */
  readonly words: readonly string[];
  /** What an ENV or an ARG sets, as it is written; an ARG may set no value. */
  readonly variables: readonly (readonly [name: string, value: string | undefined])[];
  /** The lines of its here-documents. */
  readonly body: readonly string[];
  /** The word that would end its last here-document, where it is missing. */
  readonly unterminated?: string;
  /** The parser cannot know where its here-document ends. Nothing that follows is read. */
  readonly isUnclear: boolean;
  /** From 1. */
  readonly line: number;
}

/** The characters of a Containerfile that are read; a MachineOSConfig takes 4096. */
export const MAX_CONTAINERFILE = 65_536;

/**
 * A comment, without its text: the parser reads a line of `# # #` once for each sign, and `#
 * escape=` as a directive, which it is not below the operator's template.
 */
const COMMENT = /^([ \t]{0,200}#)[^\r\n]*/gm;

/** Splits a Containerfile into its instructions. Comments are left out. */
export function parseContainerfile(content: string): readonly Instruction[] {
  const text = content.slice(0, MAX_CONTAINERFILE);
  const lines = text.split(/\r?\n/);
  const instructions = DockerfileParser.parse(text.replaceAll(COMMENT, '$1'))
    .getInstructions()
    .map((parsed) => instructionOf(parsed, lines));
  const unclear = instructions.findIndex(({ isUnclear }) => isUnclear);
  return unclear < 0 ? instructions : instructions.slice(0, unclear + 1);
}

/** A word that begins a here-document: `<<E`, `<<-"E"`. `<<<` does not. */
const HEREDOC = /^\d*<<-?(?=[^<])/;
/** Of these, the ones that the parser reads as builders do. */
const PLAIN_HEREDOC = /^<<-?(["']?)([^\s"'<]+)\1$/;

function instructionOf(parsed: Parsed, lines: readonly string[]): Instruction {
  const keyword = parsed.getKeyword();
  const { start, end } = parsed.getRange();
  const found = parsed.getArguments().map((argument) => ({
    word: argument.getValue(),
    line: argument.getRange().start.line,
  }));
  const mayHaveDocuments = keyword === 'RUN' || keyword === 'COPY' || keyword === 'ADD';
  const first = mayHaveDocuments ? found.find(({ word }) => HEREDOC.test(word)) : undefined;
  const header = found.filter(({ line }) => first === undefined || line <= first.line);
  const words = header.map(({ word }) => word);
  const documents = first === undefined ? [] : words.filter((word) => HEREDOC.test(word));
  const isUnclear = documents.some((word) => !PLAIN_HEREDOC.test(word));
  return {
    keyword,
    words: bracketed(parsed.getArgumentsContent() ?? '') ?? words,
    variables: variablesOf(parsed),
    body: first === undefined ? [] : lines.slice(first.line + 1, end.line + 1),
    ...(isUnclear ? {} : unterminatedIn(documents, lines[end.line] ?? '')),
    isUnclear,
    line: start.line + 1,
  };
}

function unterminatedIn(
  documents: readonly string[],
  lastLine: string,
): Pick<Instruction, 'unterminated'> {
  const last = documents.at(-1);
  if (last === undefined) return {};
  const word = PLAIN_HEREDOC.exec(last)?.[2] ?? '';
  const end = last.startsWith('<<-') ? lastLine.replace(/^\t+/, '') : lastLine;
  return end === word ? {} : { unterminated: word };
}

/**
 * The texts of the form with brackets, which is JSON; undefined where it is none and words are
 * meant.
 */
function bracketed(text: string): readonly string[] | undefined {
  if (!text.startsWith('[')) return undefined;
  const words = jsonIn(text);
  const isList = Array.isArray(words) && words.every((word) => typeof word === 'string');
  return isList ? words : undefined;
}

function variablesOf(parsed: Parsed): Instruction['variables'] {
  if (!(parsed instanceof Env || parsed instanceof Arg)) return [];
  return parsed
    .getProperties()
    .map((one) => [one.getName(), one.getUnescapedValue() ?? undefined] as const);
}

/** A stage of a Containerfile. */
export interface BuildStage {
  /**
   * What it is built from: an image or an earlier stage. Empty for the stage of the operator's
   * template, which continues. A variable without a value stays as it is written.
   */
  readonly base: string;
  /** The earlier stage that it is built on, if it is one. */
  readonly parent?: BuildStage;
  /**
   * Whether it goes back to a stage `configs`, which the operator puts before the text of the user.
   */
  readonly isOnConfigs: boolean;
  /** Empty when it has none. */
  readonly name: string;
  /** Whether no builder understands its FROM. */
  readonly isMalformed: boolean;
  /** The line of its FROM. */
  readonly line: number;
  readonly instructions: readonly Instruction[];
}

/**
 * The stages in their order. What is before the first FROM, an ARG too, continues the last stage of
 * the operator's template (machine-config-operator, `Containerfile.on-cluster-build-template`):
 * builders give a FROM the ARGs before the first FROM of the whole file alone, which is the
 * template's. Names know no case.
 */
export function stagesOf(instructions: readonly Instruction[]): readonly BuildStage[] {
  const starts = instructions.flatMap(({ keyword }, index) => (keyword === 'FROM' ? [index] : []));
  const named = new Map<string, BuildStage>();
  const before = instructions.slice(0, starts[0]);
  const continued = before.length > 0 ? [templateStage(before)] : [];
  for (const stage of continued) named.set(stage.name, stage);
  const own = starts.map((start, at) => {
    const { words = [], line = 1 } = instructions[start] ?? {};
    const [image = '', , name = ''] = words;
    const base = expanded(image, () => undefined);
    const isNamed = isNamedStage(words);
    const parent = named.get(base.toLowerCase());
    const stage: BuildStage = {
      base,
      ...(parent === undefined ? {} : { parent }),
      isOnConfigs: base.toLowerCase() === 'configs' || parent?.isOnConfigs === true,
      name: isNamed ? name : '',
      isMalformed: words.length !== 1 && !isNamed,
      line,
      instructions: instructions.slice(start + 1, starts[at + 1]),
    };
    if (isNamed) named.set(name.toLowerCase(), stage);
    return stage;
  });
  return [...continued, ...own];
}

const templateStage = (instructions: readonly Instruction[]): BuildStage => ({
  base: '',
  name: 'configs',
  isOnConfigs: true,
  isMalformed: false,
  line: instructions[0]?.line ?? 1,
  instructions,
});

const isNamedStage = (words: readonly string[]): boolean =>
  words.length === 3 && words[1]?.toUpperCase() === 'AS';

/** The value of a variable, where it is known. */
export type Variables = (name: string) => string | undefined;

/** One thing of a word: quotes, an escape, a variable, or plain letters. */
// linear: a word is cut at LONGEST before.
const TOKEN =
  /'(?<single>[^']*)'|"(?<double>(?:\\[\s\S]|[^"\\])*)"|\\(?<escaped>[\s\S])|\$\{(?<name>\w+)(?:(?<operator>:?[-+])(?<other>[^}]*))?\}|\$(?<short>[A-Za-z_]\w*)|(?<plain>[\s\S])/g;

/** As long as a path can be; what is longer is cut, so that no value can grow without end. */
const LONGEST = 4096;

/**
 * A word as the builder takes it: without quotes, and with the values of variables. One whose value
 * is not known stays as it is written.
 */
export const expanded = (word: string, values: Variables): string =>
  word
    .slice(0, LONGEST)
    .replaceAll(TOKEN, (token, ...rest) => {
      const groups = rest.at(-1) as Readonly<Record<string, string | undefined>>;
      const { single, double, escaped, name, short } = groups;
      if (double !== undefined) return expandedInQuotes(double, values);
      const variable = name ?? short ?? '';
      const value = values(variable);
      return single ?? escaped ?? otherOf(groups, { value, values }) ?? value ?? token;
    })
    .slice(0, LONGEST);

/** What `${NAME:-OTHER}` and `${NAME:+OTHER}` mean where the value is not what counts. */
function otherOf(
  { operator, other = '' }: Readonly<Record<string, string | undefined>>,
  { value, values }: { readonly value: string | undefined; readonly values: Variables },
): string | undefined {
  if (operator === undefined) return undefined;
  const isSet = value !== undefined && (value !== '' || !operator.startsWith(':'));
  if (operator.endsWith('-')) return isSet ? undefined : expanded(other, values);
  return isSet ? expanded(other, values) : '';
}

/** In double quotes only a few characters can be escaped, and single quotes mean nothing. */
const expandedInQuotes = (text: string, values: Variables): string =>
  text
    .split(/(\\["$\\]|')/)
    .map((part, index) => (index % 2 === 0 ? expanded(part, values) : part.slice(-1)))
    .join('');
