import { describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { checkConfig, settingIn } from '../config/load.ts';
import { secretFiles, type SettingKey, settingKeys } from '../config/settings.ts';
import { fileLayer } from '../config/yaml-file.ts';
import { roleNames } from '../model/role.ts';
import { runConfigInit, withRefusals } from './config.ts';

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
  ['a complete bootstrap host', { role: 'bootstrap', ...mco }, []],
  ['a bootstrap host without images.mco', { role: 'bootstrap' }, []],
  [
    'a bootstrap host of a service without images.controller',
    { role: 'bootstrap', ...mco, 'images.controller': '' },
    ['bootstrap.no-controller-image'],
  ],
  [
    'layering without a release',
    { role: 'bootstrap', ...mco, 'layering.mode': 'on' },
    ['config.incomplete'],
  ],
  [
    'a single node without images.controller',
    { role: 'master', 'cluster.controlPlaneCount': 1, 'images.controller': '' },
    ['bootstrap.no-controller-image'],
  ],
  [
    'a bootstrap host with only a file for its own Ignition',
    { role: 'bootstrap', ...mco, 'service.url': '', 'ignition.file': '/f' },
    ['bootstrap.no-source'],
  ],
  [
    'a digest for the image of the live medium',
    { role: 'worker', 'image.sha256': 'a'.repeat(64) },
    ['image.digest-unusable'],
  ],
  [
    'an invalid layering.pushTo',
    { role: 'bootstrap', ...mco, 'layering.pushTo': 'x y', 'cluster.openshiftVersion': '4.21.0' },
    ['layering.push-to-unusable'],
  ],
  [
    'an invalid layering.repository',
    { role: 'worker', 'layering.repository': 'NO' },
    ['layering.repository-unusable'],
  ],
] as const)('withRefusals knows %s', (...[, settings, codes]) => {
  expect(withRefusals([], configOf(settings)).map(({ code }) => code)).toEqual(codes);
});

describe('config init', () => {
  const printed = async (role: string): Promise<string> => {
    const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    expect(await runConfigInit({ values: [role] })).toBe(0);
    const [[text] = []] = write.mock.calls;
    write.mockRestore();
    return String(text);
  };
  const uncommented = (text: string): string => text.replaceAll(/^#(?=\S| {2}\S)/gm, '');

  it.each(roleNames)('prints a file that sets only the role %s', async (role) => {
    const text = await printed(role);
    expect(text).toMatch(/^# yaml-language-server: \$schema=\S+\n/);
    expect(parse(text)).toEqual({ role });
    expect(text).toContain('\n# - no install disk is set: ');
    expect(text).toContain('\n# - no source of Ignition is set: ');
  });

  it('lists every setting of a host with its default, except secrets', async () => {
    const text = uncommented(await printed('bootstrap'));
    const layer = fileLayer({ path: 'host.yaml', text });
    const { config } = checkConfig([layer]);
    const { config: defaults } = checkConfig([]);
    const isHeld = (key: SettingKey): boolean =>
      !/^(?:host|dry)\./.test(key) && !Object.hasOwn(secretFiles, key);
    expect([...layer.keys()].toSorted()).toEqual(settingKeys.filter(isHeld).toSorted());
    for (const key of layer.keys())
      if (key !== 'role' && key !== 'finish.rebootDelayMinutes')
        expect(settingIn(config, key), key).toEqual(settingIn(defaults, key));
  });

  it('omits sections of a bootstrap host for a worker', async () => {
    const sections = (text: string) => Object.keys(parse(uncommented(text)) as object);
    expect(sections(await printed('worker'))).not.toContain('bootstrap');
    expect(sections(await printed('bootstrap'))).toEqual(
      expect.arrayContaining(['bootstrap', 'controller']),
    );
  });
});
