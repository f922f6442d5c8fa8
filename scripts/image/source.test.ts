import { describe, expect, it } from 'vitest';
import { addressLabels } from './source.ts';

const one = 'https://git.example.com/team/bootwright';

describe('addressLabels', () => {
  it.each([
    ['https', 'https://git.example.com/team/bootwright'],
    ['https with .git', 'https://git.example.com/team/bootwright.git'],
    ['https with a token', 'https://somebody:token@git.example.com/team/bootwright.git'],
    ['ssh', 'ssh://git@git.example.com:2222/team/bootwright.git'],
    ['the form of scp', 'git@git.example.com:team/bootwright.git'],
    ['git', 'git://git.example.com/team/bootwright/'],
  ])('has one address for a clone by %s', (_, remote) => {
    expect(addressLabels({}, remote)).toEqual({ source: one, url: one, documentation: one });
  });

  it.each([
    ['/srv/git/bootwright.git'],
    ['../bootwright'],
    ['file:///srv/bootwright'],
    [undefined],
  ])('has none for a clone of %s', (remote) => expect(addressLabels({}, remote)).toEqual({}));

  it('prefers what package.json says', () => {
    const repository = { type: 'git', url: `git+${one}.git` };
    const homepage = 'https://bootwright.example.com/';
    const mirror = 'https://mirror.example.com/bootwright.git';
    expect(addressLabels({ repository }, mirror)).toEqual({
      ...{ source: one, url: one, documentation: one },
    });
    expect(addressLabels({ repository, homepage }, mirror)).toEqual({
      ...{ source: one, url: homepage, documentation: homepage },
    });
    expect(addressLabels({ homepage })).toEqual({ url: homepage, documentation: homepage });
  });

  it('keeps the port of a server of git over http', () => {
    const source = 'http://192.0.2.7:3000/bootwright';
    expect(addressLabels({}, `${source}.git`)).toMatchObject({ source });
  });
});
