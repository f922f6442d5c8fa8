import type { Dropin, Systemd, Unit } from '../types.ts';
import { nameSuffix } from './path.ts';
import type { Place } from './place.ts';
import { unitSections } from './unit-syntax.ts';

const unitTypes = ['service', 'socket', 'device', 'mount', 'automount', 'swap', 'target', 'path'];
const moreUnitTypes = ['timer', 'snapshot', 'slice', 'scope'];
const unitSuffixes = new Set([...unitTypes, ...moreUnitTypes].map((type) => `.${type}`));

/** A unit: its name, its text, and that enabling it does something. */
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
    const template = /^(.+?)@.+?\.service$/u.exec(name)?.[1];
    const text = template === undefined ? undefined : contents.get(`${template}@.service`);
    if (enabled !== true || text === undefined || text === '') continue;
    const isInert = unitSections(text)?.has('Install') === false;
    if (isInert) place.at('units', index, 'contents').report('template-not-installable');
  }
}
