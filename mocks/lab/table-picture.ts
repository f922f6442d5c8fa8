import type { Line, Span, Tone } from './table.ts';

const CELL = { width: 8, height: 20 };
const MARGIN = 16;

const fills: Readonly<Record<Tone, string>> = {
  plain: '#d0d7de',
  dim: '#8b949e',
  strong: '#f0f6fc',
  good: '#3fb950',
  bad: '#f85149',
  busy: '#58a6ff',
};

/** Draws lines of the table as a picture of a dark terminal. */
export function renderSvg(lines: readonly Line[]): string {
  const columns = Math.max(
    ...lines.map((line) => line.reduce((sum, { text }) => sum + text.length, 0)),
  );
  const width = columns * CELL.width + 2 * MARGIN;
  const height = lines.length * CELL.height + 2 * MARGIN;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="13">`,
    `<rect width="100%" height="100%" rx="8" fill="#0d1117"/>`,
    ...lines.flatMap((line, index) => renderLine(line, MARGIN + index * CELL.height)),
    '</svg>',
    '',
  ].join('\n');
}

function renderLine(line: Line, top: number): readonly string[] {
  let column = 0;
  return line.flatMap((span) => {
    const left = MARGIN + column * CELL.width;
    column += span.text.length;
    return span.text.trim() === '' ? [] : [renderSpan(span, left, top)];
  });
}

function renderSpan({ text, tone }: Span, left: number, top: number): string {
  const width = text.length * CELL.width;
  // Block letters leave gaps in most fonts, so that bars are drawn.
  if (/^[█░]+$/.test(text)) {
    const opacity = text.startsWith('░') ? ' opacity="0.25"' : '';
    return `<rect x="${left}" y="${top + 5}" width="${width}" height="11" fill="${fills[tone]}"${opacity}/>`;
  }
  const weight = tone === 'strong' ? ' font-weight="bold"' : '';
  const indent = (text.length - text.trimStart().length) * CELL.width;
  const shown = text.trim();
  const length = shown.length * CELL.width;
  return `<text x="${left + indent}" y="${top + 15}" fill="${fills[tone]}"${weight} textLength="${length}" lengthAdjust="spacingAndGlyphs" xml:space="preserve">${escaped(shown)}</text>`;
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
