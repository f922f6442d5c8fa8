// The inventory of the bootstrap provider, with requests of the product's own client over a real
// socket.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync, gzipSync } from 'node:zlib';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { inventoryOf } from '../../src/adapters/http/inventory.ts';
import { systemRandom } from '../../src/adapters/clock.ts';
import type { ListeningServer } from '../../src/adapters/http-server.ts';
import { serveRoutes } from '../../src/adapters/http-server.ts';
import { type BootstrapConfig, bootstrapConfigs, capiMachines } from '../../src/capi/api.ts';
import type { BootstrapStores } from '../../src/capi/bootstrap/stores.ts';
import { findCondition } from '../../src/capi/conditions.ts';
import { inventoryRoutes } from '../../src/capi/inventory/routes.ts';
import { secrets } from '../../src/kube/kinds.ts';
import { parseValidConfig } from '../../src/ignition/parse.ts';
import { readFileContent } from '../../src/ignition/resource.ts';
import type { Stage } from '../../src/model/stage.ts';
import type { KubeObject } from '../../src/ports/kube.ts';
import {
  namespace,
  putCluster,
  putHost,
  putSecret,
  runBootstrap,
} from '../support/capi-cluster.ts';
import { fakeClock, settle } from '../support/fake-clock.ts';
import { fakeKube, type FakeKube } from '../support/fake-kube.ts';
import { fakeRandom } from '../support/fake-random.ts';
import { quickClock } from '../support/quick-clock.ts';

const { signal } = new AbortController();
const cluster = `cluster-${namespace}`;
const pointer = (role: string): string =>
  JSON.stringify({
    ignition: {
      version: '3.2.0',
      config: { merge: [{ source: `https://api-int.demo.test:22623/config/${role}` }] },
      security: { tls: { certificateAuthorities: [{ source: 'data:;base64,T0xE' }] } },
    },
  });
const running = {
  initialization: { controlPlaneInitialized: true },
  conditions: [
    { type: 'ConfigServerAvailable', status: 'True', reason: 'Answers', lastTransitionTime: '' },
  ],
};

let kube: FakeKube;
let clock: ReturnType<typeof fakeClock>;
let server: ListeningServer;
let stop: AbortController;
let stores: BootstrapStores;

beforeEach(async () => {
  kube = fakeKube();
  clock = fakeClock({ auto: false, start: Date.UTC(2026, 10, 27) });
  stop = new AbortController();
  putSecret(kube, 'plane-install-assets', {
    'master.ign': pointer('master'),
    'worker.ign': pointer('worker'),
    kubeconfig: 'kind: Config',
  });
  const assets = assetsSecret();
  const packed = gzipSync('{"ignition":{"version":"3.2.0"}}').toString('base64');
  const data = { ...(assets['data'] as object), 'bootstrap.ign.gz': packed };
  kube.put(secrets, { ...assets, data });
  putCluster(kube);
  putHost(kube, 'm0', { role: 'bootstrap' });
  putHost(kube, 'm1', { role: 'master' });
  putHost(kube, 'w0', {
    spec: { nodeRegistration: { name: 'node-w0', providerID: 'metal3://$METADATA_UUID' } },
  });
  ({ stores } = runBootstrap({ kube, clock, random: fakeRandom() }, stop.signal));
  await settle(80);
  const listen = { host: '127.0.0.1', port: 0 };
  server = await serveRoutes(
    { listen, routes: inventoryRoutes({ kube, clock, stores }) },
    () => undefined,
  );
});
afterEach(async () => {
  stop.abort(new Error('the test has ended'));
  await server.close();
});

const secretOf = (name: string): KubeObject =>
  kube.objectsOf(secrets).find(({ metadata }) => metadata.name === name) ??
  expect.fail(`there is no Secret ${name}`);
const assetsSecret = (): KubeObject => secretOf('plane-install-assets');
const tokenOf = (name: string): string => {
  const { token } = secretOf(`${name}-agent`)['data'] as { readonly token: string };
  return Buffer.from(token, 'base64').toString();
};

/** The client of an agent. */
const agent = (name: string, token = tokenOf(name)) =>
  inventoryOf('v2', {
    url: server.url,
    clusterId: cluster,
    infraEnvId: cluster,
    hostId: `config-${name}`,
    token: { reveal: () => token } as never,
    clock: quickClock(),
    random: systemRandom,
  });

