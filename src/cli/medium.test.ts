import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { authority, expiredAuthority } from '../../test/support/authority.ts';
import { valuesIn } from '../../test/support/layer-values.ts';
import { checkConfig } from '../config/load.ts';
import type { Layer } from '../config/settings.ts';
import { fileLayer } from '../config/yaml-file.ts';
import { parseValidConfig } from '../ignition/parse.ts';
import { readFileContent } from '../ignition/resource.ts';
import { mirrorsPath } from '../settings/image-mirrors.ts';
import { disksOf, type MediumFileKey, type MediumInput, mediumOf } from './medium.ts';

const image = 'registry.example/bootwright:1';

const layerOf = (text: string): Layer => fileLayer({ path: 'host.yaml', text });

const settings = layerOf(`role: master
disk: { hints: { serialNumber: S3Z8, rotational: false } }
ignition: { file: cluster/master.ign }
network: { keyfiles: net }
image: { url: "https://images.example.com/metal.raw.gz", writerArgs: [--append-karg, a] }
`);

/** A medium, whose list has every file of the Ignition config. */
const made = (more: Partial<MediumInput> = {}) => {
  const given = more.settings ?? settings;
  const { ignition, items } = mediumOf({
    settings: given,
    config: checkConfig([given]).config,
    image,
    sshAuthorizedKeys: [],
    texts: new Map([['ignition.file', '{"ignition":{"version":"3.2.0"}}']]),
    keyfiles: new Map([['eth0.nmconnection', '[connection]\nid=eth0\ntype=ethernet\n']]),
    ...more,
  });
  const config = parseValidConfig(ignition);
  const text = (path: string): string => Buffer.from(readFileContent(config, path)).toString();
  const [unit] = config.systemd?.units ?? [];
  const listed = new Set(items.map(({ path }) => path));
  const unlisted = (config.storage?.files ?? []).filter(({ path }) => !listed.has(path));
  expect(unlisted).toEqual([]);
  return { config, items, text, unit: unit?.contents ?? '' };
};

const secretsOf = (items: ReturnType<typeof made>['items']): readonly string[] =>
  items.filter(({ isSecret }) => isSecret).map(({ path }) => path);

