import { describe, expect, it } from 'vitest';
import { unitVerb } from './host-files.ts';
import type { WantedUnit } from './wanted-host.ts';

/** `enabled` is a unit of the image, `enabled A` a unit with the text A. */
const unit = (sketch: string | undefined): WantedUnit | undefined => {
  if (sketch === undefined) return undefined;
  const [state = '', text] = sketch.split(' ');
  const known = { name: 'a', state: state as WantedUnit['state'] };
  return text === undefined ? known : { ...known, text };
};

describe('a unit', () => {
  it.each<[before: string | undefined, wanted: string | undefined, string, string | undefined]>([
    [undefined, 'enabled A', 'enabled', undefined],
    [undefined, 'enabled', 'disabled', 'enable'],
    [undefined, 'enabled', 'masked', 'unmask'],
    [undefined, 'enabled', 'masked-runtime', 'unmask'],
    [undefined, 'enabled A', 'static', undefined],
    [undefined, 'enabled A', 'not-found', 'enable'],
    [undefined, 'enabled', 'not-found', undefined],
    ['enabled A', 'enabled A', 'enabled', undefined],
    ['enabled A', 'enabled B', 'enabled', 'reenable'],
    ['disabled A', 'enabled B', 'disabled', 'enable'],
    [undefined, 'disabled A', 'enabled', 'disable'],
    [undefined, 'disabled A', 'not-found', undefined],
    [undefined, 'disabled', 'masked', undefined],
    ['masked', 'disabled', 'masked', 'unmask'],
    ['masked', 'disabled', 'enabled', 'disable'],
    [undefined, 'masked A', 'enabled', 'mask'],
    [undefined, 'masked A', 'masked', undefined],
    [undefined, 'masked', 'not-found', 'mask'],
    ['enabled', undefined, 'enabled', 'preset'],
    ['disabled', undefined, 'disabled', 'preset'],
    ['enabled', undefined, 'masked', undefined],
    ['masked', undefined, 'masked', 'unmask'],
    ['masked', undefined, 'enabled', 'preset'],
    ['enabled A', undefined, 'not-found', undefined],
    ['enabled A', undefined, 'static', undefined],
  ])('that was %j, should be %j and is %s: %s', (...[before, wanted, found, verb]) => {
    const change = { name: 'a', wanted: unit(wanted), before: unit(before) };
    expect(unitVerb(change, found)).toBe(verb);
  });
});
