import { describe, expect, it } from 'vitest';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import { fakeInventory } from '../../../test/support/fake-inventory.ts';
import { runStep } from '../../../test/support/run-step.ts';
import { inventoryFailure } from '../../adapters/http/failures.ts';
import { Config, type ConfigInput } from '../../config/schema.ts';
import { Secret } from '../../model/secret.ts';
import { announceLogs, senderArgv, uploadLogs } from './logs.ts';

const token = 'planted-secret-7f3a9c';
const config: ConfigInput = {
  role: 'worker',
  service: { url: 'http://svc.example', token: new Secret(token) },
  cluster: { id: 'c', infraEnvId: 'i', hostId: 'h' },
  images: { agent: 'registry.example/agent:1' },
};
const argv = (input: ConfigInput = config): string => senderArgv(Config.parse(input)).join(' ');

describe('the command that uploads logs', () => {
  it('is that of assisted-installer with the token in the environment', () => {
    expect(argv()).toBe(
      'podman run --rm --privileged --net=host --pid=host --env=PULL_SECRET_TOKEN -v /run/systemd/journal/socket:/run/systemd/journal/socket -v /var/log:/var/log registry.example/agent:1 logs_sender -cluster-id c -url http://svc.example -host-id h -infra-env-id i -insecure=false -bootstrap=false',
    );
  });

  it('does not contain the user and password of the service URL', () => {
    const url = 'https://me:s3cretpw@svc.example/base';
    const command = argv({ ...config, service: { ...config.service, url } });
    expect(command).toContain(' -url https://svc.example/base -host-id');
    expect(command).not.toContain('s3cretpw');
  });

  it('mounts and passes the CA file', () => {
    const command = argv({ ...config, service: { ...config.service, caFile: '/etc/ca.pem' } });
    expect(command).toContain(' -v /var/log:/var/log -v /etc/ca.pem:/etc/ca.pem registry');
    expect(command).toMatch(/ -bootstrap=false -cacert=\/etc\/ca\.pem$/);
  });

  it.each(['v1', 'bm-inventory-v1'] as const)('omits the infra-env for a service of %s', (api) => {
    const command = argv({ ...config, service: { ...config.service, api } });
    expect(command).toContain(' -host-id h -insecure=false ');
  });

  it.each<[string, ConfigInput, boolean]>([
    ['the bootstrap host', { role: 'bootstrap' }, true],
    ['a single node', { cluster: { controlPlaneCount: 1 } }, true],
    ['a master', { role: 'master', cluster: { controlPlaneCount: 3 } }, false],
  ])('sets -bootstrap for %s', (_, input, expected) => {
    expect(argv(input)).toContain(`-bootstrap=${String(expected)}`);
  });
});

describe('logs/upload', () => {
  it('runs nothing without the agent image', async () => {
    const host = fakeHost();
    const { value } = await runStep(uploadLogs, {
      config: { ...config, images: { agent: '' } },
      host,
    });
    expect([host.calls, value]).toEqual([[], { isTaken: true }]);
  });

  it('passes the token only in the environment', async () => {
    const host = fakeHost().on(['podman', rest]).succeeds();
    const { events } = await runStep(uploadLogs, {
      config,
      host,
    });
    expect(host.calls[0]?.env).toEqual({ PULL_SECRET_TOKEN: token });
    expect(JSON.stringify([host.ran, events])).not.toContain(token);
  });

  it.each<[string, ConfigInput['service']]>([
    ['no token', { url: 'http://svc.example' }],
    ['an empty token', { url: 'http://svc.example', token: new Secret('') }],
  ])('sets no token with %s', async (_, service) => {
    const host = fakeHost().on(['podman', rest]).succeeds();
    await runStep(uploadLogs, { config: { ...config, service }, host });
    expect(host.calls[0]?.env).toEqual({});
  });

  it('only warns when the upload fails', async () => {
    const host = fakeHost().on(['podman', rest]).fails(125, 'Error: no such image');
    const { notes } = await runStep(uploadLogs, { config, host });
    expect(notes).toEqual(['warn: the logs could not be uploaded']);
  });
});

describe('logs/announce', () => {
  it('reports the logs of the host as requested', async () => {
    const inventory = fakeInventory();
    await runStep(announceLogs, { config, inventory });
    expect(inventory.logsStates).toEqual([
      { host: { infraEnvId: 'i', hostId: 'h' }, state: 'requested' },
    ]);
  });

  it('only warns when the service refuses', async () => {
    const inventory = fakeInventory().failing(
      'logsState',
      inventoryFailure('inventory.refused', 'not now'),
    );
    const { notes } = await runStep(announceLogs, { config, inventory });
    expect(notes).toEqual(['warn: the logs could not be announced']);
  });

  it.each<[string, ConfigInput]>([
    ['no service', { ...config, service: {} }],
    ['no host ID', { ...config, cluster: { id: 'c' } }],
  ])('is skipped, like the upload, with %s', async (_, input) => {
    const ends = [
      await runStep(announceLogs, { config: input }),
      await runStep(uploadLogs, { config: input }),
    ];
    for (const { events } of ends) expect(events).toMatchObject([{ type: 'step.skipped' }]);
  });
});
