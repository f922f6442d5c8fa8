import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { downloadOf } from '../../../test/support/download.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { fakeInventory } from '../../../test/support/fake-inventory.ts';
import { fakeObjects } from '../../../test/support/fake-objects.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { expiredAuthority } from '../../../test/support/authority.ts';
import { hours, minutes } from '../../model/duration.ts';
import { inventoryFailure } from '../../adapters/http/failures.ts';
import { Config, type ConfigInput } from '../../config/schema.ts';
import {
  checkBootstrapSettings,
  chooseBootstrapSource,
  explainBootstrapSource,
  fetchIgnition,
} from './fetch-ignition.ts';

const service = { url: 'https://svc.example' };
const s3 = { endpoint: 'http://s3.example', bucket: 'test' };
const cluster = { id: 'c' };
const url = 'http://web.example/m.ign';
const inS3 = 'from http://s3.example, test/c/bootstrap.ign';
const atService = 'from https://svc.example';

describe('the source of bootstrap.ign', () => {
  it.each<[string, ConfigInput, string]>([
    ['the service only', { service }, atService],
    ['an object store', { s3, cluster }, inS3],
    ['an object store and the service', { s3, service, cluster }, inS3],
    ['source service', { s3, service, ignition: { source: 'service' } }, atService],
    ['source s3', { s3, cluster, ignition: { source: 's3' } }, inS3],
    ['a URL for the config of the host', { service, ignition: { url, source: 'url' } }, atService],
  ])('is the expected one for %s', (_, input, expected) => {
    expect(explainBootstrapSource(Config.parse(input))).toBe(expected);
  });

  it.each<[string, ConfigInput]>([
    ['nothing is set', {}],
    ['only a URL for the host is set', { ignition: { url } }],
    ['only a file for the host is set', { ignition: { file: '/opt/m.ign' } }],
    ['the bucket is missing', { s3: { endpoint: 'http://s3.example' } }],
    ['the named source is not set', { s3, ignition: { source: 'service' } }],
  ])('is refused when %s', (_, input) => {
    const config = Config.parse(input);
    expect(() => chooseBootstrapSource(config)).toThrow(
      expect.objectContaining({ code: 'bootstrap.no-source', kind: 'input' }),
    );
    expect(explainBootstrapSource(config)).toContain('neither is configured');
  });
});

const images = { mco: 'registry.example/mco@sha256:1' };

describe('bootstrap/check', () => {
  it.each<[string, ConfigInput, string]>([
    ['a source', { images }, 'bootstrap.no-source'],
    [
      'the controller',
      { service, images: { ...images, controller: '' } },
      'bootstrap.no-controller-image',
    ],
    [
      'the version for building OS images',
      { service, images, layering: { mode: 'on' } },
      'config.incomplete',
    ],
  ])('reports a missing setting: %s', async (_, config, code) => {
    const { failure } = await tryStep(checkBootstrapSettings, { config });
    expect(failure).toMatchObject({ code, kind: 'input' });
  });

  const old = { openshiftVersion: '4.6.60' };
  const self = 'registry.example/own:1';
  const other = { ...images, self, controller: 'registry.example/other:1' };
  it.each<[string, ConfigInput, string]>([
    [
      'names another controller',
      { service, cluster: old, images: other },
      'the controller is registry.example/other:1, and not this program, registry.example/own:1',
    ],
    [
      'is not set and our image is unknown',
      { s3, cluster: old, images },
      'there is no service, and the image of this program is unknown',
    ],
  ])('refuses to override etcd when the service %s', async (_, config, why) => {
    const { failure } = await tryStep(checkBootstrapSettings, { config });
    expect(failure).toMatchObject({ code: 'bootstrap.etcd-stays-changed' });
    expect((failure as Error).message).toContain(why);
  });

  it.each<[string, ConfigInput]>([
    ['our controller', { service, cluster: old, images: { ...other, controller: self } }],
    ['our image without a service', { s3, cluster: old, images: { ...images, self } }],
    ['a release without the override', { service, images: other }],
    [
      'the setting never',
      { service, cluster: old, images: other, bootstrap: { etcdOverride: 'never' } },
    ],
    ['a single node', { service, cluster: { ...old, controlPlaneCount: 1 }, images: other }],
  ])('accepts %s', async (_, config) => {
    const { failure } = await tryStep(checkBootstrapSettings, { config });
    expect(failure).toBeUndefined();
  });
});

