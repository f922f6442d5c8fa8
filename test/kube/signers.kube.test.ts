import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Kube } from '../../mocks/kube/start.ts';
import { startRig } from '../../scripts/api-server.ts';
import { certificateSigningRequests } from '../../src/kube/kinds.ts';
import { approved, type RequestPurpose } from '../../src/cluster/csr/read-request.ts';
import { forgedBytes } from '../support/forged-bytes.ts';
import {
  alternativeNames,
  keyPair,
  pkcs10,
  type RequestWishes,
  signingRequestObject,
} from '../support/kubelet-request.ts';

// Properties that the controller does not check, because they never lead to a certificate: the API
// server checks that a request is signed by its key, and the signers check usages, organization and
// prefix.

const why = { reason: 'Test', message: 'by a test', at: Date.now() };
const names = { client: [], serving: alternativeNames('m0', '192.0.2.7') } as const;
const auth = { client: 'client auth', serving: 'server auth' } as const;
const purposes = ['client', 'serving'] as const;

describe('a request that the controller would approve', () => {
  let kube: Kube;
  beforeAll(async () => {
    kube = await startRig({ crds: [] });
    await kube.startControllerManager();
  });
  afterAll(() => kube.close());

  const ask = async (
    purpose: RequestPurpose,
    name: string,
    { pem, usages }: { readonly pem?: string; readonly usages?: readonly string[] },
  ) => {
    const spec = {
      username: undefined,
      groups: undefined,
      ...(usages === undefined ? {} : { usages }),
    };
    const request = pem ?? (await pkcs10({ names: names[purpose] }));
    const object = signingRequestObject(purpose, request, { name, spec });
    return kube.client.create(certificateSigningRequests, { ...object, metadata: { name } });
  };

  /**
   * Result of an approved request: the types of its conditions, and `certificate` if one was
   * issued.
   */
  const endOf = async (name: string, made: Awaited<ReturnType<typeof ask>>) => {
    const ref = { kind: certificateSigningRequests, name };
    await kube.client.replace(ref, approved(made, why), 'approval');
    const status = async (): Promise<readonly string[]> => {
      const found = (await kube.client.get(ref))?.['status'] as {
        readonly conditions?: readonly { readonly type: string }[];
        readonly certificate?: string;
      };
      const types = (found.conditions ?? []).map(({ type }) => type);
      return found.certificate === undefined ? types : [...types, 'certificate'];
    };
    await expect.poll(async () => (await status()).length).toBeGreaterThan(1);
    return status();
  };

  it.each(purposes)('gets a certificate if it is valid (%s)', async (purpose) => {
    const name = `right-${purpose}`;
    const made = await ask(purpose, name, {});
    expect(await endOf(name, made)).toEqual(['Approved', 'certificate']);
  });

  it.each(purposes)('is rejected if another key has signed it (%s)', async (purpose) => {
    const [own, other] = await Promise.all([keyPair(), keyPair()]);
    const keys = { publicKey: other.publicKey, privateKey: own.privateKey };
    const pem = await pkcs10({ names: names[purpose], keys });
    await expect(ask(purpose, `unsigned-${purpose}`, { pem })).rejects.toMatchObject({
      status: 422,
    });
  });

  it.each(
    purposes.flatMap((purpose) =>
      [
        ['digital signature'],
        ['digital signature', auth[purpose === 'client' ? 'serving' : 'client']],
        ['digital signature', 'client auth', 'server auth'],
        ['digital signature', auth[purpose], 'any'],
        ['digital signature', auth[purpose], 'cert sign'],
        ['digital signature', auth[purpose], 'key encipherment', 'code signing'],
      ].map((usages) => [purpose, usages] as const),
    ),
  )('gets no certificate of purpose %s with the usages %j', async (purpose, usages) => {
    const name = `usages-${purpose}-${usages.join('-').replaceAll(' ', '-')}`;
    const made = await ask(purpose, name, { usages });
    expect(await endOf(name, made)).toEqual(['Approved', 'Failed']);
  });

  it.each<[string, RequestWishes]>([
    ['organization', { subject: 'O=system:masters, CN=system:node:m0' }],
    ['organizations', { subject: 'O=system:nodes, O=system:masters, CN=system:node:m0' }],
    ['prefix', { subject: 'O=system:nodes, CN=admin' }],
  ])('gets no certificate with another %s', async (what, wishes) => {
    const made = await ask('client', `other-${what}`, { pem: await pkcs10(wishes) });
    expect(await endOf(`other-${what}`, made)).toEqual(['Approved', 'Failed']);
  });

  it.each(purposes)(
    'is rejected, or gets a final condition, with an unusual key (%s)',
    async (purpose) => {
      for (const [index, pem] of forgedBytes(purpose).oddKeys.entries()) {
        const name = `odd-${purpose}-${index}`;
        const made = await ask(purpose, name, { pem }).catch((error: unknown) => error);
        if (made instanceof Error) expect(made).toMatchObject({ status: 422 });
        else expect(await endOf(name, made as Awaited<ReturnType<typeof ask>>)).toHaveLength(2);
      }
    },
  );
});
