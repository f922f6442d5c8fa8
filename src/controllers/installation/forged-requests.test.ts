import { expect, it } from 'vitest';
import { nodeObject } from '../../../test/support/cluster-objects.ts';
import { forgedBytes } from '../../../test/support/forged-bytes.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeInventory, installingHost } from '../../../test/support/fake-inventory.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import {
  alternativeNames,
  ExtendedKeyUsageExtension,
  keyPair,
  pkcs10,
  type RequestWishes,
  signingRequestObject,
  SubjectAlternativeNameExtension,
} from '../../../test/support/kubelet-request.ts';
import { runInstallation } from '../../../test/support/run-installation.ts';
import { certificateSigningRequests, nodes } from '../../kube/kinds.ts';
import { nodeBootstrapper, type RequestPurpose } from '../../cluster/csr/read-request.ts';
import { minutes, seconds } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';

type Spec = Readonly<Record<string, unknown>>;

/** The host that should join (m0), and a host whose node exists (w0). */
const subjects = {
  client: 'O=system:nodes, CN=system:node:m0',
  serving: 'O=system:nodes, CN=system:node:w0',
} as const;
const rightNames = { client: [], serving: alternativeNames('w0', '192.0.2.20') } as const;
const rightUser = {
  client: { username: nodeBootstrapper.username, groups: [...nodeBootstrapper.groups] },
  serving: { username: 'system:node:w0', groups: ['system:nodes'] },
} as const;

const account = (namespace: string, name: string): Spec => ({
  username: `system:serviceaccount:${namespace}:${name}`,
  groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
});

/** Requester, signer and usages, each wrong in one way. */
const wrongSpecs = (purpose: RequestPurpose): readonly Spec[] => [
  ...['', 'admin', 'system:node:m1', 'system:node:M0', 'system:node:', 'system:anonymous'].map(
    (username) => ({ username }),
  ),
  { ...rightUser[purpose === 'client' ? 'serving' : 'client'] },
  { username: 'system:node:m0', groups: ['system:nodes', 'system:authenticated'] },
  account('openshift-machine-config-operator', 'default'),
  account('default', 'node-bootstrapper'),
  account('kube-system', 'node-bootstrapper'),
  { ...account('default', 'x'), username: nodeBootstrapper.username },
  ...[
    [],
    ['system:authenticated'],
    [...rightUser[purpose].groups, 'system:masters'],
    [...rightUser[purpose].groups, 'system:bootstrappers'],
    ['system:masters'],
  ].map((groups) => ({ groups })),
  ...[
    'kubernetes.io/kube-apiserver-client',
    'kubernetes.io/legacy-unknown',
    'example.com/kubelet-serving',
    purpose === 'client'
      ? 'kubernetes.io/kubelet-serving'
      : 'kubernetes.io/kube-apiserver-client-kubelet',
  ].map((signerName) => ({ signerName })),
];

/** Content of the request, each wrong in one way. */
const wrongContents = (purpose: RequestPurpose): readonly RequestWishes[] => {
  const user = subjects[purpose].slice('O=system:nodes, CN='.length);
  const name = user.slice('system:node:'.length);
  return [
    ...[
      `CN=${user}`,
      'O=system:nodes',
      `O=system:masters, CN=${user}`,
      `O=system:nodes, O=system:masters, CN=${user}`,
      `O=system:nodes, OU=x, CN=${user}`,
      `O=system:nodes, C=XX, CN=${user}`,
      `O=system:nodes, CN=${user}, CN=admin`,
      `O=system:nodes, CN=${name}`,
      'O=system:nodes, CN=admin',
      'O=system:nodes, CN=system:node:',
      `O=system:nodes, CN=system:node:${name.toUpperCase()}`,
      `O=system:nodes, CN=${user}.example.com`,
      `O=system:nodes, CN=x${user}`,
      // Nodes: of an installed host, of a host that has joined before, of an unknown host, and an
      // existing node.
      'O=system:nodes, CN=system:node:m1',
      'O=system:nodes, CN=system:node:m2',
      'O=system:nodes, CN=system:node:m3',
      `O=system:nodes, CN=system:node:${purpose === 'client' ? 'w0' : 'm0'}`,
    ].map((subject) => ({ subject, names: rightNames[purpose] })),
    ...[
      alternativeNames('m0'),
      alternativeNames('192.0.2.10'),
      alternativeNames('w0', '192.0.2.20', '192.0.2.10'),
      ...['127.0.0.1', '192.0.2.2', '192.0.2.3', '198.51.100.9', '192.0.2.99'].flatMap(
        (address) => [
          alternativeNames('w0', '192.0.2.20', address),
          alternativeNames('w0', address),
        ],
      ),
      alternativeNames('w0', '192.0.2.20', '192.0.2.21'),
      alternativeNames('w0', '192.0.2.20', '192.0.2.13'),
      alternativeNames('w0', '192.0.2.13'),
      alternativeNames('w0', '192.0.2.20', '2001:db8::20'),
      alternativeNames('w0', 'api-int.lab.example.com', '192.0.2.20'),
      alternativeNames('w0', '*', '192.0.2.20'),
      alternativeNames('w0.example.com', '192.0.2.20'),
      alternativeNames('kubernetes.default.svc', '192.0.2.20'),
      ...(['email', 'url', 'dn', 'id'] as const).map((type) => [
        ...rightNames[purpose],
        {
          type,
          value: { email: 'a@b', url: 'http://w0', dn: 'CN=admin', id: '1.2.3' }[type],
        },
      ]),
    ].map((names) => ({ names })),
    {
      names: rightNames[purpose],
      extensions: [new ExtendedKeyUsageExtension(['1.3.6.1.5.5.7.3.1'])],
    },
    // Its alternative names twice.
    {
      names: rightNames[purpose],
      extensions: ['m1', 'w0'].map(
        (value) => new SubjectAlternativeNameExtension([{ type: 'dns', value }]),
      ),
    },
  ];
};

