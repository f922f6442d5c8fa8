/** A piece of HTML that is safe to show: whatever came from outside is escaped in it. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }
}

/** What may stand in a piece of HTML; texts are escaped, `undefined` is nothing. */
type Part = Html | string | number | undefined | readonly Part[];

const marks: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** A text as it stands in HTML, between tags and in a quoted attribute. */
export const escaped = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (mark) => marks[mark] ?? '');

/** A template of HTML: only what `html` itself made is taken as it is. */
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