/** A config with this pull secret, or without one. */
const withSecret = (secret?: string): string => {
  const file = {
    path: '/root/.docker/config.json',
    contents: { source: `data:,${encodeURIComponent(secret ?? '')}` },
  };
  const storage = { files: secret === undefined ? [] : [file] };
  return `${JSON.stringify({ ignition: { version: '3.2.0' }, storage }, undefined, 1)}\n`;
};
const withFile = (text: string, file: object): string => {
  const ignition = JSON.parse(text) as { storage: { files: object[] } };
  ignition.storage.files.push(file);
  return JSON.stringify(ignition);
};
const withoutRelease = withSecret('{"auths":{"registry.example":{"auth":"dTpw"}}}');
const releaseImage = 'quay.example/release@sha256:1';
const releaseScript = {
  path: '/usr/local/bin/release-image.sh',
  contents: { source: `data:,${encodeURIComponent(`RELEASE_IMAGE_DIGEST="${releaseImage}"\n`)}` },
};
const bootstrap = withFile(withoutRelease, releaseScript);
const path = '/opt/install-dir/bootstrap.ign';
const sha256Of = (text: string) => createHash('sha256').update(text).digest('hex');
const openshiftVersion = '4.20.1';
const config: ConfigInput = {
  role: 'bootstrap',
  service: { url: 'http://svc.example' },
  cluster: { openshiftVersion },
};

