import { describe, expect, it } from 'vitest';
import { checkConfig } from '../config/load.ts';
import type { SettingKey } from '../config/settings.ts';
import { findNoVersion, withRefusals } from './config.ts';

const configOf = (settings: Partial<Record<SettingKey, unknown>>) =>
  checkConfig([
    new Map(
      Object.entries({ 'service.url': 'http://h', ...settings }).map(([key, value]) => [
        key as SettingKey,
        { value, origin: 'a test' },
      ]),
    ),
  ]).config;

const mco = { 'images.mco': 'q.example/mco:1' };

it.each([
  [{ role: 'bootstrap' }, 1],
  [{ role: 'master', 'cluster.controlPlaneCount': 1 }, 1],
  [{ role: 'bootstrap', 'cluster.openshiftVersion': '4.20.1' }, 0],
  [{ role: 'worker' }, 0],
] as const)('warns of a release that only bootstrap.ign may name: %j', (settings, count) => {
  expect(findNoVersion(configOf(settings))).toHaveLength(count);
});

describe('withRefusals', () => {
  it.each([
    ['a complete bootstrap host', { role: 'bootstrap', ...mco }, []],
    ['no image that applies Ignition', { role: 'bootstrap' }, ['bootstrap.no-mco-image']],
    [
      'no controller for a service',
      { role: 'bootstrap', ...mco, 'images.controller': '' },
      ['bootstrap.no-controller-image'],
    ],
    [
      'images that are to be built, of no release',
      { role: 'bootstrap', ...mco, 'layering.mode': 'on' },
      ['config.incomplete'],
    ],
    [
      'a single node like a bootstrap host',
      { role: 'master', 'cluster.controlPlaneCount': 1 },
      ['bootstrap.no-mco-image'],
    ],
    [
      'a bootstrap.ign that no file gives',
      { role: 'bootstrap', ...mco, 'service.url': '', 'ignition.file': '/f' },
      ['bootstrap.no-source'],
    ],
    [
      'a digest for the image of the live medium',
      { role: 'worker', 'image.sha256': 'a'.repeat(64) },
      ['image.digest-unusable'],
    ],
    [
      'a repository that no cluster takes',
      {
        role: 'bootstrap',
        ...mco,
        'layering.pushTo': 'no host',
        'cluster.openshiftVersion': '4.21.0',
      },
      ['layering.push-to-unusable'],
    ],
    [
      'a repository that no node can pull from',
      { role: 'worker', 'layering.repository': 'NO' },
      ['layering.repository-unusable'],
    ],
  ] as const)('knows %s', (...[, settings, codes]) => {
    expect(withRefusals([], configOf(settings)).map(({ code }) => code)).toEqual(codes);
  });
});