async function forgedRequests(): Promise<readonly KubeObject[]> {
  const keys = await keyPair();
  const made: KubeObject[] = [];
  for (const purpose of ['client', 'serving'] as const) {
    const right = { subject: subjects[purpose], names: rightNames[purpose], keys };
    const add = (pem: string, spec: Spec): void => {
      const name = `forged-${purpose}-${made.length}`;
      made.push(
        signingRequestObject(purpose, pem, { name, spec: { ...rightUser[purpose], ...spec } }),
      );
    };
    const pem = await pkcs10(right);
    for (const spec of wrongSpecs(purpose)) add(pem, spec);
    for (const wishes of wrongContents(purpose)) add(await pkcs10({ ...right, ...wishes }), {});
    for (const bytes of forgedBytes(purpose).wrong) add(bytes, {});
    add(pem + pem, {});
    add(`${pem}trailing`, {});
    add(`x\n${pem}`, {});
    add(pem.replace(/\n[^\n]+\n-----END/, '\n-----END'), {});
    add(pem.replace('CERTIFICATE REQUEST', 'CERTIFICATE'), {});
    const der = Buffer.from(pem.replaceAll(/-----[A-Z ]+-----/g, ''), 'base64');
    const longer = Buffer.concat([der, Buffer.from([5, 0])]).toString('base64');
    add(`-----BEGIN CERTIFICATE REQUEST-----\n${longer}\n-----END CERTIFICATE REQUEST-----\n`, {});
    add(`-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n`, {});
    add('', {});
  }
  // A node of an unknown host reports the address of another as its own: of a joined host, and of
  // hosts that have not joined.
  for (const address of ['192.0.2.20', '192.0.2.10', '192.0.2.11', '192.0.2.13']) {
    const spec = { username: 'system:node:m9', groups: ['system:nodes'] };
    const subject = 'O=system:nodes, CN=system:node:m9';
    const pem = await pkcs10({ subject, names: alternativeNames('m9', address) });
    made.push(signingRequestObject('serving', pem, { name: `forged-node-${address}`, spec }));
  }
  return made;
}

it('approves none of more than 200 forged requests, and approves the valid ones', async () => {
  const forged = await forgedRequests();
  expect(forged.length).toBeGreaterThan(200);
  const kube = fakeKube();
  // Addresses in the status of a node: its own, and forged ones.
  const wanted = [
    '192.0.2.10',
    '192.0.2.13',
    '192.0.2.2',
    '192.0.2.3',
    '127.0.0.1',
    '198.51.100.9',
  ];
  for (const [name, more] of [
    ['w0', wanted],
    ['m9', ['192.0.2.10', '192.0.2.11', '192.0.2.13']],
  ] as const) {
    kube.put(nodes, nodeObject({ name, addresses: ['192.0.2.20', '192.0.2.21', ...more] }));
  }
  for (const object of forged) kube.put(certificateSigningRequests, object);
  const clock = fakeClock({ auto: false });
  runInstallation(['approve-requests'], {
    kube,
    clock,
    inventory: fakeInventory({
      hosts: [
        installingHost({ id: 'a', name: 'm0', addresses: ['192.0.2.10'] }),
        installingHost({ id: 'b', name: 'm1', addresses: ['192.0.2.11'], status: 'installed' }),
        installingHost({ id: 'c', name: 'm2', addresses: ['192.0.2.12'], stage: 'Joined' }),
        installingHost({ id: 'e', name: 'M4', addresses: ['192.0.2.13'] }),
        installingHost({ id: 'd', name: 'w0', addresses: ['192.0.2.20', '2001:db8::20'] }),
      ],
    }),
    cluster: {
      platform: 'baremetal',
      machines: { networks: ['192.0.2.0/24', '2001:db8::/64'], vips: ['192.0.2.2', '192.0.2.3'] },
    },
  });
  await clock.advance(minutes(2));
  const approvals = () =>
    kube.writes.flatMap(({ subresource, name }) => (subresource === 'approval' ? [name] : []));
  const contentOf = (name = ''): unknown => forged.find((one) => one.metadata.name === name);
  expect(approvals().map(contentOf)).toEqual([]);
  const counted = kube.writes
    .filter(({ kind }) => kind === 'events')
    .map(({ body }) => (body as { readonly count: number }).count);
  expect(counted.reduce((sum, count) => sum + count, 0)).toBe(forged.length);

  for (const purpose of ['client', 'serving'] as const) {
    const pem = await pkcs10({ subject: subjects[purpose], names: rightNames[purpose] });
    const right = signingRequestObject(purpose, pem, {
      name: `right-${purpose}`,
      spec: rightUser[purpose],
    });
    kube.put(certificateSigningRequests, right);
  }
  await clock.advance(seconds(1));
  expect(approvals().toSorted()).toEqual(['right-client', 'right-serving']);
});
