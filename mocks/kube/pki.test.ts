import { createPrivateKey, X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { createPki, renderKubeconfig } from './pki.ts';

describe('the keys of a control plane', () => {
  it('has servers that are known by every address hosts and guests use', async () => {
    const { ca, serving } = await createPki();
    const certificate = new X509Certificate(serving.certificate);
    expect(certificate.verify(new X509Certificate(ca.certificate).publicKey)).toBe(true);
    expect(certificate.checkIP('127.0.0.1')).toBe('127.0.0.1');
    expect(certificate.checkIP('10.0.2.2')).toBe('10.0.2.2');
    expect(certificate.checkHost('api-int.lab.test')).toBe('api-int.lab.test');
  });

  it('issues a client certificate with the name and the groups of a user', async () => {
    const { ca, issueFor } = await createPki();
    const user = { name: 'system:node:m0', groups: ['system:nodes', 'others'] };
    const { certificate, key } = await issueFor(user);
    const issued = new X509Certificate(certificate);
    expect(issued.checkIssued(new X509Certificate(ca.certificate))).toBe(true);
    expect(issued.checkPrivateKey(createPrivateKey(key))).toBe(true);
    expect(issued.subject.split('\n').sort()).toEqual([
      'CN=system:node:m0',
      'O=others',
      'O=system:nodes',
    ]);
  });
});

const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('the text of a kubeconfig', () => {
  it('holds all that a client needs', () => {
    const text = renderKubeconfig({
      server: 'https://127.0.0.1:12345',
      ca: 'authority',
      user: { certificate: 'certificate', key: 'key' },
    });
    expect(parse(text)).toEqual({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        {
          name: 'kube-lab',
          cluster: {
            server: 'https://127.0.0.1:12345',
            'certificate-authority-data': base64('authority'),
          },
        },
      ],
      users: [
        {
          name: 'kube-lab',
          user: {
            'client-certificate-data': base64('certificate'),
            'client-key-data': base64('key'),
          },
        },
      ],
      contexts: [{ name: 'kube-lab', context: { cluster: 'kube-lab', user: 'kube-lab' } }],
      'current-context': 'kube-lab',
    });
  });
});
