import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readControllerSettings } from './controller.ts';
import { isControllerEnvironment } from './environment.ts';

const environment = {
  CLUSTER_ID: '0123e456-0000-4000-8000-000000000000',
  INVENTORY_URL: 'https://svc.example:8090',
  OPENSHIFT_VERSION: '4.20.3',
};

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'bootwright-controller-'));
});
afterEach(() => rm(directory, { recursive: true }));

const absent = (): string => join(directory, 'none');

describe('readControllerSettings', () => {
  it('reads the variables of the job and applies defaults', async () => {
    const { config, namespace } = await readControllerSettings(environment, absent());
    expect(namespace).toBe('assisted-installer');
    expect(config.cluster).toMatchObject({
      id: environment.CLUSTER_ID,
      openshiftVersion: '4.20.3',
      controlPlaneCount: 3,
    });
    expect(config.service.url.reveal()).toBe(environment.INVENTORY_URL);
    expect(config.service.insecure).toBe(false);
    expect(config.controller).toMatchObject({
      checkClusterVersion: false,
      notifyNumReboots: false,
    });
  });

  it('reads each variable and prefers the prefixed one', async () => {
    const { config, namespace } = await readControllerSettings(
      {
        ...environment,
        SKIP_CERT_VERIFICATION: 'T',
        CA_CERT_PATH: '/etc/pki/ca.pem',
        CONTROL_PLANE_COUNT: '1',
        CHECK_CLUSTER_VERSION: 'true',
        MUST_GATHER_IMAGE: '{"ocp":"quay.io/x/must-gather:1"}',
        NOTIFY_NUM_REBOOTS: '1',
        NAMESPACE: 'elsewhere',
        OPENSHIFT_VERSION: '4.19.1',
        MYAPP_CONTROLLERCONFIG_OPENSHIFT_VERSION: '4.20.4',
      },
      absent(),
    );
    expect(namespace).toBe('elsewhere');
    expect(config.cluster).toMatchObject({ openshiftVersion: '4.20.4', controlPlaneCount: 1 });
    expect(config.service).toMatchObject({ insecure: true, caFile: '/etc/pki/ca.pem' });
    expect(config.controller).toMatchObject({ checkClusterVersion: true, notifyNumReboots: true });
    expect(config.images.mustGather).toBe('{"ocp":"quay.io/x/must-gather:1"}');
  });

  it.each([
    ['the file', 'from-file\n', 'from-variable', 'from-file'],
    ['an empty file', ' \n', 'from-variable', ''],
    ['the variable when there is no file', undefined, ' from-variable\n', 'from-variable'],
    ['neither', undefined, undefined, ''],
  ])('takes the token from %s', async (...[, inFile, inVariable, expected]) => {
    const path = join(directory, 'token');
    if (inFile !== undefined) await writeFile(path, inFile);
    const { config } = await readControllerSettings(
      { ...environment, PULL_SECRET_TOKEN: inVariable },
      path,
    );
    expect(config.service.token?.reveal()).toBe(expected);
  });

  it.each([
    [{ CLUSTER_ID: '' }, 'config.incomplete', 'CLUSTER_ID is not set'],
    [
      { INVENTORY_URL: '', OPENSHIFT_VERSION: '' },
      'config.incomplete',
      'OPENSHIFT_VERSION is not set',
    ],
    [{ INVENTORY_URL: 'svc:8090' }, 'config.invalid-value', 'is not an http(s) URL'],
    [{ NOTIFY_NUM_REBOOTS: 'yes' }, 'config.invalid-value', 'is not true or false'],
    [{ CONTROL_PLANE_COUNT: 'three' }, 'config.invalid-value', 'not a whole number'],
  ])('refuses %j', async (change, code, words) => {
    const read = readControllerSettings({ ...environment, ...change }, absent());
    await expect(read).rejects.toThrow(expect.objectContaining({ code }));
    await expect(read).rejects.toThrow(words);
  });

  it('leaves the service URL empty without INVENTORY_URL', async () => {
    const variables = { OPENSHIFT_VERSION: '4.20.3', CLUSTER_ID: '', INVENTORY_URL: '' };
    const { config } = await readControllerSettings(variables, absent());
    expect(config.service.url.isEmpty).toBe(true);
    expect(config.cluster).toMatchObject({ openshiftVersion: '4.20.3', controlPlaneCount: 3 });
  });

  it('fails when the token file cannot be read', async () => {
    await expect(readControllerSettings(environment, directory)).rejects.toMatchObject({
      code: 'config.file-not-read',
    });
  });
});

it.each([
  [environment, true],
  [{ ...environment, CLUSTER_ID: '' }, false],
  [{ CLUSTER_ID: 'x', DEVICE: '/dev/sda' }, false],
])('isControllerEnvironment of %j is %s', (variables, isIts) => {
  expect(isControllerEnvironment(variables)).toBe(isIts);
});