describe('mediumOf', () => {
  it('has the given settings with the paths of their files in the medium, without derived ones', () => {
    const { text } = made();
    const inside = layerOf(text('/etc/bootwright/config.yaml'));
    expect(valuesIn(inside)).toEqual({
      ...valuesIn(settings),
      'ignition.file': '/etc/bootwright/host.ign',
      'network.keyfiles': '/etc/bootwright/network',
    });
    expect(text('/etc/bootwright/host.ign')).toBe('{"ignition":{"version":"3.2.0"}}');
    expect(text('/etc/bootwright/network/eth0.nmconnection')).toMatch(/^\[connection\]/);
  });

  it('starts the agent by podman run after its image is pulled', () => {
    const { unit, config } = made();
    expect(unit).toContain(
      `ExecStartPre=/bin/bash -c "until podman image exists \\"$$0\\" || podman pull --quiet \\"$$0\\"; do sleep 15; done" ${image}\n`,
    );
    expect(unit).toMatch(
      new RegExp(`^ExecStart=/usr/bin/podman run .* -v /dev:/dev:rw ${image} install$`, 'm'),
    );
    expect(unit).not.toContain('update-ca-trust');
    expect(config.systemd?.units?.[0]?.enabled).toBe(true);
    expect((config.storage?.files ?? []).map(({ mode }) => mode)).toEqual([0o600, 0o600, 0o600]);
    expect(config.passwd).toBeUndefined();
  });

  it('lists its files and marks the secret ones', () => {
    const { items } = made();
    expect(items).toEqual([
      { path: '/etc/bootwright/config.yaml', what: 'settings of the agent', isSecret: false },
      {
        path: '/etc/bootwright/host.ign',
        what: `ignition.file: ${resolve('cluster/master.ign')}`,
        isSecret: true,
      },
      {
        path: '/etc/bootwright/network/eth0.nmconnection',
        what: 'network.keyfiles',
        isSecret: false,
      },
      { path: 'bootwright.service', what: `runs ${image}`, isSecret: false },
    ]);
  });

  it('pulls with credentials and through a proxy, and trusts the CA of the service', () => {
    const pullSecret = '{"auths":{"registry.example":{"auth":"planted-auth"}}}';
    const { unit, items, text, config } = made({
      settings: layerOf(`role: worker
disk: { device: /dev/sda }
service: { url: "https://assisted.example.com", caFile: ca.pem, tokenFile: token }
cluster: { id: c, hostId: h }
proxy: { https: "http://user:planted-proxy@proxy.example.com:3128", no: .example.com 192.0.2.0/24 }
`),
      texts: new Map([
        ['service.caFile', authority],
        ['service.tokenFile', 'planted-token'],
      ]),
      keyfiles: new Map([['wlan0.nmconnection', '[802-1x]\npassword=planted\n']]),
      pullSecret,
      sshAuthorizedKeys: ['ssh-ed25519 AAAA someone'],
    });
    expect(unit).toMatch(
      /^ExecStartPre=.* podman pull --quiet --authfile \/root\/.docker\/config.json /m,
    );
    expect(unit).toMatch(/^ExecStart=.* --authfile \/root\/.docker\/config.json /m);
    expect(text('/root/.docker/config.json')).toBe(pullSecret);
    expect(unit).toContain('ExecStartPre=/usr/bin/update-ca-trust\n');
    expect(unit).toContain('EnvironmentFile=/etc/bootwright/proxy.env\n');
    expect(unit).not.toMatch(/planted/);
    expect(text('/etc/bootwright/proxy.env')).toBe(
      'HTTPS_PROXY="http://user:planted-proxy@proxy.example.com:3128"\nNO_PROXY=".example.com,192.0.2.0/24"\n',
    );
    expect(text('/etc/pki/ca-trust/source/anchors/bootwright.crt')).toBe(`${authority}\n`);
    expect(text('/etc/bootwright/service-ca.crt')).toBe(authority);
    expect(config.passwd?.users).toEqual([
      { name: 'core', sshAuthorizedKeys: ['ssh-ed25519 AAAA someone'] },
    ]);
    expect(secretsOf(items)).toEqual([
      '/etc/bootwright/config.yaml',
      '/etc/bootwright/token',
      '/etc/bootwright/network/wlan0.nmconnection',
      '/etc/bootwright/proxy.env',
      '/root/.docker/config.json',
    ]);
    expect(JSON.stringify(items)).not.toMatch(/planted/);
  });

  it('has hooks, nmstate, and mirrors and CAs for the live system too', () => {
    const { text, items, unit, config } = made({
      settings: layerOf(`role: worker
disk: { device: /dev/sda }
service: { url: "https://assisted.example.com", caFile: ca.pem }
cluster: { id: c, hostId: h }
hooks: { before: raid.sh, after: cmdb.sh }
network: { nmstate: net.yaml }
registries: { ca: site.pem, mirrors: [{ source: quay.io, mirrors: [m.example.com] }] }
`),
      texts: new Map<MediumFileKey, string | Buffer>([
        ['service.caFile', authority],
        ['hooks.before', '#!raid'],
        ['hooks.after', Buffer.from('#!cmdb\n\u00e9', 'latin1')],
        ['network.nmstate', 'interfaces: []'],
        ['registries.ca', `\ufeff${expiredAuthority}`],
      ]),
      keyfiles: new Map(),
    });
    const inside = layerOf(text('/etc/bootwright/config.yaml'));
    expect(inside.get('hooks.before')?.value).toBe('/etc/bootwright/hook-before');
    expect(text('/etc/bootwright/hook-before')).toBe('#!raid');
    const after = readFileContent(config, '/etc/bootwright/hook-after');
    expect(Buffer.from(after).toString('latin1')).toBe('#!cmdb\n\u00e9');
    expect(text('/etc/bootwright/nmstate.yaml')).toBe('interfaces: []');
    expect(inside.get('registries.ca')?.value).toBe('/etc/bootwright/registries-ca.crt');
    expect(text(mirrorsPath)).toContain('location = "m.example.com"');
    expect(text('/etc/pki/ca-trust/source/anchors/bootwright.crt')).toBe(
      `${authority}\n${expiredAuthority}\n`,
    );
    expect(unit).toContain('ExecStartPre=/usr/bin/update-ca-trust\n');
    expect(secretsOf(items)).toEqual([
      '/etc/bootwright/hook-before',
      '/etc/bootwright/hook-after',
      '/etc/bootwright/nmstate.yaml',
    ]);
    const modes = (config.storage?.files ?? []).filter(({ mode }) => mode === 0o700);
    expect(modes.map(({ path }) => path)).toEqual([
      '/etc/bootwright/hook-before',
      '/etc/bootwright/hook-after',
    ]);
  });

  it.each([
    [
      '{ hints: { serialNumber: S3Z8, rotational: false } }',
      'the disk with serialNumber=S3Z8,rotational=false',
    ],
    ['{ device: /dev/sda, format: [/dev/sdb] }', '/dev/sda, /dev/sdb'],
    ['{ device: /dev/sda, keep: [data] }', '/dev/sda but for the partitions data'],
    ['{}\nimage: { existingRoot: r.test/os }', 'the running system'],
  ])('disksOf names what is lost with disk: %s', (disk, lost) => {
    expect(disksOf(checkConfig([layerOf(`disk: ${disk}`)]).config)).toBe(lost);
  });
});
