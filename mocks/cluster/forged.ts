// Certificate requests that the controller must never approve: of unknown hosts, in the name of
// others, or for more than a kubelet requests.
import type { KubeObject } from '../../src/ports/kube.ts';
import type { KubeUser } from '../kube/pki.ts';
import { askerOf, requestObject } from './kubelet.ts';
import { kinds, type NodeFacts } from './objects.ts';
import { controllerNamespace } from './pods.ts';
import type { ClusterWork } from './site.ts';

interface Forged {
  readonly by: KubeUser;
  readonly object: KubeObject;
}

/** One request of each kind, for a node that has joined and for a host that has not. */
export async function forgedRequests(
  joined: Pick<NodeFacts, 'name' | 'addresses'>,
  open: Pick<NodeFacts, 'name'>,
): Promise<readonly Forged[]> {
  const client = (node: string) => ({ node, addresses: [], purpose: 'client' as const });
  const serving = {
    node: joined.name,
    addresses: joined.addresses,
    purpose: 'serving' as const,
  };
  const self = askerOf(serving);
  const anybody = askerOf(client(open.name));
  const forged = async (
    kind: string,
    request: Parameters<typeof requestObject>[0],
    {
      by = anybody,
      ...change
    }: { readonly by?: KubeUser } & Readonly<Record<string, unknown>> = {},
  ): Promise<Forged> => {
    const made = await requestObject(request);
    const spec = { ...(made['spec'] as object), ...change };
    return { by, object: { ...made, metadata: { name: `forged-${kind}` }, spec } };
  };
  const more = [...joined.addresses, '192.0.2.250'];
  return Promise.all([
    forged('unknown-host', client('stranger')),
    forged('joined', client(joined.name)),
    forged('requestor', client(open.name), { by: self }),
    forged('names', { ...serving, addresses: more }, { by: self }),
    forged('signer', client(open.name), { signerName: 'kubernetes.io/kube-apiserver-client' }),
  ]);
}

/**
 * Forged requests that were approved, and those that no event of the controller names; a killed
 * controller may not have named them.
 */
export async function forgeryComplaints({
  kube: { client },
  kills,
}: Pick<ClusterWork, 'kube' | 'kills'>): Promise<readonly string[]> {
  const requests = await client.list({ kind: kinds.CertificateSigningRequest });
  const events = await client.list({ kind: kinds.Event, namespace: controllerNamespace });
  const said = events.map((event) => String(event['message'])).join('\n');
  const forged = requests.filter(({ metadata: { name } }) => name.startsWith('forged-'));
  return [
    ...(forged.length === 0 ? ['no certificate request was forged'] : []),
    ...forged.flatMap(({ metadata: { name }, ...request }) => [
      ...(JSON.stringify(request['status'] ?? {}).includes('Approved')
        ? [`${name} was approved`]
        : []),
      ...(said.includes(name) || kills.count > 0 ? [] : [`no event names ${name}`]),
    ]),
  ];
}
