import { createPrivateKey, X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createPki } from './pki.ts';

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
