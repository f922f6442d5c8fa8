import { afterEach, describe, expect, it } from 'vitest';
import { tokenIssuer } from '../../mocks/inventory/auth.ts';
import type { ClusterView } from '../../mocks/inventory/cluster-rules.ts';
import { clusterSeed, hostSeed } from '../../mocks/inventory/seed.ts';
import { type InventoryServer, startInventory } from '../../mocks/inventory/server.ts';
import { Fault } from '../../mocks/http/fault.ts';
import { decodeDataUrl } from '../../src/ignition/data-url.ts';
import { parseConfig } from '../../src/ignition/parse.ts';
import { validateConfig } from '../../src/ignition/validate.ts';

const infraEnvId = 'b2f4d8f0-0000-4000-8000-000000000001';
const cluster = clusterSeed({ id: 'b2f4d8f0-0000-4000-8000-000000000002' });
const host = hostSeed({
  id: 'b2f4d8f0-0000-4000-8000-000000000003',
  clusterId: cluster.id,
  infraEnvId,
  hostname: 'm1',
  role: 'master',
});
const bootstrap = hostSeed({
  id: 'b2f4d8f0-0000-4000-8000-000000000004',
  clusterId: cluster.id,
  infraEnvId,
  hostname: 'm0',
  role: 'master',
  isBootstrap: true,
});
const disabled = hostSeed({
  id: 'b2f4d8f0-0000-4000-8000-000000000005',
  clusterId: cluster.id,
  infraEnvId,
  hostname: 'd0',
  role: 'worker',
  status: 'disabled',
});
const issuer = tokenIssuer();
const token = issuer.issue({ infra_env_id: infraEnvId });

const v2 = '/api/assisted-install/v2';
const progressPath = `${v2}/infra-envs/${infraEnvId}/hosts/${host.id}/progress`;
const ignitionPath = `${v2}/infra-env/${infraEnvId}/hosts/${host.id}/downloads/ignition`;

let server: InventoryServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function started(
  faults: readonly object[] = [],
  seeds: Partial<ClusterView> = {},
): Promise<InventoryServer> {
  server = await startInventory({
    cluster,
    hosts: [host],
    ...seeds,
    auth: issuer.auth,
    faults: faults.map((fault) => Fault.parse(fault)),
  });
  return server;
}

interface Asked extends RequestInit {
  readonly headers?: Record<string, string>;
}

const ask = (url: string, init: Asked = {}): Promise<Response> =>
  fetch(url, {
    ...init,
    headers: { 'x-secret-key': token, 'content-type': 'application/json', ...init.headers },
  });
const put = (url: string, body: object): Promise<Response> =>
  ask(url, { method: 'PUT', body: `${JSON.stringify(body)}\n` });

