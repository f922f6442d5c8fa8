// @peculiar/x509 needs this before anything else of it is loaded.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import { Pkcs10CertificateRequestGenerator, SubjectAlternativeNameExtension } from '@peculiar/x509';
import type { KubeObject } from '../../src/ports/kube.ts';
import type { KubeUser } from '../kube/pki.ts';
import type { Purpose } from './cluster-state.ts';

/** Who asks for what. */
export interface KubeletRequest {
  readonly node: string;
  readonly addresses: readonly string[];
  readonly purpose: Purpose;
}

const BOOTSTRAPPER = 'openshift-machine-config-operator';

/** As whom a kubelet asks: for its first certificate by a service account, then as itself. */
export const askerOf = ({ node, purpose }: KubeletRequest): KubeUser =>
  purpose === 'client'
    ? {
        name: `system:serviceaccount:${BOOTSTRAPPER}:node-bootstrapper`,
        groups: ['system:serviceaccounts', `system:serviceaccounts:${BOOTSTRAPPER}`],
      }
    : { name: `system:node:${node}`, groups: ['system:nodes'] };

/** Name of the request in the cluster. */
export const requestName = ({ node, purpose }: Pick<KubeletRequest, 'node' | 'purpose'>): string =>
  `csr-${purpose}-${node}`;

const signers = {
  client: 'kubernetes.io/kube-apiserver-client-kubelet',
  serving: 'kubernetes.io/kubelet-serving',
};

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** A request as a kubelet makes it (Kubernetes 1.34). */
export async function requestObject(request: KubeletRequest): Promise<KubeObject> {
  const { node, addresses, purpose } = request;
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const pkcs10 = await Pkcs10CertificateRequestGenerator.create({
    name: [{ O: ['system:nodes'] }, { CN: [`system:node:${node}`] }],
    keys,
    signingAlgorithm: algorithm,
    extensions:
      purpose === 'client'
        ? []
        : [
            new SubjectAlternativeNameExtension(
              [node, ...addresses].map((value) => ({
                type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const),
                value,
              })),
            ),
          ],
  });
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name: requestName(request) },
    spec: {
      signerName: signers[purpose],
      request: Buffer.from(pkcs10.toString('pem')).toString('base64'),
      usages: ['digital signature', purpose === 'client' ? 'client auth' : 'server auth'],
    },
  };
}