describe('bootstrap/fetch-ignition', () => {
  it('writes the config of the service unchanged with mode 0600', async () => {
    const host = fakeHost();
    const inventory = fakeInventory({ files: { 'bootstrap.ign': bootstrap } });
    const { value } = await runStep(fetchIgnition, { config, host, inventory });
    expect(value).toEqual({ path, sha256: sha256Of(bootstrap), openshiftVersion, releaseImage });
    expect(host.textOf(path)).toBe(bootstrap);
    expect(host.files.get(path)?.mode).toBe(0o600);
  });

  it('reads it from the object store of the 2020 contract', async () => {
    const objects = fakeObjects().with('bucket/c/bootstrap.ign', bootstrap);
    const host = fakeHost();
    await runStep(fetchIgnition, {
      config: { cluster: { id: 'c' }, s3: { endpoint: 'http://s3.example', bucket: 'bucket' } },
      host,
      objects,
    });
    expect(host.textOf(path)).toBe(bootstrap);
  });

  it('needs no release image when the machine-config-operator is configured', async () => {
    const inventory = fakeInventory({ files: { 'bootstrap.ign': withoutRelease } });
    const { value } = await runStep(fetchIgnition, { config: { ...config, images }, inventory });
    expect(value).toMatchObject({ path, releaseImage: undefined });
  });

  it('waits while the service is not ready', async () => {
    const inventory = fakeInventory({ files: { 'bootstrap.ign': bootstrap } });
    inventory.failing('clusterFile', inventoryFailure('inventory.not-ready', 'two are called n0'));
    const [host, clock] = [fakeHost(), fakeClock()];
    await runStep(fetchIgnition, { config, host, inventory, clock });
    expect(host.textOf(path)).toBe(bootstrap);
    expect(clock.slept).toContain(10_000);
  });

  const expired = withFile(bootstrap, {
    path: '/opt/openshift/tls/kubelet-signer.crt',
    contents: { source: `data:,${encodeURIComponent(expiredAuthority)}` },
  });
  const start = Date.parse('2020-12-31T23:00:00Z');

  it('accepts certificates that are valid by the clock of the host', async () => {
    const inventory = fakeInventory({ files: { 'bootstrap.ign': expired } });
    const [host, clock] = [fakeHost(), fakeClock({ start })];
    await runStep(fetchIgnition, { config, host, inventory, clock });
    expect(host.textOf(path)).toBe(expired);
  });

  it('refuses certificates that are invalid by the clock of the host after five minutes', async () => {
    const inventory = fakeInventory({ files: { 'bootstrap.ign': expired } });
    const [host, clock] = [fakeHost(), fakeClock({ start: start + hours(24) })];
    const { failure } = await tryStep(fetchIgnition, { config, host, inventory, clock });
    expect(failure).toMatchObject({
      code: 'ignition.wrong-time',
      message: expect.stringMatching(
        /says 2021-01-01T23:\S+, and \S+kubelet-signer\.crt is valid from 2020-01-01T\S+ to 2021-01-01T/,
      ) as string,
    });
    expect(clock.elapsed()).toBe(minutes(5));
    expect([...host.files.keys()]).toEqual([]);
  });

  it('is not compared with the digest of the config of the host', async () => {
    const inventory = fakeInventory({ files: { 'bootstrap.ign': bootstrap } });
    const { value } = await runStep(fetchIgnition, {
      config: { ...config, ignition: { sha256: 'a'.repeat(64) } },
      inventory,
    });
    expect(value).toEqual({ path, sha256: sha256Of(bootstrap), openshiftVersion, releaseImage });
  });

  it('fetches again when the body is truncated', async () => {
    const bodies = [
      downloadOf(bootstrap.slice(0, 10), { bytes: bootstrap.length }),
      downloadOf(bootstrap),
    ];
    const host = fakeHost();
    const inventory = fakeInventory().answering({
      clusterFile: () => Promise.resolve(bodies.shift() ?? downloadOf('')),
    });
    await runStep(fetchIgnition, { config, host, inventory });
    expect(host.textOf(path)).toBe(bootstrap);
  });

  it.each([
    ['a config without a release image', withoutRelease, 'bootstrap.no-mco-image'],
    ['a config without a pull secret', withSecret(), 'ignition.file-missing'],
    ['a truncated pull secret', withSecret('{"auths":{"re'), 'bootstrap.bad-pull-secret'],
    ['a pull secret in another format', withSecret('{"token":"t"}'), 'bootstrap.bad-pull-secret'],
  ])('writes no file for %s', async (_, text, code) => {
    const host = fakeHost();
    const inventory = fakeInventory({ files: { 'bootstrap.ign': text } });
    const { failure } = await tryStep(fetchIgnition, { config, host, inventory });
    expect(failure).toMatchObject({ code });
    expect([...host.files.keys()]).toEqual([]);
  });

  const self = 'registry.example/own:1';
  it.each<[string, string | undefined, ConfigInput, object]>([
    ['from the installer manifest', '4.21.3', {}, { value: { openshiftVersion: '4.21.3' } }],
    ['from the settings first', '4.21.3', config, { value: { openshiftVersion } }],
    [
      'or fails without one for a controller',
      undefined,
      {},
      { failure: { code: 'config.incomplete' } },
    ],
    [
      'or fails with an unreleased version',
      'unreleased-master-1-g4b15',
      {},
      { failure: { code: 'config.incomplete' } },
    ],
    [
      'or needs none without a controller',
      undefined,
      { service: { url: '' } },
      { value: { path } },
    ],
    [
      'or fails without one for our own controller',
      undefined,
      { service: { url: '' }, images: { self } },
      { failure: { code: 'config.incomplete' } },
    ],
    [
      'or fails when it is too late to override etcd',
      '4.6.62',
      { images: { self, controller: self } },
      { failure: { code: 'config.incomplete', context: { settings: 'cluster.openshiftVersion' } } },
    ],
  ])('reads the release %s', async (...[, release, more, expected]) => {
    const manifest = {
      path: '/opt/openshift/openshift/openshift-install-manifests.yaml',
      contents: { source: `data:,data:%0A%20%20version:%20${release ?? ''}%0A` },
    };
    const text = release === undefined ? bootstrap : withFile(bootstrap, manifest);
    const host = fakeHost();
    const objects = fakeObjects().with('b/c/bootstrap.ign', text);
    const end = await tryStep(fetchIgnition, {
      config: {
        role: 'bootstrap',
        service: { url: 'http://svc.example' },
        ...more,
        s3: { endpoint: 'http://s3.example', bucket: 'b' },
        cluster: { id: 'c', controlPlaneCount: 3, ...more.cluster },
      },
      host,
      objects,
    });
    expect(end).toMatchObject(expected);
    expect(host.textOf(path)).toBe('value' in expected ? text : undefined);
  });
});
