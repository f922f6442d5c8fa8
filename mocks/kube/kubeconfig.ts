import { stringify } from 'yaml';
import type { PemPair } from './pki.ts';

/** What a kubeconfig says. */
export interface KubeconfigContent {
  readonly server: string;
  /** The certificate authority, as PEM. */
  readonly ca: string;
  readonly user: PemPair;
}

/** The text of a kubeconfig that needs no other file, so that it can be put on any host. */
export function renderKubeconfig({ server, ca, user }: KubeconfigContent): string {
  const name = 'kube-lab';
  return stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name, cluster: { server, 'certificate-authority-data': base64(ca) } }],
      users: [
        {
          name,
          user: {
            'client-certificate-data': base64(user.certificate),
            'client-key-data': base64(user.key),
          },
        },
      ],
      contexts: [{ name, context: { cluster: name, user: name } }],
      'current-context': name,
    },
    { lineWidth: 0 },
  );
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