const host = (name: string) => ({ infraEnvId: cluster, hostId: `config-${name}` });
const logOf = (name: string): string => {
  const { 'log.gz': bytes = '' } = secretOf(`${name}-log`)['data'] as Record<string, string>;
  return gunzipSync(Buffer.from(bytes, 'base64')).toString();
};
const statusOf = (name: string): BootstrapConfig['status'] =>
  (
    kube
      .objectsOf(bootstrapConfigs)
      .find(({ metadata }) => metadata.name === name) as BootstrapConfig
  ).status;
const report = (...[by, of, stage, info = '']: readonly [string, string, Stage, string?]) =>
  agent(by).report(host(of), { stage, info }, signal);

describe('the agent of a host', () => {
  it('reports stages, each of which is one write of the conditions of its config', async () => {
    const before = kube.writes.length;
    await report('m1', 'm1', 'Starting installation');
    await report('m1', 'm1', 'Writing image to disk', '61%');
    await report('m1', 'm1', 'Writing image to disk', '61%');
    expect(kube.writes.length - before).toBe(2);
    const ready = findCondition(statusOf('m1')?.conditions, 'Ready');
    expect(ready).toMatchObject({ status: 'False', reason: 'WritingImageToDisk' });
    await expect(report('m1', 'm1', 'Installing')).rejects.toMatchObject({
      code: 'inventory.refused',
    });
  });

  it('reports a failure with its stage, and then another attempt', async () => {
    await report('m1', 'm1', 'Writing image to disk', '5%');
    const why = `image.write-failed: ${tokenOf('m1')} no space`;
    await report('m1', 'm1', 'Failed', why);
    const ready = findCondition(statusOf('m1')?.conditions, 'Ready');
    expect(ready).toMatchObject({ reason: 'InstallationFailed' });
    expect(ready?.message).toMatch(/^Writing image to disk: image\.write-failed: /);
    expect(JSON.stringify(statusOf('m1'))).not.toContain(tokenOf('m1'));
    await report('m1', 'm1', 'Starting installation');
    expect(statusOf('m1')?.progress).toMatchObject({ stage: 'Starting installation', attempt: 2 });
    expect(statusOf('m1')?.progress?.percent).toBeUndefined();
  });

  it('gets its report written while the store is stale', async () => {
    const restore = kube.holdViews();
    for (const stage of ['Installing', 'Writing image to disk'] as const) {
      await report('m1', 'm1', stage);
      expect(statusOf('m1')?.progress?.stage).toBe(stage);
    }
    restore();
  });

  it('gets 90 concurrent reports accepted, with at most 32 concurrent writes', async () => {
    const gate = Promise.withResolvers<void>();
    const original = kube.patch;
    let writing = 0;
    let most = 0;
    vi.spyOn(kube, 'patch').mockImplementation(async (...call) => {
      writing += 1;
      most = Math.max(most, writing);
      if (writing === 32) gate.resolve();
      await gate.promise;
      writing -= 1;
      return original(...call);
    });
    const path = `infra-envs/${cluster}/hosts/config-w0/progress`;
    const body = { current_stage: 'Starting installation' };
    const answers = await Promise.all(Array.from({ length: 90 }, () => ask('w0', path, body)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(most).toBe(32);
  });

  it('gets the Ignition of a worker once the cluster runs, with the current CA and its own name', async () => {
    await expect(agent('w0').hostIgnition('worker', signal)).rejects.toMatchObject({
      code: 'inventory.not-ready',
    });
    putCluster(kube, { plane: running });
    const assets = assetsSecret();
    const data = { ...(assets['data'] as object), 'machine-config-server-ca': 'TkVX' };
    kube.put(secrets, { ...assets, data });
    const { body } = await agent('w0').hostIgnition('worker', signal);
    const config = parseValidConfig(await text(body));
    expect(config.ignition.security?.tls?.certificateAuthorities).toEqual([
      { source: expect.stringContaining('TkVX') as string },
    ]);
    expect(config.ignition.config?.merge?.[0]?.source).toContain('/config/worker');
    expect(config.storage?.files?.map(({ path }) => path)).toEqual([
      '/etc/hostname',
      '/etc/bootwright/register-node.sh',
    ]);
    await expect(agent('w0').cluster(signal)).resolves.toMatchObject({ kind: 'AddHostsCluster' });
  });

  it('gets neither the Ignition of a master nor bootstrap.ign while two masters have the same name', async () => {
    const machineIn = (name: string): KubeObject =>
      kube.objectsOf(capiMachines).find(({ metadata }) => metadata.name === name) ??
      expect.fail(`there is no Machine ${name}`);
    const calledAs = (name: string, address: string): void => {
      const status = { addresses: [{ type: 'Hostname', address }] };
      kube.put(capiMachines, { ...machineIn(name), status });
    };
    const waits = {
      code: 'inventory.not-ready',
      message: expect.stringContaining('n0 is the name of m0, m1') as string,
    };
    calledAs('m0', 'n0');
    await agent('m1').hostIgnition('master', signal);
    // The inventory's informer has not seen it yet.
    const restore = kube.holdViews();
    calledAs('m1', 'n0');
    for (const name of ['m0', 'm1'])
      await expect(agent(name).hostIgnition('master', signal)).rejects.toMatchObject(waits);
    await expect(agent('m0').clusterFile('bootstrap.ign', signal)).rejects.toMatchObject(waits);
    await agent('m0').kubeconfig(signal);
    putCluster(kube, { plane: running });
    restore();
    await settle(80);
    await agent('w0').hostIgnition('worker', signal);
    calledAs('m1', 'n1');
    await agent('m1').hostIgnition('master', signal);
    await agent('m0').clusterFile('bootstrap.ign', signal);
  });

  it('is told to retry while the Cluster is paused', async () => {
    putCluster(kube, { spec: { paused: true } });
    await settle(80);
    const answer = await ask('m1', `infra-envs/${cluster}/hosts/config-m1/progress`, {
      current_stage: 'Installing',
    });
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '30']);
    expect(statusOf('m1')?.progress).toBeUndefined();
  });
});

