import { describe, expect, it } from 'vitest';
import { renderSvg } from './table-picture.ts';

describe('the picture of the table', () => {
  it('escapes what would be markup', () => {
    const svg = renderSvg([[{ text: 'a < b & c', tone: 'plain' }]]);
    expect(svg).toContain('>a &lt; b &amp; c</text>');
  });

  it('draws bars as areas', () => {
    const svg = renderSvg([
      [
        { text: '███', tone: 'busy' },
        { text: '░░', tone: 'dim' },
      ],
    ]);
    expect(svg).toContain('<rect x="16" y="21" width="24"');
    expect(svg).toContain('<rect x="40" y="21" width="16"');
  });
});
