import { type ContainerfileFinding, error, warning } from './finding.ts';
import type { Instruction } from './parse.ts';

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

/** Programs that write, whose arguments are looked at. */
const WRITING =
  /(?:^|[;&|(]|\bsudo\s)\s*(?:cp|mv|mkdir|install|touch|ln|tee|rsync|curl|wget|tar|unzip|git|chmod|chown|useradd)\b[^;&|)\n]*/gm;
const REDIRECTION = />>?\s*["']?(?<path>\/[^\s"';&|)]+)/g;
const ABSOLUTE = /(?:^|[\s="'])(?<path>\/[^\s"';&|)]+)/g;

/** What instructions put where it will not be found on a machine. */
export function lostPathFindings(
  instructions: readonly Instruction[],
): readonly ContainerfileFinding[] {
  let folder = '/';
  return instructions.flatMap((instruction) => {
    const { keyword, text, line } = instruction;
    if (keyword === 'WORKDIR') {
      folder = below(folder, text.trim());
      return [];
    }
    if (keyword === 'COPY' || keyword === 'ADD') {
      const path = below(folder, destinationOf(text));
      const lost = lossAt(path);
      return lost === undefined ? [] : [error('lost-path', line, lost)];
    }
    if (keyword !== 'RUN') return [];
    const lost = writtenBy(instruction).map(lossAt);
    return [...new Set(lost)].flatMap((message) =>
      message === undefined ? [] : [warning('lost-path', line, message)],
    );
  });
}

/** The last word; the form with brackets is JSON. */
function destinationOf(text: string): string {
  const words = text.trim().startsWith('[') ? wordsOfJson(text) : text.trim().split(/\s+/);
  return words.at(-1) ?? '';
}

function wordsOfJson(text: string): readonly string[] {
  try {
    const words: unknown = JSON.parse(text);
    return Array.isArray(words) ? words.map(String) : [];
  } catch {
    return [];
  }
}

function below(folder: string, path: string): string {
  if (path.startsWith('/')) return path;
  return `${folder.replace(/\/$/, '')}/${path.replace(/^\.\//, '')}`;
}

function writtenBy({ text, bodies }: Instruction): readonly string[] {
  const script = [text, ...bodies].join('\n');
  const redirected = [...script.matchAll(REDIRECTION)].map(({ groups }) => groups?.['path'] ?? '');
  const named = [...script.matchAll(WRITING)].flatMap(([command]) => writtenPaths(command));
  return [...redirected, ...named];
}

/** Copies read all but their last path; the others write every one they name. */
function writtenPaths(command: string): readonly string[] {
  const paths = [...command.matchAll(ABSOLUTE)].map(({ groups }) => groups?.['path'] ?? '');
  return /^[\s;&|(]*(?:sudo\s+)?(?:cp|mv|ln|install|rsync)\b/.test(command)
    ? paths.slice(-1)
    : paths;
}

function lossAt(path: string): string | undefined {
  const found = LOST.find(([folder]) => path === folder || path.startsWith(`${folder}/`));
  if (found === undefined || PASSING.test(path)) return undefined;
  const [folder, instead] = found;
  return `${path} will not be on the machines, whose ${folder} is their own: ${instead}`;
}
