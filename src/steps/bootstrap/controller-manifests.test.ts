import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { controllerManifest } from '../../../test/support/controller-manifest.ts';
import { fakeHost, type FakeHost } from '../../../test/support/fake-host.ts';
import { runStep } from '../../../test/support/run-step.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { Secret } from '../../model/secret.ts';
import { controllerRules, controllerNamespaceRules } from './controller-permissions.ts';
import { addControllerManifests } from './controller-manifests.ts';

const directory = '/opt/openshift/manifests';
const token = 'planted-secret-91d2';
const config: ConfigInput = {
  role: 'bootstrap',
  service: { url: 'http://svc.example', token: new Secret(token) },
  cluster: { id: 'c' },
};
const facts = { bootstrap: { path: '/b.ign', sha256: '', openshiftVersion: '4.20.1' } };
const ready = (): FakeHost => fakeHost().on(['mkdir', '-p', directory]).succeeds();

describe('bootstrap/add-controller-manifests', () => {
  it('writes each under the name that the old agent gave it', async () => {
    const host = ready();
    await runStep(addControllerManifests, { config, host, facts });
    expect(host.ran).toEqual([['mkdir', '-p', directory]]);
    expect(await host.list(directory, new AbortController().signal)).toEqual([
      'assisted-installer-controller-cm.yaml',
      'assisted-installer-controller-network-policy.yaml',
      'assisted-installer-controller-nm.yaml',
      'assisted-installer-controller-pod.yaml',
      'assisted-installer-controller-role-binding.yaml',
      'assisted-installer-controller-role.yaml',
      'assisted-installer-controller-sa.yaml',
      'assisted-installer-controller-secret.yaml',
    ]);
  });

  it('gives our own controller its own permissions', async () => {
    const image = 'registry.example/bootwright:1';
    const host = ready();
    const images = { self: image, controller: image };
    await runStep(addControllerManifests, { config: { ...config, images }, host, facts });
    const file = (name: string): unknown =>
      parse(host.textOf(`${directory}/assisted-installer-controller-${name}.yaml`) ?? '');
    expect(file('role')).toMatchObject({ rules: controllerRules });
    expect(file('namespace-role')).toMatchObject({ kind: 'Role', rules: controllerNamespaceRules });
    expect(file('namespace-role-binding')).toMatchObject({
      roleRef: { kind: 'Role', name: 'assisted-installer-controller' },
    });
  });

  it('gives a controller without a service nothing of the one that hosts report to', async () => {
    const host = ready();
    const given = {
      ...config,
      service: { url: 'https://svc.example', token: new Secret(token), caFile: '/etc/ca.crt' },
      images: { controller: 'registry.example/bootwright:1' },
      controller: { withoutService: true },
    };
    await runStep(addControllerManifests, { config: given, host, facts });
    const texts = [...host.files.keys()].map((path) => host.textOf(path) ?? '').join('\n');
    for (const one of ['svc.example', token, '/etc/ca.crt']) expect(texts).not.toContain(one);
    expect(
      parse(host.textOf(`${directory}/assisted-installer-controller-pod.yaml`) ?? ''),
    ).toMatchObject({
      spec: {
        template: {
          spec: {
            containers: [{ image: 'registry.example/bootwright:1', args: ['controller'] }],
          },
        },
      },
    });
  });

  it('shows the token to root alone, and to nobody else', async () => {
    const host = ready();
    const { events } = await runStep(addControllerManifests, { config, host, facts });
    const withToken = [...host.files.keys()].filter((path) => host.textOf(path)?.includes(token));
    expect(withToken).toEqual([`${directory}/assisted-installer-controller-secret.yaml`]);
    const modes = [...host.files].map(([path, { mode }]) => [path.includes('secret'), mode]);
    expect(new Set(modes.map(String))).toEqual(new Set(['true,384', 'false,420']));
    expect(JSON.stringify(events)).not.toContain(token);
  });

  it('says that another controller does nothing of what this host leaves, and names both images', async () => {
    const images = { self: 'registry.example/own:1', controller: 'registry.example/other:1' };
    const { notes } = await runStep(addControllerManifests, {
      config: { ...config, images },
      host: ready(),
      facts,
    });
    expect(notes).toEqual([
      'info: it has nothing to do: the controller is registry.example/other:1, and not this program, registry.example/own:1',
    ]);
  });

  it('runs this program without a service, with its own permissions', async () => {
    const self = 'registry.example/own:1';
    const host = ready();
    const images = { self, controller: 'registry.example/other:1' };
    const { notes } = await runStep(addControllerManifests, {
      config: { role: 'bootstrap', images },
      host,
      facts,
    });
    expect(notes).toEqual([]);
    const file = (name: string): unknown =>
      parse(host.textOf(`${directory}/assisted-installer-controller-${name}.yaml`) ?? '');
    expect(file('role')).toMatchObject({ rules: controllerRules });
    expect(file('cm')).toMatchObject({ data: { 'inventory-url': '' } });
    expect(file('pod')).toMatchObject({
      spec: {
        template: {
          spec: {
            containers: [
              {
                image: self,
                args: ['controller'],
                env: expect.arrayContaining([
                  { name: 'OPENSHIFT_VERSION', value: '4.20.1' },
                ]) as object,
              },
            ],
          },
        },
      },
    });
  });
});

describe('the role of the controller', () => {
  const { rules } = controllerManifest('role') as {
    rules: {
      apiGroups: string[];
      resources: string[];
      resourceNames?: string[];
      verbs: string[];
    }[];
  };
  const verbsOf = (group: string, resource: string): string[] =>
    rules
      .filter(
        ({ apiGroups, resources }) => apiGroups.includes(group) && resources.includes(resource),
      )
      .flatMap(({ verbs }) => verbs);

  it.each([
    ['', 'pods', ['get', 'list', 'watch', 'deletecollection']],
    ['', 'nodes', ['get', 'list', 'watch', 'patch']],
    ['certificates.k8s.io', 'certificatesigningrequests/approval', ['update']],
    ['metal3.io', 'baremetalhosts', ['get', 'list', 'watch', 'update', 'patch']],
    ['machineconfiguration.openshift.io', '*', ['patch', 'get']],
  ])('may, in %j with %s, %j', (group, resource, verbs) => {
    expect(verbsOf(group, resource)).toEqual(verbs);
  });

  it('may approve for kubelets alone', () => {
    expect(rules.find(({ verbs }) => verbs.includes('approve'))?.resourceNames).toEqual([
      'kubernetes.io/kube-apiserver-client-kubelet',
      'kubernetes.io/kubelet-serving',
    ]);
  });
});
