import { describe, expect, it } from 'vitest';
import { signingRequestObject } from '../../../test/support/kubelet-request.ts';
import { approved, readSigningRequest } from './signing-request.ts';

const condition = (type: string) => ({ type, status: 'True', reason: 'x' });

describe('a CertificateSigningRequest', () => {
  it('is read with who asks and for what', () => {
    expect(readSigningRequest(signingRequestObject('serving', 'pem of m0'))).toEqual({
      name: 'csr-serving',
      uid: 'uid-of-csr-serving',
      purpose: 'serving',
      username: 'system:node:m0',
      groups: ['system:nodes', 'system:authenticated'],
      pem: 'pem of m0',
      state: 'pending',
    });
  });

  it.each([
    ['another signer', { signerName: 'kubernetes.io/kube-apiserver-client' }],
    ['no signer', { signerName: undefined }],
    ['no request', { request: undefined }],
  ])('is none of a kubelet with %s', (_, spec) => {
    expect(readSigningRequest(signingRequestObject('client', 'pem', { spec }))).toBeUndefined();
  });

  it.each([
    [[], 'pending'],
    [['Approved'], 'approved'],
    [['Denied'], 'denied'],
    [['Approved', 'Denied'], 'denied'],
    [['Approved', 'Failed'], 'denied'],
  ] as const)('with the conditions %j is %s', (types, state) => {
    const status = { conditions: types.map(condition) };
    const object = signingRequestObject('client', 'pem', { status });
    expect(readSigningRequest(object)?.state).toBe(state);
  });

  it('is approved by one more condition, and nothing else is changed', () => {
    const before = signingRequestObject('client', 'pem', {
      status: { certificate: 'c', conditions: [condition('Other')] },
    });
    const after = approved(before, {
      reason: 'Why',
      message: 'because',
      at: Date.UTC(2026, 10, 21, 9, 8, 7, 65),
    });
    expect(after).toEqual({
      ...before,
      status: {
        certificate: 'c',
        conditions: [
          condition('Other'),
          {
            type: 'Approved',
            status: 'True',
            reason: 'Why',
            message: 'because',
            lastUpdateTime: '2026-11-21T09:08:07Z',
          },
        ],
      },
    });
    expect(readSigningRequest(after)?.state).toBe('approved');
  });
});
