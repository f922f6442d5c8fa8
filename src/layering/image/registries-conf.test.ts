import { expect, it } from 'vitest';
import { registriesWithBase } from './registries-conf.ts';

const base = `quay.io/release/os@sha256:${'a'.repeat(64)}`;
const staged = `192.0.2.2:22626/layering/os@sha256:${'a'.repeat(64)}`;
const entry = `[[registry]]\nprefix = "${base}"\nlocation = "${base}"\n[[registry.mirror]]\nlocation = "${staged}"\n`;

it.each([
  ['no settings', '', entry],
  ['settings', 'short-name-mode = ""\n', `short-name-mode = ""\n\n${entry}`],
  ['settings of the first version', "[registries.search]\nregistries = ['a']\n", entry],
])('takes the base alone from the staging registry, beside %s', (_, settings, expected) => {
  expect(registriesWithBase(settings, { base, staged })).toBe(expected);
});
