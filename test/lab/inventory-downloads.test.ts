import { describe, expect, it } from 'vitest';
import { decodeDataUrl } from '../../src/ignition/resource.ts';
import { parseConfig } from '../../src/ignition/parse.ts';
import { validateConfig } from '../../src/ignition/validate.ts';
import { ask, cluster, host, ignitionPath, labInventory, v2 } from './lab-inventory.ts';

const started = labInventory();

describe('the inventory service', () => {
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
      const config = parseConfig(await (await ask(target)).text());
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
});
