import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { authority } from '../../../test/support/authority.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { fakeInventory } from '../../../test/support/fake-inventory.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { parseValidConfig } from '../../ignition/parse.ts';
import { embeddedFile, readFileContent } from '../../ignition/resource.ts';
import { mirrorsPath } from '../../settings/image-mirrors.ts';
import { fetchHost } from '../ignition/fetch-host.ts';
import { mergeSingleNodeIgnition } from '../ignition/merge-single-node.ts';
import { checkRegistries, configureRegistries } from './registries.ts';

const ca = '/etc/bootwright/site-ca.pem';
const anchor = '/etc/pki/ca-trust/source/anchors/bootwright-registries.crt';
const folders = 'mkdir -p /etc/containers/registries.conf.d /etc/pki/ca-trust/source/anchors';
const rendered = '/opt/openshift/master.ign';
const mirrors = [{ source: 'quay.io/openshift', mirrors: ['mirror.example.com:8443/openshift'] }];
const config: ConfigInput = {
  role: 'worker',
  service: { url: 'http://svc.example' },
  cluster: { id: 'c', infraEnvId: 'i', hostId: 'h' },
  registries: { mirrors, ca },
};
const hostOf = () =>
  fakeHost()
    .on(folders.split(' '))
    .prints('')
    .on(['update-ca-trust'])
    .prints('')
    .on(['stat', rendered])
    .prints('');
/** A host whose CA file was saved by an editor on Windows. */
const trusting = () => hostOf().withFile(ca, `\ufeff${authority.replaceAll('\n', '\r\n')}`);
const now = Date.parse('2026-12-01');
const clockAt = (time: number) => fakeClock({ start: time });

describe('host/check-registries', () => {
  it.each([
    ['is valid', authority, now, undefined],
    ['is missing', undefined, now, `${ca} is not on the host`],
    ['is not PEM', 'CA', now, `${ca} holds no PEM certificate`],
    ['has expired', authority, Date.parse('2127-01-01'), `${ca} has expired: nothing in it`],
  ])('checks a CA that %s', async (...[, text, time, message]) => {
    const host = text === undefined ? fakeHost() : fakeHost().withFile(ca, text);
    const clock = clockAt(time);
    const { failure } = await tryStep(checkRegistries, { config, host, clock });
    if (message === undefined) expect(failure).toBeUndefined();
    else
      expect(failure).toMatchObject({
        code: 'registries.bad-ca',
        message: expect.stringContaining(message) as string,
      });
    expect(host.calls).toEqual([]);
  });
});

describe('host/configure-registries', () => {
  it('writes mirrors and CA where the tools of the host read them', async () => {
    const host = trusting();
    await runStep(configureRegistries, { config, host, clock: clockAt(now) });
    expect(host.calls.map(({ argv }) => argv.join(' '))).toEqual([folders, 'update-ca-trust']);
    expect(host.textOf(mirrorsPath)).toContain('location = "quay.io/openshift"');
    expect(host.textOf(anchor)).toBe(`${authority}\n`);
    expect([mirrorsPath, anchor].map((path) => host.files.get(path)?.mode)).toEqual([0o644, 0o644]);
  });

  it('does not change the trust store when there are only mirrors', async () => {
    const host = hostOf();
    await runStep(configureRegistries, { config: { ...config, registries: { mirrors } }, host });
    expect(host.calls.map(({ argv }) => argv.join(' '))).toEqual([folders]);
    expect(host.textOf(anchor)).toBeUndefined();
  });

  it('refuses a CA that has become invalid since the check', async () => {
    const host = fakeHost().withFile(ca, 'CA');
    const { failure } = await tryStep(configureRegistries, { config, host });
    expect(failure).toMatchObject({ code: 'registries.bad-ca' });
    expect(host.calls).toEqual([]);
  });
});

const served = {
  ignition: { version: '3.2.0' },
  storage: { files: [embeddedFile('/etc/of-the-host', 'served', 0o600)] },
};
const fileIn = (text: string | undefined, path: string): string =>
  Buffer.from(readFileContent(parseValidConfig(text ?? ''), path)).toString();

describe('the Ignition of the installed host', () => {
  const path = '/opt/install-dir/worker-h.ign';
  const fetch = async (given: object, host = trusting()) => {
    const inventory = fakeInventory({ ignition: JSON.stringify(given) });
    const run = { config, host, inventory, clock: clockAt(now) };
    const { value } = await runStep(fetchHost, run);
    return { value, text: host.textOf(path) ?? '' };
  };

  it('contains the mirrors and the CA besides the served config', async () => {
    const { value, text } = await fetch(served);
    expect(fileIn(text, '/etc/of-the-host')).toBe('served');
    expect(text).toContain('"version":"3.2.0"');
    expect(fileIn(text, mirrorsPath)).toContain('location = "quay.io/openshift"');
    expect(fileIn(text, anchor)).toBe(`${authority}\n`);
    const { storage } = parseValidConfig(text);
    expect(storage?.files?.filter(({ path: at }) => at !== '/etc/of-the-host')).toMatchObject([
      { path: mirrorsPath, mode: 0o644, overwrite: true },
      { path: anchor, mode: 0o644, overwrite: true },
    ]);
    const sha256 = createHash('sha256').update(text).digest('hex');
    expect(value).toMatchObject({ path, bytes: text.length, sha256, version: '3.2.0' });
  });

  it('keeps a served file at the same path', async () => {
    const files = [embeddedFile(mirrorsPath, 'of the site', 0o600)];
    const { text } = await fetch({ ...served, storage: { files } });
    expect(fileIn(text, mirrorsPath)).toBe('of the site');
  });

  it('is not saved when a served link replaces the folder', async () => {
    const links = [{ path: '/etc/containers', target: '/usr/share/containers' }];
    const host = trusting();
    const inventory = fakeInventory({
      ignition: JSON.stringify({ ...served, storage: { links } }),
    });
    const { failure } = await tryStep(fetchHost, { config, host, inventory, clock: clockAt(now) });
    expect(failure).toMatchObject({ code: 'ignition.merge-invalid' });
    expect(host.textOf(path)).toBeUndefined();
  });

  it('is not saved with an invalid CA', async () => {
    const host = fakeHost().withFile(ca, 'CA');
    const inventory = fakeInventory({ ignition: JSON.stringify(served) });
    const { failure } = await tryStep(fetchHost, { config, host, inventory });
    expect(failure).toMatchObject({ code: 'registries.bad-ca' });
    expect(host.textOf(path)).toBeUndefined();
  });

  it('keeps a rendered file at the same path on a single node', async () => {
    const files = [embeddedFile(mirrorsPath, 'rendered', 0o600)];
    const host = trusting().withFile(rendered, JSON.stringify({ ...served, storage: { files } }));
    const inventory = fakeInventory({ ignition: JSON.stringify(served) });
    await runStep(mergeSingleNodeIgnition, { config, host, inventory, clock: clockAt(now) });
    const text = host.textOf(rendered);
    expect(fileIn(text, mirrorsPath)).toBe('rendered');
    expect(fileIn(text, anchor)).toBe(`${authority}\n`);
    expect(fileIn(text, '/etc/of-the-host')).toBe('served');
  });
});
