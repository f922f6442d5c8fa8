import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  controllerManifest,
  controllerSettings,
} from '../../../test/support/controller-manifest.ts';
import { fakeHost, type FakeHost } from '../../../test/support/fake-host.ts';
import { runStep } from '../../../test/support/run-step.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { Secret } from '../../model/secret.ts';
import { addControllerManifests } from './controller-manifests.ts';
import { controllerRules, controllerNamespaceRules } from './controller-permissions.ts';

describe('the manifests of the controller', () => {
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
    it('writes the manifests under the names of the old agent', async () => {
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

    it('grants our own controller its permissions', async () => {
      const image = 'registry.example/bootwright:1';
      const host = ready();
      const images = { self: image, controller: image };
      await runStep(addControllerManifests, { config: { ...config, images }, host, facts });
      const file = (name: string): unknown =>
        parse(host.textOf(`${directory}/assisted-installer-controller-${name}.yaml`) ?? '');
      expect(file('role')).toMatchObject({ rules: controllerRules });
      expect(file('namespace-role')).toMatchObject({
        kind: 'Role',
        rules: controllerNamespaceRules,
      });
      expect(file('namespace-role-binding')).toMatchObject({
        roleRef: { kind: 'Role', name: 'assisted-installer-controller' },
      });
    });

    it('does not pass the service of the hosts to a controller without a service', async () => {
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

    it('writes the token only to the Secret, with mode 0600', async () => {
      const host = ready();
      const { events } = await runStep(addControllerManifests, { config, host, facts });
      const withToken = [...host.files.keys()].filter((path) => host.textOf(path)?.includes(token));
      expect(withToken).toEqual([`${directory}/assisted-installer-controller-secret.yaml`]);
      const modes = [...host.files].map(([path, { mode }]) => [path.includes('secret'), mode]);
      expect(new Set(modes.map(String))).toEqual(new Set(['true,384', 'false,420']));
      expect(JSON.stringify(events)).not.toContain(token);
    });

    it('notes that another controller does not use the record, with both images', async () => {
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

    it('runs this program as the controller without a service', async () => {
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
    ])('allows in group %j for %s the verbs %j', (group, resource, verbs) => {
      expect(verbsOf(group, resource)).toEqual(verbs);
    });

    it('allows to approve requests of kubelet signers only', () => {
      expect(rules.find(({ verbs }) => verbs.includes('approve'))?.resourceNames).toEqual([
        'kubernetes.io/kube-apiserver-client-kubelet',
        'kubernetes.io/kubelet-serving',
      ]);
    });
  });
});

describe('the pod of the controller', () => {
  const fromMap = (name: string, key: string, isOptional = true): object => ({
    name,
    valueFrom: {
      configMapKeyRef: {
        name: 'assisted-installer-controller-config',
        key,
        ...(isOptional ? { optional: true } : {}),
      },
    },
  });

  const master = {
    key: 'node-role.kubernetes.io/master',
    operator: 'Exists',
    effect: 'NoSchedule',
  };

  const job = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'assisted-installer-controller', namespace: 'assisted-installer' },
    spec: {
      backoffLimit: 100,
      template: {
        metadata: { labels: { app: 'assisted-installer-controller' } },
        spec: {
          hostNetwork: true,
          containers: [
            {
              name: 'assisted-installer-controller',
              image: 'quay.io/x/controller:1',
              imagePullPolicy: 'IfNotPresent',
              env: [
                fromMap('CLUSTER_ID', 'cluster-id', false),
                fromMap('INVENTORY_URL', 'inventory-url', false),
                fromMap('CA_CERT_PATH', 'ca-cert-path'),
                fromMap('SKIP_CERT_VERIFICATION', 'skip-cert-verification'),
                { name: 'OPENSHIFT_VERSION', value: '4.20' },
                fromMap('CONTROL_PLANE_COUNT', 'control-plane-count'),
                fromMap('CHECK_CLUSTER_VERSION', 'check-cluster-version'),
                fromMap('MUST_GATHER_IMAGE', 'must-gather-image'),
                { name: 'NOTIFY_NUM_REBOOTS', value: 'false' },
              ],
              volumeMounts: [
                { name: 'host-ca-bundle', mountPath: '/etc/pki' },
                { name: 'host-var-run-resolv-conf', mountPath: '/tmp/var-run-resolv.conf' },
                { name: 'host-resolv-conf', mountPath: '/tmp/host-resolv.conf' },
                { name: 'pull-secret', mountPath: '/etc/assisted-installer-controller' },
              ],
            },
          ],
          volumes: [
            { name: 'host-ca-bundle', hostPath: { path: '/etc/pki' } },
            {
              name: 'host-var-run-resolv-conf',
              hostPath: { path: '/var/run/NetworkManager/resolv.conf' },
            },
            { name: 'host-resolv-conf', hostPath: { path: '/etc/resolv.conf' } },
            {
              name: 'pull-secret',
              secret: {
                secretName: 'assisted-installer-controller-secret',
                defaultMode: 0o400,
                items: [{ key: 'pull-secret-token', path: 'token' }],
              },
            },
          ],
          restartPolicy: 'OnFailure',
          nodeSelector: { 'node-role.kubernetes.io/master': '' },
          serviceAccountName: 'assisted-installer-controller',
          tolerations: [master],
        },
      },
    },
  };

  interface PodSpec {
    readonly hostAliases?: unknown;
    readonly containers: readonly { readonly env: unknown[]; readonly volumeMounts: unknown[] }[];
    readonly volumes: unknown[];
    readonly tolerations: unknown[];
  }

  const podOf = (input: ConfigInput): PodSpec =>
    (controllerManifest('pod', input) as { spec: { template: { spec: PodSpec } } }).spec.template
      .spec;

  describe('the job of the controller', () => {
    it('equals the job of the old agent', () => {
      expect(controllerManifest('pod')).toEqual(job);
    });

    it('maps the host name of the service to its IP addresses', () => {
      const { hostAliases } = podOf({
        ...controllerSettings,
        controller: { serviceIps: ['192.0.2.1', '2001:db8::1'] },
      });
      const hostnames = ['assisted-api.local.openshift.io'];
      expect(hostAliases).toEqual([
        { ip: '192.0.2.1', hostnames },
        { ip: '2001:db8::1', hostnames },
      ]);
    });

    it('mounts the CA file at its path', () => {
      const caFile = '/etc/assisted-service/ca.pem';
      const { containers, volumes } = podOf({
        ...controllerSettings,
        service: { ...controllerSettings.service, caFile },
      });
      expect(volumes).toContainEqual({
        name: 'service-ca-cert-config',
        hostPath: { path: caFile },
      });
      expect(containers[0]?.volumeMounts).toContainEqual({
        name: 'service-ca-cert-config',
        mountPath: caFile,
      });
    });

    it('tolerates a single node that is not ready and mounts its bootstrap secrets', () => {
      const { containers, volumes, tolerations } = podOf({
        ...controllerSettings,
        cluster: { ...controllerSettings.cluster, controlPlaneCount: 1 },
      });
      expect(tolerations).toEqual([
        master,
        { ...master, key: 'node.kubernetes.io/not-ready' },
        { ...master, key: 'node.kubernetes.io/network-unavailable' },
      ]);
      expect(volumes).toContainEqual({
        name: 'sno-bootstrap-files',
        hostPath: { path: '/etc/kubernetes/bootstrap-secrets' },
      });
      expect(containers[0]?.volumeMounts).toContainEqual({
        name: 'sno-bootstrap-files',
        mountPath: '/tmp/bootstrap-secrets',
      });
    });

    it('passes the setting to count reboots', () => {
      const { containers } = podOf({
        ...controllerSettings,
        controller: { notifyNumReboots: true },
      });
      expect(containers[0]?.env).toContainEqual({ name: 'NOTIFY_NUM_REBOOTS', value: 'true' });
    });
  });

  describe('the settings of the controller', () => {
    it('are strings in a ConfigMap', () => {
      expect(controllerManifest('cm')).toEqual({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: {
          name: 'assisted-installer-controller-config',
          namespace: 'assisted-installer',
          labels: { app: 'assisted-installer-controller' },
        },
        data: {
          'cluster-id': '0123e456-0000-4000-8000-000000000000',
          'inventory-url': 'https://svc.example:8090',
          'skip-cert-verification': 'false',
          'ca-cert-path': '',
          'check-cluster-version': 'false',
          'control-plane-count': '0',
          'must-gather-image': `{"ocp":"it's: here"}`,
        },
      });
    });

    it('take the service URL with its password from the Secret only', () => {
      const url = 'https://user:pa55word@svc.example:8090';
      const settings = { ...controllerSettings, service: { ...controllerSettings.service, url } };
      const manifest = (name: 'cm' | 'pod' | 'secret') =>
        JSON.stringify(controllerManifest(name, settings));
      expect(manifest('cm')).toContain('"inventory-url":"https://svc.example:8090"');
      expect(manifest('cm') + manifest('pod')).not.toContain('pa55word');
      expect(manifest('secret')).toContain(`"inventory-url":"${url}"`);
      expect(manifest('pod')).toContain(
        '"secretKeyRef":{"name":"assisted-installer-controller-secret"',
      );
    });

    it.each(['1e3', 'yes', '0x10', '~', '12:30:00'])('remain strings: %s', (id) => {
      const { data } = controllerManifest('cm', { ...controllerSettings, cluster: { id } });
      expect(data).toMatchObject({ 'cluster-id': id });
    });

    it('follow the configuration', () => {
      const { data } = controllerManifest('cm', {
        ...controllerSettings,
        service: { ...controllerSettings.service, insecure: true, caFile: '/etc/ca.pem' },
        cluster: { ...controllerSettings.cluster, controlPlaneCount: 3 },
        controller: { checkClusterVersion: true },
      });
      expect(data).toMatchObject({
        'skip-cert-verification': 'true',
        'ca-cert-path': '/etc/ca.pem',
        'check-cluster-version': 'true',
        'control-plane-count': '3',
      });
    });
  });

  describe('the token of the controller', () => {
    it.each([
      ['a token with special characters', new Secret('a: "token"'), 'a: "token"'],
      ['an empty token', new Secret(''), ''],
      ['no token', undefined, ''],
    ])('is a string: %s', (_, token, text) => {
      const service = { url: 'http://svc.example', ...(token === undefined ? {} : { token }) };
      expect(controllerManifest('secret', { ...controllerSettings, service })).toEqual({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: {
          name: 'assisted-installer-controller-secret',
          namespace: 'assisted-installer',
          labels: { app: 'assisted-installer-controller' },
        },
        type: 'Opaque',
        stringData: { 'pull-secret-token': text },
      });
    });
  });
});
