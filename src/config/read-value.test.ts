import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { Secret } from '../model/secret.ts';
import { SecretUrl } from '../lib/secret-url.ts';
import { checkConfig, settingIn } from './load.ts';
import { readValue } from './read-value.ts';
import { type SettingKey, settingKeys, settingKinds } from './settings.ts';

const checksum = 'a'.repeat(64);

/** Returns the value of a setting that a run reads from a text. */
function read(key: SettingKey, text: string): unknown {
  const given = { value: readValue(key, text), origin: 'here' };
  const value = settingIn(checkConfig([new Map([[key, given]])]).config, key);
  return value instanceof SecretUrl ? value.reveal() : value;
}

/** Returns the error of a text that a run refuses. */
function refusalOf(key: SettingKey, text: string): unknown {
  try {
    read(key, text);
    return undefined;
  } catch (error) {
    return error;
  }
}

describe('readValue', () => {
  it.each<[SettingKey, string, unknown]>([
    ['role', 'arbiter', 'arbiter'],
    ['disk.device', '/dev/sda', '/dev/sda'],
    ['service.url', 'https://host:1/prefix', 'https://host:1/prefix'],
    ['service.url', '', ''],
    ['image.sha256', checksum, checksum],
    ['cluster.controlPlaneCount', '3', 3],
    ['layering.registryPort', '5000', 5000],
    ['service.insecure', 'T', true],
    ['service.insecure', '0', false],
    ['disk.format', '/dev/a, /dev/b', ['/dev/a', '/dev/b']],
    ['disk.format', '["/dev/a,b"]', ['/dev/a,b']],
    ['image.writerArgs', '["--append-karg","a=b,c"]', ['--append-karg', 'a=b,c']],
    ['image.writerArgs', '', []],
    [
      'disk.hints',
      'rotational=false, minSizeGigabytes=400',
      { rotational: false, minSizeGigabytes: 400 },
    ],
    ['disk.hints', '', {}],
    [
      'registries.mirrors',
      '[{"source": "quay.io/a", "mirrors": ["m.example:5000/a"]}]',
      [{ source: 'quay.io/a', mirrors: ['m.example:5000/a'] }],
    ],
    [
      'registries.mirrors',
      '[{"source": "quay.io/a", "mirrors": ["m.example"], "sourcePolicy": "NeverContactSource"}]',
      [{ source: 'quay.io/a', mirrors: ['m.example'], sourcePolicy: 'NeverContactSource' }],
    ],
    ['registries.mirrors', '', []],
  ])('reads %s from %j', (key, text, value) => {
    expect(read(key, text)).toEqual(value);
  });

  it.each<[SettingKey, string, RegExp]>([
    ['network.keyfiles', './keys', /^write a path from the root, \/keys for example$/],
    ['ignition.file', 'w.ign', /\/w\.ign for example/],
    ['image.stream', 'a/s.json', /\/a\/s\.json for example/],
    ['image.stream', 'stable', /URL of a stream's JSON, https:\/\/\S+\/stable\.json/],
    ['service.url', 'http://fd00::5:8090', /brackets: http:\/\/\[fd00::5\]:8090/],
    ['proxy.http', 'http://u:p@fd00::5:8090', /in brackets/],
    [
      'service.url',
      'http://192.168.010.005:8090',
      /^write the four decimal numbers of the address/,
    ],
    ['service.url', 'http://10.1:8090', /zeros: http:\/\/192\.0\.2\.5:8090/],
    ['proxy.https', 'http://u:p@3232235777:3128', /four decimal numbers/],
    ['image.stream', 'https://0xa.0.0.1/s.json', /four decimal numbers/],
    ['service.url', 'http://host:1:2', /^write http:\/\/HOST:PORT or/],
  ])('hints at a valid value for %s in place of %j', (key, text, hint) => {
    expect(refusalOf(key, text)).toMatchObject({
      code: 'config.invalid-value',
      hint: expect.stringMatching(hint) as string,
    });
  });

  it('accepts a relative path for service.tokenFile', () => {
    expect(read('service.tokenFile', 'token')).toBe('token');
  });

  it('reads a token as a Secret that inspect does not reveal', () => {
    const value = read('service.token', 'hidden');
    expect(value).toBeInstanceOf(Secret);
    expect(inspect(value)).not.toContain('hidden');
  });

  it.each(['hidden\n', 'hidden\r\n'])('strips the trailing line break of the token %j', (text) => {
    expect((read('service.token', text) as Secret).reveal()).toBe('hidden');
  });

  it.each(['hidden\nhidden', 'hidden\u2026', '\ufeffhidden', 'hid\0den'])(
    'refuses the token %j, which is invalid in a header',
    (text) => {
      const check = () => read('service.token', text);
      expect(check).toThrow(/^here: service.token: the token has a line break/);
      expect(check).not.toThrow(/hid/);
    },
  );

  it.each<[SettingKey, string]>([
    ['registries.ca', 'https://example.com/ca.pem'],
    ['registries.mirrors', 'quay.io=m.example:5000'],
    ['registries.mirrors', '[{"source":"quay.io","mirrors":["m.example"],"sourcePolicy":"x"}]'],
    ['registries.mirrors', '[{"source":"quay.io","mirrors":["https://m.example"]}]'],
    ['disk.hints', 'serial=S1'],
    ['disk.hints', 'minSizeGigabytes=0'],
    ['hooks.minutes', '0'],
    ['hooks.minutes', '1441'],
    ['s3.region', ''],
    ['s3.region', 'us_east'],
    ['s3.region', '-a'],
    ['service.url', 'host:6000'],
    ['service.url', 'ftp://host'],
    ['proxy.https', 'http://user:50%@proxy.example:3128'],
    ['proxy.https', 'http://user:p[w@proxy.example:3128'],
    ['proxy.http', 'http://user:pä@proxy.example:3128'],
    ['controller.serviceIps', '10.0.0.05'],
    ['controller.serviceIps', '10.0.0.5,api.example'],
    ['controller.serviceIps', 'fd00::5%eth0'],
    ['image.sha256', checksum.toUpperCase()],
    ['cluster.controlPlaneCount', '-1'],
    ['cluster.controlPlaneCount', '99999999999999999999'],
    ['layering.registryPort', '0'],
    ['layering.registryPort', '65536'],
    ['service.insecure', 'yes'],
    ['image.writerArgs', '--append-karg'],
  ])('refuses %s from %j', (key, text) => {
    expect(refusalOf(key, text)).toMatchObject({
      code: 'config.invalid-value',
      kind: 'input',
      context: { setting: key },
    });
  });

  it.each<[SettingKey, string]>([
    ['service.url', 'ftp://user:hidden@host'],
    ['service.url', 'http://user:hidden hidden@host'],
    ['proxy.http', 'user:hidden@hidden@proxy.example:3128'],
    ['proxy.http', 'user:hidden/hidden@proxy.example:3128'],
    ['proxy.http', 'http://user:hidden^hidden@proxy.example:3128'],
    ['proxy.http', 'http://user:hidden@192.168.1:3128'],
  ])('does not repeat the password of the invalid %s %s', (key, text) => {
    expect(refusalOf(key, text)).toMatchObject({
      message: expect.not.stringContaining('hidden') as string,
      hint: expect.not.stringContaining('hidden') as string,
    });
  });

  it('reads addresses of both families', () => {
    const addresses = ['10.0.0.5', 'FD00:0::5'];
    expect(read('controller.serviceIps', addresses.join(', '))).toEqual(addresses);
  });

  it.each<[SettingKey, string]>([
    ['service.url', 'https://api.example/a?b=c'],
    ['service.url', 'https://user:p%40ss%23w@api.example:6443/prefix'],
    ['proxy.http', 'http://user@proxy.example'],
    ['proxy.http', "http://user:p:!$&'()*+,;=-._~%5Bw@proxy.example"],
    ['service.url', 'http://192.168.10.5:8090'],
    ['service.url', 'http://[::ffff:192.0.2.1]:8090'],
    ['image.url', 'https://mirror.example/os@sha256:0?mail=a@b.example'],
    ['ignition.url', 'https://user:p%3F@mirror.example/a%40b'],
    ['image.stream', '/opt/stream@1.json'],
  ])('keeps the URL or path of %s as it is: %s', (key, text) => {
    expect(read(key, text)).toBe(text);
  });
});

const addresses = settingKeys.filter((key) => ['url', 'place'].includes(settingKinds[key].kind));
const passwords = ['pla@nted#word', 'pla@nted', 'pla#nted', 'pla?nted', '1#planted', '1?planted'];
const written = [...passwords, '@planted', 'planted@', '@', '1\\planted']
  .flatMap((password) => [`user:${password}`, `${password}:word`])
  .flatMap((user) => [`${user}@proxy.example:3128`, `${user}@[fd00::1]/prefix`])
  .flatMap((rest) => [`http://${rest}`, `https://${rest}`, `HTTP:///${rest}`]);
const slashes = ['http://user:1/planted@proxy.example', 'http://user:pla@nted/x@proxy.example'];

it.each(addresses)('an unescaped user or password is refused in %s and not shown', (key) => {
  const isServer = !/^(?:image|ignition)/.test(key);
  for (const text of [...written, ...(isServer ? slashes : [])]) {
    const thrown = refusalOf(key, text);
    expect(thrown, text).toMatchObject({ code: 'config.invalid-value' });
    expect(inspect(thrown, { depth: 9 })).toContain('escape @ as %40, # as %23, ? as %3F');
    expect(inspect(thrown, { depth: 9 })).not.toMatch(/planted|nted|proxy\.example|fd00/);
  }
});