describe('a host whose agent cannot start', () => {
  it('reports why podman could not pull or run its image', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'bootwright-agent-'));
    try {
      const value = Buffer.from((secretOf('w0')['data'] as { value: string }).value, 'base64');
      const config = parseValidConfig(value);
      const script = Buffer.from(readFileContent(config, '/etc/bootwright/agent.sh'))
        .toString()
        .replaceAll('/etc/bootwright/', `${folder}/`)
        .replaceAll('/run/', `${folder}/`)
        .replaceAll('/var/log/', `${folder}/`)
        .replaceAll('https://inventory.test:8443', server.url)
        .replace(/cacert = "[^"]*"\\n/, '');
      await writeFile(join(folder, 'agent.sh'), script);
      await writeFile(join(folder, 'token'), tokenOf('w0'));
      const said = String.raw`echo 'Error: "registry" says\ no' >&2; exit 125`;
      const podman = `if [ -e ${folder}/pulled ]; then exit 0; fi; [ "$1" = image ] && exit 1; touch ${folder}/pulled; ${said}`;
      const programs = {
        podman,
        sleep: 'exit 0',
        systemctl: 'echo running',
        journalctl: 'echo lines',
      };
      for (const [name, text] of Object.entries(programs))
        await writeFile(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
      const run = (args: readonly string[], env: Readonly<Record<string, string>>) =>
        promisify(execFile)('bash', [join(folder, 'agent.sh'), ...args], {
          env: { PATH: `${folder}:${process.env['PATH'] ?? ''}`, ...env },
        });
      await run(['pull', 'r.test/agent'], {});
      expect(statusOf('w0')?.progress).toMatchObject({
        stage: 'Failed',
        message: 'the agent did not start: Error: registry says no',
      });
      await run(['report'], { SERVICE_RESULT: 'exit-code', EXIT_STATUS: '4', INVOCATION_ID: 'i' });
      expect(statusOf('w0')?.progress?.message).toContain('registry');
      expect(logOf('w0')).toBe('lines\n');
      await writeFile(join(folder, 'assisted-installer.log'), 'what the agent did\n');
      await run(['report'], {
        SERVICE_RESULT: 'exit-code',
        EXIT_STATUS: '126',
        INVOCATION_ID: 'i',
      });
      expect(statusOf('w0')?.progress?.message).toBe('the agent did not start: lines');
      expect(logOf('w0')).toBe('what the agent did\n');
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe('the log of a host that has failed', () => {
  const upload = async (
    name: string,
    content: string | Uint8Array<ArrayBuffer>,
    { type = 'host', of = `config-${name}` } = {},
  ) => {
    const form = new FormData();
    form.set('upfile', new Blob([content]), 'agent.log');
    const path = `clusters/${cluster}/logs?logs_type=${type}&host_id=${of}`;
    const url = `${server.url}/api/assisted-install/v2/${path}`;
    const headers = { 'X-Secret-Key': tokenOf(name) };
    return (await fetch(url, { method: 'POST', headers, body: form })).status;
  };
  const logs = () =>
    kube
      .objectsOf(secrets)
      .filter(({ metadata }) => metadata.labels?.['bootwright.io/host-log'] === '');

  it('is stored in a Secret that its config names, with secrets masked', async () => {
    await report('w0', 'w0', 'Failed', 'disk.busy: mounted — unmount it');
    const text = `begin\n${tokenOf('w0')}\npassword: hunter2hunter2\nend\r\n\r\nlast\n`;
    expect(await upload('w0', text)).toBe(204);
    expect(logOf('w0')).toMatch(/^begin\n.+\npassword: .+\nend\n\nlast\n$/);
    expect(logOf('w0')).not.toContain('hunter2');
    expect(logOf('w0')).not.toContain(tokenOf('w0'));
    expect(secretOf('w0-log').metadata).toMatchObject({
      ownerReferences: [{ uid: 'config-w0', controller: true }],
    });
    expect(statusOf('w0')?.logSecretName).toBe('w0-log');
    const ready = findCondition(statusOf('w0')?.conditions, 'Ready');
    expect(ready?.message).toContain('Secret w0-log');
    await upload('w0', 'another\n');
    expect(logOf('w0')).toBe('another\n');
    await report('w0', 'w0', 'Starting installation');
    expect(findCondition(statusOf('w0')?.conditions, 'Ready')?.message).not.toContain('Secret');
  });

  it('is stripped of terminal escapes, passwords and signatures of URLs', async () => {
    const steering = '\u001b]0;title\u0007\u001b[2J\u202e';
    const line = `${steering}GET https://user:hunter2h@m.example/rhcos.raw?sig=s1gnature&x=1 403`;
    expect(await upload('w0', `${line}\n`)).toBe(204);
    expect(logOf('w0')).toContain('m.example/rhcos.raw');
    for (const word of ['\u001b', '\u0007', '\u202e', 's1gnature', 'hunter2h'])
      expect(logOf('w0')).not.toContain(word);
  });

  it('of one host does not block another when it is sent slowly', async () => {
    const ended = new AbortController();
    const slow = () =>
      fetch(`${server.url}/api/assisted-install/v2/clusters/${cluster}/logs?logs_type=host`, {
        method: 'POST',
        duplex: 'half',
        body: new ReadableStream<Uint8Array>({
          start: (to) => to.enqueue(new TextEncoder().encode('--b\r\n\r\na')),
        }),
        headers: { 'X-Secret-Key': tokenOf('w0') },
        signal: ended.signal,
      });
    const held = expect(slow()).rejects.toThrow('the host is gone');
    await expect.poll(async () => (await slow()).status).toBe(429);
    expect(await upload('m1', 'a log\n')).toBe(204);
    ended.abort(new Error('the host is gone'));
    await held;
    await expect.poll(() => upload('w0', 'the next\n')).toBe(204);
  });

  it('is truncated to its end', async () => {
    const line = `${'x'.repeat(99)}\n`;
    expect(await upload('w0', `the first\n${line.repeat(20_000)}the last\n`)).toBe(204);
    expect(logOf('w0').length).toBeLessThan(65 * 1024);
    expect(logOf('w0').endsWith(`${line}the last\n`)).toBe(true);
  });

  it.each([
    ['an archive', 'w0', gzipSync('x'.repeat(5000)), {}, 204],
    ['of another host', 'w0', 'text', { of: 'config-m1' }, 403],
    ['of the controller, by a worker', 'w0', 'text', { type: 'controller' }, 403],
    ['of the controller', 'm0', 'text', { type: 'controller' }, 204],
    ['of an unknown type', 'w0', 'text', { type: 'all' }, 422],
  ] as const)('is not kept: %s', async (...[, name, content, more, status]) => {
    expect(
      await upload(name, typeof content === 'string' ? content : new Uint8Array(content), more),
    ).toBe(status);
    expect(logs()).toEqual([]);
  });

  it('does not overwrite a Secret of somebody else', async () => {
    putSecret(kube, 'w0-log', { mine: 'x' });
    expect(await upload('w0', 'text')).toBe(409);
    expect(secretOf('w0-log')['data']).not.toHaveProperty('log.gz');
  });

  it('is refused with 503 while the Cluster is paused', async () => {
    putCluster(kube, { spec: { paused: true } });
    await settle(80);
    expect(await upload('w0', 'text')).toBe(503);
    expect(logs()).toEqual([]);
  });
});

describe('the bootstrap host', () => {
  it('reads the hosts, files and credentials of its cluster, and reports for other hosts', async () => {
    const inventory = agent('m0');
    const listed = await inventory.namedHosts('master', signal);
    expect(listed.map(({ id, name }) => [id, name])).toEqual([
      ['config-m0', 'm0'],
      ['config-m1', 'm1'],
    ]);
    expect((await inventory.enabledHosts(signal)).map(({ name }) => name)).toEqual([
      'm0',
      'm1',
      'node-w0',
    ]);
    const file = await inventory.clusterFile('bootstrap.ign', signal);
    expect(JSON.parse(await text(file.body))).toHaveProperty('ignition');
    expect(await text((await inventory.kubeconfig(signal)).body)).toBe('kind: Config');
    await report('m0', 'm1', 'Configuring');
    await report('m0', 'm1', 'Joined');
    expect(statusOf('m1')?.progress?.stage).toBe('Joined');
    await inventory.uploadControllerLogs(Uint8Array.from([1]), signal);
    await inventory.clusterLogsState('requested', signal);
  });
});

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** A raw request with a host's token, or with another. */
const ask = (
  ...[name, path, body, token = tokenOf(name)]: readonly [string, string, unknown?, string?]
) =>
  fetch(`${server.url}/api/assisted-install/v2/${path}`, {
    method: body === undefined ? 'GET' : 'PUT',
    headers: token === '' ? {} : { 'X-Secret-Key': token },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });

describe('the authorization of a request', () => {
  const stage = { current_stage: 'Installing' };
  const progress = (env: string, id: string) => `infra-envs/${env}/hosts/${id}/progress`;
  it.each([
    ['a request without a token', ''],
    ['an unknown token', 'x'.repeat(43)],
    ['a long token', 'x'.repeat(5000)],
  ])('refuses %s', async (_, token) => {
    expect((await ask('w0', `clusters/${cluster}`, undefined, token)).status).toBe(401);
  });

  it.each([
    ['w0', progress(cluster, 'config-m1'), stage, 403],
    ['m1', progress(cluster, 'config-m0'), stage, 403],
    ['m0', progress(cluster, 'config-none'), stage, 403],
    ['m0', progress('cluster-other', 'config-m1'), stage, 403],
    ['w0', progress(cluster, '..'), stage, 404],
    ['w0', progress(cluster, 'config-w0'), { current_stage: 'Sleeping' }, 422],
    ['w0', progress(cluster, 'config-w0'), '{"current_stage":', 422],
    ['w0', progress(cluster, 'config-w0'), 'x'.repeat(20_000), 413],
    ['w0', progress(cluster, 'config-w0'), { current_stage: 'Installing', progress_info: 7 }, 422],
    ['w0', `clusters/${cluster}/hosts?role=master`, undefined, 200],
    ['w0', 'clusters/cluster-other', undefined, 403],
    ['m1', `clusters/${cluster}/downloads/files?file_name=bootstrap.ign`, undefined, 403],
    [
      'm1',
      `clusters/${cluster}/downloads/credentials?file_name=kubeconfig-noingress`,
      undefined,
      403,
    ],
    ['m0', `clusters/${cluster}/downloads/files?file_name=..%2Fkubeadmin-password`, undefined, 422],
    [
      'm0',
      `clusters/${cluster}/downloads/credentials?file_name=kubeadmin-password`,
      undefined,
      422,
    ],
    ['w0', `infra-env/${cluster}/hosts/config-m1/downloads/ignition`, undefined, 403],
    ['w0', `infra-env/${cluster}/hosts/config-w0/downloads/ignition`, undefined, 409],
  ] as const)('%s: %s', async (...[name, path, body, status]) => {
    expect((await ask(name, path, body)).status).toBe(status);
  });

  it('accepts only a token Secret whose controller is the config', async () => {
    const { metadata, ...rest } = secretOf('w0-agent');
    const token = 'of somebody else';
    const hash = createHash('sha256').update(token).digest('hex');
    const data = { token: base64(token), sha256: base64(hash) };
    const forged = { ...metadata, name: 'forged', uid: 'forged' };
    const put = (controller: object): void => {
      const owned = { ...forged, ownerReferences: [{ uid: 'config-w0', ...controller }] };
      kube.put(secrets, { ...rest, data, metadata: owned });
    };
    const status = async () => (await ask('w0', `clusters/${cluster}`, undefined, token)).status;
    for (const controller of [{}, { controller: false }]) {
      put(controller);
      await settle(80);
      expect(await status()).toBe(401);
    }
    put({ controller: true });
    await settle(80);
    expect(await status()).toBe(200);
  });

  it('refuses Ignition to a worker with an invalid node name', async () => {
    putCluster(kube, { plane: running });
    const name = `${'a'.repeat(60)}.example.com`;
    putHost(kube, 'w0', { spec: { nodeRegistration: { name } } });
    await settle(80);
    const answer = await ask('w0', `infra-env/${cluster}/hosts/config-w0/downloads/ignition`);
    expect(answer.status).toBe(409);
    expect(await answer.text()).toContain('more than 63 characters');
    expect(answer.headers.get('retry-after')).toBe('10');
  });

  it('refuses the files of a former control plane of the same name', async () => {
    const { metadata, ...rest } = assetsSecret();
    const ownerReferences = [{ uid: 'former', controller: true }];
    const owned = { ...metadata, ownerReferences };
    kube.put(secrets, { metadata: owned, ...rest });
    const ignition = `infra-env/${cluster}/hosts/config-m1/downloads/ignition`;
    expect((await ask('m1', ignition)).status).toBe(409);
    const file = `clusters/${cluster}/downloads/files?file_name=bootstrap.ign`;
    expect((await ask('m0', file)).status).toBe(409);
  });

  it('limits the rate of each host separately', async () => {
    const answers = await Promise.all(
      Array.from({ length: 110 }, () => ask('w0', `clusters/${cluster}`)),
    );
    expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThan(0);
    expect((await ask('m1', `clusters/${cluster}`)).status).toBe(200);
    await clock.advance(1000);
    expect((await ask('w0', `clusters/${cluster}`)).status).toBe(200);
  });

  it('asks only a host with a valid but unseen token to retry', async () => {
    const path = progress(cluster, 'config-w0');
    const { get } = stores.tokens;
    Object.assign(stores.tokens, { get: () => undefined, by: () => [] });
    const early = await ask('w0', path, stage);
    expect([early.status, early.headers.get('retry-after')]).toEqual([503, '1']);
    for (const token of [tokenOf('m1'), 'x'.repeat(43)])
      expect((await ask('w0', path, stage, token)).status).toBe(401);
    expect((await ask('w0', progress(cluster, 'config-x'), stage)).status).toBe(401);
    Object.assign(stores.tokens, { get });
    expect((await ask('w0', path, stage)).status).toBe(401);
  });

  it('rejects the token of a host that is Done or whose config is deleted', async () => {
    const token = tokenOf('w0');
    await report('m0', 'w0', 'Done');
    await settle(80);
    expect((await ask('w0', `clusters/${cluster}`, undefined, token)).status).toBe(401);
    const other = tokenOf('m1');
    kube.drop({ kind: bootstrapConfigs, namespace, name: 'm1' });
    expect((await ask('m1', `clusters/${cluster}`, undefined, other)).status).toBe(401);
  });
});