describe('the inventory service', () => {
  it('takes a report and shows it', async () => {
    const { url, store } = await started();
    const answer = await put(`${url}${progressPath}`, {
      current_stage: 'Installing',
      progress_info: 'master',
    });
    expect(answer.status).toBe(200);
    expect(await answer.text()).toBe('');
    expect(store.host(host.id)).toMatchObject({ stage: 'Installing', stageInfo: 'master' });
  });

  it('records what was asked, and what was answered', async () => {
    const { url, requests } = await started();
    await put(`${url}${progressPath}`, { current_stage: 'Joined' });
    expect(requests).toMatchObject([
      {
        method: 'PUT',
        path: progressPath,
        body: '{"current_stage":"Joined"}\n',
        headers: { 'x-secret-key': token },
        status: 200,
      },
    ]);
  });

  it.each([
    { name: 'a stage that there is not', body: { current_stage: 'Sleeping' } },
    { name: 'a property that there is not', body: { current_stage: 'Installing', x: 1 } },
  ])('refuses $name with 400 and a number for a code', async ({ body }) => {
    const { url } = await started();
    const answer = await put(`${url}${progressPath}`, body);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ code: 400 });
  });

  it('refuses a lower stage with 409 and a word for a code', async () => {
    const { url } = await started();
    await put(`${url}${progressPath}`, { current_stage: 'Rebooting' });
    const answer = await put(`${url}${progressPath}`, { current_stage: 'Installing' });
    expect(answer.status).toBe(409);
    expect(await answer.json()).toMatchObject({ kind: 'Error', code: '409' });
  });

  it('answers 500 to a text of more than 2048 characters', async () => {
    const { url } = await started();
    const body = { current_stage: 'Installing', progress_info: 'x'.repeat(2049) };
    expect((await put(`${url}${progressPath}`, body)).status).toBe(500);
  });

  it.each([
    { name: 'no token', secret: '', status: 401 },
    { name: 'a token of another service', secret: tokenIssuer().issue({}), status: 401 },
  ])('lets nobody in with $name', async ({ secret, status }) => {
    const { url } = await started();
    const answer = await ask(`${url}${ignitionPath}`, { headers: { 'x-secret-key': secret } });
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ code: status });
  });

  it('gives the Ignition of a host at the singular path only', async () => {
    const { url } = await started();
    const answer = await ask(`${url}${ignitionPath}`);
    expect(answer.headers.get('content-type')).toBe('application/octet-stream');
    expect(answer.headers.get('content-disposition')).toContain(`master-${host.id}.ign`);
    expect(await answer.json()).toMatchObject({ ignition: { version: '3.2.0' } });
    const plural = await ask(`${url}${ignitionPath.replace('infra-env/', 'infra-envs/')}`);
    expect(plural.status).toBe(404);
  });

  it('calls the errors of downloads an octet stream', async () => {
    const { url } = await started();
    const answer = await ask(`${url}${ignitionPath.replace('0003', '0009')}`);
    expect(answer.status).toBe(404);
    expect(answer.headers.get('content-type')).toBe('application/octet-stream');
    expect(await answer.json()).toMatchObject({ code: '404', kind: 'Error' });
  });

  it('lists hosts by role, and the cluster with or without them', async () => {
    const { url } = await started();
    const clusterUrl = `${url}${v2}/clusters/${cluster.id}`;
    expect(await (await ask(`${clusterUrl}/hosts?role=master`)).json()).toHaveLength(1);
    expect(await (await ask(`${clusterUrl}/hosts?role=arbiter`)).json()).toEqual([]);
    expect((await ask(`${clusterUrl}/hosts?role=king`)).status).toBe(400);
    expect(await (await ask(`${clusterUrl}?exclude-hosts=true`)).json()).toMatchObject({
      kind: 'Cluster',
      hosts: null,
    });
  });

  it('takes logs as a file, and nothing else', async () => {
    const { url, store } = await started();
    const target = `${url}${v2}/clusters/${cluster.id}/logs?logs_type=host&host_id=${host.id}`;
    const form = new FormData();
    form.set('upfile', new Blob(['12345']), 'logs.tar.gz');
    const headers = { 'x-secret-key': token };
    expect((await fetch(target, { method: 'POST', headers, body: form })).status).toBe(204);
    expect(store.host(host.id)).toMatchObject({ logBytes: 5, logsState: 'collecting' });
    expect((await ask(target, { method: 'POST', body: '{}' })).status).toBe(400);
  });

  it('takes the logs of the controller, and keeps them', async () => {
    const { url, store } = await started();
    const target = `${url}${v2}/clusters/${cluster.id}/logs?logs_type=controller`;
    const form = new FormData();
    form.set('upfile', new Blob(['123'], { type: 'application/x-gzip' }), 'controller_logs.tar.gz');
    const headers = { 'x-secret-key': token };
    expect((await fetch(target, { method: 'POST', headers, body: form })).status).toBe(204);
    expect(store.controllerLogs()).toMatchObject([
      { filename: 'controller_logs.tar.gz', contentType: 'application/x-gzip' },
    ]);
    expect(store.controllerLogs()[0]?.bytes).toEqual(new TextEncoder().encode('123'));
    expect(store.cluster().logsState).toBe('collecting');
  });

  it.each([
    { name: 'without a file', query: 'logs_type=controller', field: 'other', status: 400 },
    { name: 'of an unknown kind', query: 'logs_type=all', field: 'upfile', status: 400 },
    { name: 'of no kind', query: '', field: 'upfile', status: 400 },
    { name: 'of a host that is not named', query: 'logs_type=host', field: 'upfile', status: 400 },
  ])('refuses logs $name', async ({ query, field, status }) => {
    const { url, store } = await started();
    const form = new FormData();
    form.set(field, new Blob(['123']), 'x.tar.gz');
    const target = `${url}${v2}/clusters/${cluster.id}/logs?${query}`;
    const headers = { 'x-secret-key': token };
    const answer = await fetch(target, { method: 'POST', headers, body: form });
    expect(answer.status).toBe(status);
    expect(store.controllerLogs()).toEqual([]);
  });

  it('keeps how far the logs of the cluster are', async () => {
    const { url, store } = await started();
    const target = `${url}${v2}/clusters/${cluster.id}`;
    expect((await put(`${target}/logs-progress`, { logs_state: 'requested' })).status).toBe(204);
    expect((await put(`${target}/logs-progress`, { logs_state: 'lost' })).status).toBe(400);
    expect(store.cluster().logsState).toBe('requested');
    expect(await (await ask(target)).json()).toMatchObject({ logs_info: 'requested' });
  });

  it('shows the cluster with every host, what was found on it, and what is asked of it', async () => {
    const installConfigOverrides = '{"platform":{}}';
    const { url } = await started([], {
      cluster: { ...cluster, platform: 'vsphere', installConfigOverrides },
      hosts: [host, bootstrap, { ...disabled, addresses: ['10.1.1.1', 'fd00::1'] }],
    });
    const shown = (await (
      await ask(`${url}${v2}/clusters/${cluster.id}?exclude-hosts=false`)
    ).json()) as { hosts: { inventory: string }[] };
    expect(shown).toMatchObject({
      platform: { type: 'vsphere' },
      install_config_overrides: installConfigOverrides,
      hosts: [{ id: host.id }, { bootstrap: true, role: 'master' }, { status: 'disabled' }],
    });
    expect(shown.hosts[0]).not.toHaveProperty('bootstrap');
    expect(JSON.parse(shown.hosts[0]?.inventory ?? '')).toMatchObject({
      hostname: 'm1',
      interfaces: [{ ipv4_addresses: [host.addresses[0]], ipv6_addresses: [host.addresses[1]] }],
    });
    expect(JSON.parse(shown.hosts[2]?.inventory ?? '')).toMatchObject({
      interfaces: [{ ipv4_addresses: ['10.1.1.1/24'], ipv6_addresses: ['fd00::1/64'] }],
    });
  });

  it('takes reports for each host by its own ladder, at its own infra-env', async () => {
    const { url, store } = await started([], { hosts: [host, bootstrap] });
    const report = (id: string, stage: string, env = infraEnvId): Promise<Response> =>
      put(`${url}${v2}/infra-envs/${env}/hosts/${id}/progress`, { current_stage: stage });
    await report(host.id, 'Rebooting');
    await report(bootstrap.id, 'Installing');
    expect((await report(bootstrap.id, 'Waiting for bootkube')).status).toBe(200);
    expect((await report(host.id, 'Waiting for bootkube')).status).toBe(409);
    expect((await report(host.id, 'Configuring')).status).toBe(200);
    expect((await report(host.id, 'Joined', cluster.id)).status).toBe(404);
    expect(store.hosts().map(({ stage }) => stage)).toEqual([
      'Configuring',
      'Waiting for bootkube',
    ]);
  });

  it('gives credentials once it has them', async () => {
    const { url, store } = await started();
    const target = `${url}${v2}/clusters/${cluster.id}/downloads/credentials?file_name=`;
    const early = await ask(`${target}kubeconfig-noingress`);
    expect(early.status).toBe(409);
    expect(early.headers.get('content-type')).toBe('application/octet-stream');
    expect(await early.json()).toMatchObject({ code: '409', kind: 'Error' });
    store.setKubeconfig('kind: Config');
    expect(await (await ask(`${target}kubeconfig-noingress`)).text()).toBe('kind: Config');
    expect((await ask(`${target}kubeconfig`)).status).toBe(409);
    expect((await ask(`${target}bootstrap.ign`)).status).toBe(400);
    expect((await ask(target.replace('credentials', 'files') + 'kubeconfig')).status).toBe(400);
  });

  it('gives the Ignition of the bootstrap host, which is valid and has what the agent needs', async () => {
    const { url, store } = await started();
    const target = `${url}${v2}/clusters/${cluster.id}/downloads/files?file_name=bootstrap.ign`;
    const pathsNow = async (): Promise<ReadonlyMap<string, string>> => {
      const { config } = parseConfig(await (await ask(target)).text());
      expect(validateConfig(config)).toEqual([]);
      return new Map(
        (config.storage?.files ?? []).map(({ path, contents }) => [
          path,
          new TextDecoder().decode(decodeDataUrl(contents?.source ?? '')),
        ]),
      );
    };
    const before = await pathsNow();
    expect(JSON.parse(before.get('/root/.docker/config.json') ?? '')).toHaveProperty('auths');
    expect(before.has('/opt/openshift/auth/kubeconfig')).toBe(false);
    store.setKubeconfig('kind: Config');
    store.addBootstrapFiles({ '/opt/openshift/master.ign': '{}' });
    const after = await pathsNow();
    expect(after.get('/opt/openshift/auth/kubeconfig')).toBe('kind: Config');
    expect(after.get('/opt/openshift/master.ign')).toBe('{}');
    expect(after.get('/opt/openshift/manifests/cluster-config.yaml')).toContain('replicas: 3');
  });

  it.each(['/api/assisted-install/v1', '/api/bm-inventory/v1'])('speaks %s', async (base) => {
    const { url, store } = await started();
    const files = `${url}${base}/clusters/${cluster.id}/downloads/files`;
    expect(await (await ask(`${files}?file_name=worker.ign`)).json()).toHaveProperty('ignition');
    expect((await ask(`${files}?file_name=secret.ign`)).status).toBe(400);
    expect((await ask(`${files}?file_name=kubeconfig-noingress`)).status).toBe(409);
    store.setKubeconfig('kind: Config');
    expect((await ask(`${files}?file_name=kubeconfig-noingress`)).status).toBe(200);
    expect(await (await ask(`${files}?file_name=bootstrap.ign`)).json()).toHaveProperty('ignition');
    const report = { current_stage: 'Start Waiting for control plane' };
    await put(`${url}${base}/clusters/${cluster.id}/hosts/${host.id}/progress`, report);
    expect(store.host(host.id)).toMatchObject({ stage: 'Start Waiting for control plane' });
  });

  it('answers what it does not know with 404', async () => {
    const { url } = await started();
    expect((await ask(`${url}/api/assisted-install/v3/nothing`)).status).toBe(404);
  });
});

