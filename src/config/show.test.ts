import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { Secret } from '../model/secret.ts';
import { checkConfig } from './load.ts';
import { type SettingValue, type SettingKey, settingKeys, settingKinds } from './settings.ts';
import { configJsonSchema, renderConfigJson, renderConfigText } from './show.ts';

interface JsonSchema {
  readonly properties?: Readonly<Record<string, unknown>>;
}

const checked = checkConfig([
  new Map<SettingKey, SettingValue>([
    ['service.token', { value: new Secret('hidden'), origin: 'environment PULL_SECRET_TOKEN' }],
    ['disk.format', { value: ['/dev/b'], origin: 'flag --format-disk' }],
    [
      'image.writerArgs',
      { value: ['--append-karg', 'rd.iscsi.password="hidden one" ro'], origin: 'file c.yaml:1' },
    ],
  ]),
]);

describe('config show', () => {
  it('has a line for every setting', () => {
    const lines = renderConfigText(checked).trimEnd().split('\n');
    expect(lines.map((line) => line.split(' ')[0])).toEqual(settingKeys);
  });

  it('masks a password in quotes among kernel arguments', () => {
    for (const shown of [renderConfigText(checked), renderConfigJson(checked)]) {
      expect(shown).not.toContain('hidden');
      expect(shown).toContain('rd.iscsi.password=*** ro');
    }
  });

  it('writes settings and origins as JSON', () => {
    const settings = JSON.parse(renderConfigJson(checked)) as Record<string, unknown>;
    expect(Object.keys(settings)).toEqual(settingKeys);
    expect(settings['disk.format']).toEqual({ value: ['/dev/b'], origin: 'flag --format-disk' });
    expect(settings['s3.secretAccessKey']).toEqual({ value: null, origin: 'default' });
  });
});

const validate = new Ajv2020({ formats: { uri: true } }).compile(configJsonSchema());

describe('configJsonSchema', () => {
  it('lists every setting except secrets, in the order of the table', () => {
    const { properties } = configJsonSchema() as { properties: Record<string, JsonSchema> };
    const names = Object.entries(properties).flatMap(([section, { properties: keys }]) =>
      keys === undefined ? [section] : Object.keys(keys).map((key) => `${section}.${key}`),
    );
    expect(names).toEqual(settingKeys.filter((key) => settingKinds[key].kind !== 'secret'));
  });

  it.each([
    [true, {}],
    [true, { role: 'worker', disk: { device: '/dev/sda', format: ['/dev/b'] } }],
    [true, { service: { url: 'http://h', tokenFile: '/run/secrets/token' } }],
    [false, { dsk: {} }],
    [false, { disk: { devise: '/dev/sda' } }],
    [false, { disk: { format: '/dev/b' } }],
    [false, { role: 'emperor' }],
    [false, { service: { token: 'hidden' } }],
  ])('returns %s for %j', (isValid, document) => {
    expect(validate(document)).toBe(isValid);
  });
});
