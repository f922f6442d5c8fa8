// The page of supported versions agrees with the program.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { architectures } from '../../scripts/parts/agent-base.ts';
import {
  layeringSupport,
  type LayeringSupport,
} from '../../src/layering/manifests/release-support.ts';
import { supportedReleases } from '../../src/model/version.ts';
import { generations } from '../live-images/generations.ts';
import { guidesFolder } from './follow-guide.ts';

const page = readFileSync(join(guidesFolder, 'supported.md'), 'utf8');

/** The cells of the table below a heading. */
function rowsBelow(heading: string): readonly (readonly string[])[] {
  const [, section = ''] = page.split(`## ${heading}\n`);
  const lines = (section.split(/^## /m, 1)[0] ?? '').split('\n');
  const cells = lines
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split('|').slice(1, -1))
    .map((row) => row.map((cell) => cell.trim()));
  return cells.slice(2);
}

const texts: Readonly<Record<LayeringSupport['kind'], RegExp>> = {
  none: /^no\b/,
  submit: /^yes: the cluster builds/,
  build: /^yes: nodes boot directly/,
};

describe('supported.md', () => {
  it('lists how the nodes of each release get an image', () => {
    const rows = rowsBelow('OpenShift and OKD');
    for (const [range = '', built = ''] of rows)
      for (const version of range.split(' to '))
        expect(built, version).toMatch(texts[layeringSupport(version).kind]);
    expect(rows.map(([range]) => range)).toEqual([
      ...['4.14.0 to 4.18.20', '4.18.21 to 4.20.99', '4.21.0 to 5.0.99'],
    ]);
    const ends = rows.flatMap(([range = '']) => range.split(' to '));
    expect([ends.at(0), ends.at(-1)]).toEqual([
      `${supportedReleases.first}.0`,
      `${supportedReleases.last}.99`,
    ]);
  });

  it('lists each live image that the commands are tested with', () => {
    /** 22 is the newest, of which 5.0 is another name. */
    const span = (first: number, last: number): string => {
      if (last === 22) return `4.${first} and newer`;
      return first === last ? `4.${first}` : `4.${first} to 4.${last}`;
    };
    expect(rowsBelow('Live images')).toEqual(
      generations.map(({ name, lines: [first, last] }) => [name, span(first, last)]),
    );
  });

  it('lists the architectures whose images are built in tests', () => {
    const rows = rowsBelow('Architectures').map(([name, image]) => [name, image]);
    expect(rows).toEqual([
      ...architectures.map((name) => [name, 'yes']),
      ['ppc64le', 'not tested'],
      ['s390x', 'not tested'],
    ]);
  });
});
