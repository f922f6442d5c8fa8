import { Buffer } from 'node:buffer';
import type { Dropin, Systemd, Unit } from '../types.ts';
import { nameSuffix, type Place } from './place.ts';

const unitTypes = ['service', 'socket', 'device', 'mount', 'automount', 'swap', 'target', 'path'];
const moreUnitTypes = ['timer', 'snapshot', 'slice', 'scope'];
const unitSuffixes = new Set([...unitTypes, ...moreUnitTypes].map((type) => `.${type}`));

/** A unit: its name, its text, and an [Install] section when it is enabled. */
export function validateUnit({ contents = '', enabled, name }: Unit, place: Place): void {
  if (!unitSuffixes.has(nameSuffix(name))) place.at('name').report('unit-name-suffix');
  const sections = unitSections(contents);
  if (sections === undefined) place.at('contents').report('unit-syntax');
  else if (enabled === true && contents !== '' && !sections.has('Install')) {
    place.at('contents').report('unit-not-installable');
  }
}

/** A drop-in: its name and its text. */
export function validateDropin({ contents = '', name }: Dropin, place: Place): void {
  if (unitSections(contents) === undefined) place.at('contents').report('unit-syntax');
  if (nameSuffix(name) !== '.conf') place.at('name').report('dropin-name-suffix');
}

/** An enabled instance of a template is enabled by the template's [Install] section. */
export function validateSystemd({ units = [] }: Systemd, place: Place): void {
  const contents = new Map(units.map((unit) => [unit.name, unit.contents ?? '']));
  for (const [index, { enabled, name }] of units.entries()) {
    const template = /^(.[^@]*)@.+\.service$/u.exec(name)?.[1];
    const text = template === undefined ? undefined : contents.get(`${template}@.service`);
    if (enabled !== true || text === undefined || text === '') continue;
    const isInert = unitSections(text)?.has('Install') === false;
    if (isInert) place.at('units', index, 'contents').report('template-not-installable');
  }
}

/**
 * Ignition reads units with go-systemd, whose syntax differs a little from that of systemd. It reads
 * through a window of 4096 bytes and refuses a unit when 2048 bytes in it hold no line end; another
 * long line is accepted. The window is modelled so that the verdict is the same.
 */
const WINDOW_BYTES = 4096;
const MAX_LINE_BYTES = 2048;

/** What Go's `unicode.IsSpace` takes for a space. */
const SPACES = '\\t-\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const SPACE = new RegExp(`[${SPACES}]`, 'u');
const ONLY_SPACES = new RegExp(`^[${SPACES}]*$`, 'u');

class SyntaxViolation extends Error {}

/** The text behind a window, as Go's buffered reader shows it. */
class Window {
  readonly #bytes: Buffer;
  #at = 0;
  #loaded = 0;

  constructor(text: string) {
    this.#bytes = Buffer.from(text);
  }

  checkLineLength(): void {
    if (this.#loaded - this.#at < MAX_LINE_BYTES) return;
    const ahead = this.#bytes.subarray(this.#at, this.#at + MAX_LINE_BYTES);
    if (!ahead.includes(0x0a) && !ahead.includes(0x0d)) throw new SyntaxViolation('line too long');
  }

  /** The next character, or nothing at the end. */
  character(): string | undefined {
    const first = this.#bytes[this.#at];
    if (first === undefined) return undefined;
    const length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (this.#loaded - this.#at < length) this.#load();
    const text = this.#bytes.toString('utf8', this.#at, this.#at + length);
    this.#at += length;
    return text;
  }

  back(character: string): void {
    this.#at -= Buffer.byteLength(character);
  }

  /** All up to a delimiter, which is passed over; `ended` when the text ends before one. */
  until(delimiter: ']' | '\n'): { text: string; ended: boolean } {
    const start = this.#at;
    const found = this.#bytes.indexOf(delimiter, start);
    const end = found < 0 ? this.#bytes.length : found + 1;
    while (this.#loaded < end) {
      if (this.#loaded - this.#at >= WINDOW_BYTES) this.#at = this.#loaded;
      this.#load();
    }
    this.#at = end;
    const stop = found < 0 ? end : found;
    return { text: this.#bytes.toString('utf8', start, stop), ended: found < 0 };
  }

  #load(): void {
    this.#loaded = Math.min(this.#bytes.length, this.#at + WINDOW_BYTES);
  }
}

type Step = () => Step | undefined;

/** One state per function, each one giving the next; the line length is checked between two. */
class UnitReader {
  /** Sections that hold at least one option. */
  readonly sections = new Set<string>();
  readonly #window: Window;

  constructor(text: string) {
    this.#window = new Window(text);
  }

  read(): void {
    let step: Step | undefined = this.#outside;
    while (step !== undefined) {
      this.#window.checkLineLength();
      step = step();
    }
  }

  readonly #outside: Step = () => {
    const character = this.#window.character();
    if (character === undefined) return undefined;
    if (character === '[') return this.#sectionName;
    return isComment(character) ? this.#comment(this.#outside) : this.#outside;
  };

  readonly #sectionName: Step = () => {
    const { text, ended } = this.#window.until(']');
    if (ended) throw new SyntaxViolation('section name does not end');
    return () => {
      const rest = this.#window.until('\n').text;
      if (!ONLY_SPACES.test(rest)) throw new SyntaxViolation('text after a section name');
      return this.#inside(text);
    };
  };

  #comment(next: Step): Step {
    return () => {
      let text: string;
      let ended: boolean;
      do {
        ({ text, ended } = this.#window.until('\n'));
      } while (!ended && text.replace(/ $/u, '').endsWith('\\'));
      return next;
    };
  }

  #inside(section: string): Step {
    const inside: Step = () => {
      const character = this.#window.character();
      if (character === undefined) return undefined;
      if (SPACE.test(character)) return inside;
      if (character === '[') return this.#sectionName;
      if (isComment(character)) return this.#comment(inside);
      this.#window.back(character);
      return () => {
        this.#optionName();
        return this.#optionValue(section, inside);
      };
    };
    return inside;
  }

  #optionName(): void {
    for (;;) {
      const character = this.#window.character();
      if (character === undefined) throw new SyntaxViolation('option has no value');
      if (character === '\n' || character === '\r')
        throw new SyntaxViolation('option has no value');
      if (character === '=') return;
    }
  }

  #optionValue(section: string, next: Step): Step {
    const value: Step = () => {
      const { text } = this.#window.until('\n');
      if (!ONLY_SPACES.test(text) && text.endsWith('\\')) return value;
      this.sections.add(section);
      return next;
    };
    return value;
  }
}

const isComment = (character: string): boolean => character === '#' || character === ';';

/** The sections of a unit that hold an option, or nothing for text that Ignition refuses. */
export function unitSections(contents: string): ReadonlySet<string> | undefined {
  const reader = new UnitReader(contents);
  try {
    reader.read();
  } catch (error) {
    if (!(error instanceof SyntaxViolation)) throw error;
    return undefined;
  }
  return reader.sections;
}