describe('the faults of a server', () => {
  it('answer with an error for a number of times', async () => {
    const { url } = await started([{ kind: 'status', status: 503, times: 1 }]);
    expect((await ask(`${url}${ignitionPath}`)).status).toBe(503);
    expect((await ask(`${url}${ignitionPath}`)).status).toBe(200);
  });

  it('cut the connection inside a body', async () => {
    const { url } = await started([{ kind: 'cut', on: 'ignition', atPercent: 40, times: 1 }]);
    const answer = await ask(`${url}${ignitionPath}`);
    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow();
    expect((await ask(`${url}${ignitionPath}`)).ok).toBe(true);
  });

  it('refuse connections for a time', async () => {
    const { url, requests } = await started([{ kind: 'refuse', forSeconds: 0.5, times: 1 }]);
    await expect(ask(`${url}${ignitionPath}`)).rejects.toThrow();
    await expect(ask(`${url}${ignitionPath}`)).rejects.toMatchObject({
      cause: { code: 'ECONNREFUSED' },
    });
    await expect
      .poll(
        () =>
          ask(`${url}${ignitionPath}`).then(
            (a) => a.status,
            () => 0,
          ),
        {
          timeout: 5000,
        },
      )
      .toBe(200);
    expect(requests[0]).not.toHaveProperty('status');
  });

  it('never answer', async () => {
    const { url } = await started([{ kind: 'hang' }]);
    const signal = AbortSignal.timeout(300);
    await expect(ask(`${url}${ignitionPath}`, { signal })).rejects.toThrow();
  });

  it('hold an answer back', async () => {
    const { url } = await started([{ kind: 'slow', delaySeconds: 0.3 }]);
    const since = performance.now();
    await ask(`${url}${ignitionPath}`);
    expect(performance.now() - since).toBeGreaterThan(290);
  });
});
