import type { Tone } from './state.ts';

/** HTML that is safe to show: all text from outside is escaped. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }
}

/** A part of a template; texts are escaped, `undefined` is empty. */
type Part = Html | string | number | undefined | readonly Part[];

const marks: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** A text escaped for HTML, between tags and in a quoted attribute. */
export const escaped = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (mark) => marks[mark] ?? '');

/** A template of HTML; only output of `html` itself is inserted unescaped. */
export const html = (chunks: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  new Html(
    chunks.map((chunk, index) => (index === 0 ? '' : rendered(parts[index - 1])) + chunk).join(''),
  );

function rendered(part: Part): string {
  if (part === undefined) return '';
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(rendered).join('');
  return escaped(String(part));
}

/** The symbol of a tone, for readers who do not see colours. */
export const glyphs: Readonly<Record<Tone, string>> = {
  idle: '○',
  busy: '●',
  waiting: '◐',
  good: '✓',
  bad: '✕',
  stopped: '■',
};

/** A word in its tone. */
export const badge = (tone: Tone, word: string): Html =>
  html`<span class="badge is-${tone}"><i aria-hidden="true">${glyphs[tone]}</i> ${word}</span>`;

/** The time of day in UTC, as HH:MM:SS. */
export const clock = (at: number): string => new Date(at).toISOString().slice(11, 19);

/** A time that the script replaces by its age; without the script, the time of day. */
export const timeSince = (at: number): Html =>
  html`<time class="since" datetime="${new Date(at).toISOString()}" data-since="${at}"
    >${clock(at)}</time
  >`;
