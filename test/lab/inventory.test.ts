import { describe, expect, it } from 'vitest';
import { tokenIssuer } from '../../mocks/inventory/auth.ts';
import { hostSeed } from '../../mocks/inventory/records.ts';
import {
  ask,
  bootstrap,
  cluster,
  disabled,
  host,
  ignitionPath,
  infraEnvId,
  labInventory,
  progressPath,
  put,
  token,
  v2,
} from './lab-inventory.ts';

const started = labInventory();

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

  it('lists a host with its name only where a user has given it one', async () => {
    const renamed = hostSeed({ ...host, id: bootstrap.id, isRenamed: true });
    const { url } = await started([], { hosts: [host, renamed] });
    const listed = await (await ask(`${url}${v2}/clusters/${cluster.id}/hosts?role=master`)).json();
    expect(listed).toMatchObject([{ id: host.id }, { requested_hostname: 'm1' }]);
    expect((listed as object[])[0]).not.toHaveProperty('requested_hostname');
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
