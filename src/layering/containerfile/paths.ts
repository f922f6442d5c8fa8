import { type ContainerfileFinding, error, warning } from './finding.ts';
import { commandsOf } from './run.ts';
import { absolutePath, cleanPath, type Placed } from './surroundings.ts';
import { bracketed, expanded, pathArguments } from './words.ts';
import { writtenBy } from './writes.ts';

/** Folders that an image does not bring to a machine that runs already, with what to use in their place. */
const LOST: readonly (readonly [folder: string, instead: string])[] = [
  ['/usr/local', 'put it below /usr/lib or /usr/bin'],
  ['/var', 'make it at boot by /usr/lib/tmpfiles.d or StateDirectory= of a unit'],
  ['/home', 'make the user and its files by a MachineConfig'],
  ['/opt', 'put it below /usr/lib, and link to it from where it is looked for'],
  ['/root', 'make the file by a MachineConfig'],
  ['/srv', 'make it at boot by /usr/lib/tmpfiles.d'],
];

/** Below these, what is left behind is meant to go: caches and logs of the build. */
const PASSING = /^\/var\/(?:cache|log|tmp|lib\/(?:dnf|rpm-state))(?:\/|$)/;

/** What an instruction puts where it will not be found on a machine. */
export function lostPathFindings(placed: Placed): readonly ContainerfileFinding[] {
  const { keyword, line } = placed.instruction;
  const lost = pathsOf(placed).map((path) => lossAt(path, keyword));
  const tell = keyword === 'COPY' || keyword === 'ADD' ? error : warning;
  return [...new Set(lost)].flatMap((message) =>
    message === undefined ? [] : [tell('lost-path', line, message)],
  );
}

function pathsOf(placed: Placed): readonly string[] {
  const { instruction, variables } = placed;
  const { keyword, text } = instruction;
  const at = (word: string): readonly string[] => {
    const path = word === '' ? undefined : absolutePath(word, placed);
    return path === undefined ? [] : [path];
  };
  switch (keyword) {
    case 'COPY':
    case 'ADD':
      return at(pathArguments(text).at(-1) ?? '');
    case 'WORKDIR':
      return at(text.trim());
    case 'VOLUME':
      return (bracketed(text.trim()) ?? text.trim().split(/\s+/)).flatMap(at);
    case 'RUN':
      return commandsOf(instruction)
        .map((command) => ({ ...command, words: command.words.map(valued) }))
        .map((command) => ({ ...command, outputs: command.outputs.map(valued) }))
        .flatMap(writtenBy)
        .map(cleanPath);
    default:
      return [];
  }
  function valued(word: string): string {
    return word.includes('$') ? expanded(word, variables) : word;
  }
}

function lossAt(path: string, keyword: string): string | undefined {
  const found = LOST.find(([folder]) => path === folder || path.startsWith(`${folder}/`));
  if (found === undefined || PASSING.test(path)) return undefined;
  const [folder, instead] = found;
  // The folder itself is there, on the machines too.
  if (keyword === 'WORKDIR' && path === folder) return undefined;
  return `${path} will not be on the machines, whose ${folder} is their own: ${instead}`;
}
