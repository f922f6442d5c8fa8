import { withoutQuotes } from './words.ts';

/** How a command of a shell hangs on the one before it; a line break is a `;`. */
export type Joint = '' | ';' | '&&' | '||' | '|' | '&';

/** One command of a script. */
export interface ShellCommand {
  readonly joint: Joint;
  /** Without quotes; variables are left as they are written. */
  readonly words: readonly string[];
  /** The files that its output goes to. */
  readonly outputs: readonly string[];
  /** Texts of here-documents that it reads. */
  readonly inputs: readonly string[];
}

/** A line break with the indentation of the next line, a comment, an operator, or a word with its quotes. */
const TOKEN =
  /(?<blank>(?:[ \t\r]|\\\n)+)|(?<comment>#[^\n]*)|(?<redirection>(?:\d*|&)(?:>>|>\||>&|>|<<<|<<-|<<|<&|<>|<)(?:[ \t]|\\\n)*)|(?<joint>&&|\|\||;;|\|&|[;&|()\n])|(?<word>(?:\\[\s\S]|"(?:\\[\s\S]|[^"\\])*"?|'[^']*'?|\$\((?:[^()]|\([^()]*\))*\)|\$\{[^}]*\}|`[^`]*`|[^\s;&|()<>"'`\\]|\\$)+)|(?<other>[\s\S])/gy;

interface Draft {
  joint: Joint;
  words: string[];
  outputs: string[];
  inputs: string[];
}

const draft = (joint: Joint): Draft => ({ joint, words: [], outputs: [], inputs: [] });

/**
 * The commands of a script in their order, those of groups and conditions among them. Comments are left out. It is
 * no shell: what stands in quotes or is made by other commands is not looked at.
 * @param bodies here-documents that stand elsewhere, in their order
 */
export function shellCommands(
  script: string,
  bodies: readonly string[] = [],
): readonly ShellCommand[] {
  return new ScriptReader(script, bodies).read();
}

class ScriptReader {
  readonly #script: string;
  readonly #bodies: string[];
  readonly #commands: Draft[] = [];
  #current = draft('');
  #at = 0;
  /** Here-documents that begin with the next line. */
  #waiting: { readonly word: string; readonly isIndented: boolean; readonly reader: Draft }[] = [];

  constructor(script: string, bodies: readonly string[]) {
    this.#script = script;
    this.#bodies = [...bodies];
  }

  read(): readonly ShellCommand[] {
    for (let token = this.#next(); token !== undefined; token = this.#next()) {
      const { word, joint, redirection } = token;
      if (word !== undefined) this.#current.words.push(unquoted(word));
      if (redirection !== undefined) this.#redirect(redirection.trim());
      if (joint !== undefined) this.#join(joint);
    }
    this.#end(';');
    return this.#commands;
  }

  #next(): Readonly<Record<string, string | undefined>> | undefined {
    if (this.#at >= this.#script.length) return undefined;
    TOKEN.lastIndex = this.#at;
    const found = TOKEN.exec(this.#script);
    this.#at += Math.max(found?.[0].length ?? 1, 1);
    return found?.groups ?? {};
  }

  #redirect(operator: string): void {
    const target = unquoted(this.#next()?.['word'] ?? '');
    if (operator.includes('<<') && !operator.includes('<<<')) {
      const isIndented = operator.endsWith('-');
      const body = this.#bodies.shift();
      if (body === undefined) {
        this.#waiting.push({ word: target, isIndented, reader: this.#current });
      } else this.#current.inputs.push(body);
    } else if (operator.includes('>') && !/^\d*$|^-$/.test(target)) {
      this.#current.outputs.push(target);
    }
  }

  #join(operator: string): void {
    if (operator === '\n') this.#takeDocuments();
    // A group hangs together as its first command does.
    if (operator === '(' && isEmpty(this.#current)) return;
    this.#end(jointOf(operator));
  }

  #end(next: Joint): void {
    if (isEmpty(this.#current)) {
      // Behind a group stands what joins it to the rest; line breaks behind an operator mean nothing.
      if (next !== ';') this.#current.joint = next;
      return;
    }
    this.#commands.push(this.#current);
    this.#current = draft(next);
  }

  #takeDocuments(): void {
    for (const { word, isIndented, reader } of this.#waiting) {
      const body: string[] = [];
      while (this.#at < this.#script.length) {
        const end = this.#script.indexOf('\n', this.#at);
        const line = this.#script.slice(this.#at, end < 0 ? undefined : end);
        this.#at = end < 0 ? this.#script.length : end + 1;
        if ((isIndented ? line.replace(/^\t+/, '') : line) === word) break;
        body.push(line);
      }
      reader.inputs.push(body.join('\n'));
    }
    this.#waiting = [];
  }
}

const jointOf = (operator: string): Joint => {
  if (operator === '|&') return '|';
  return operator === '&&' || operator === '||' || operator === '|' || operator === '&'
    ? operator
    : ';';
};

const isEmpty = ({ words, outputs, inputs }: ShellCommand): boolean =>
  words.length + outputs.length + inputs.length === 0;

const unquoted = (word: string): string => withoutQuotes(word.replaceAll('\\\n', ''));
